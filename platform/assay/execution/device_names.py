"""What drivers call the devices of the catalogue, so that an asked name and a seen one compare. Pure."""

import re

from assay.analysis.devices.catalogue import DEVICES

# Words that a driver's name of the device holds: whole words, for "H20" is not "H200".
_SEEN_AS: dict[str, str] = {
    "A100-40GB-SXM": "a100 sxm4 40gb",
    "A100-80GB-SXM": "a100 sxm4 80gb",
    "A100-80GB-PCIe": "a100 80gb pcie",
    "A10": "a10",
    "L4": "l4",
    "L40S": "l40s",
    "H100-SXM": "h100 hbm3",
    "H100-PCIe": "h100 pcie",
    "H200-SXM": "h200",
    "H20-96GB": "h20",
    "B200-SXM": "b200",
    "GB200": "gb200",
    "RTX-4090": "rtx 4090",
    "RTX-5090": "rtx 5090",
    "RTX-PRO-6000-Blackwell": "rtx pro 6000 blackwell workstation",
    "RTX-PRO-6000-Blackwell-Server": "rtx pro 6000 blackwell server",
    "MI300X": "mi300x",
    "MI325X": "mi325x",
    "EPYC-9654": "epyc 9654",
    "EPYC-9554": "epyc 9554",
    "Xeon-8480+": "xeon 8480+",
    "Xeon-8592+": "xeon 8592+",
    "Apple-M3-Ultra": "apple m3 ultra",
    "Apple-M4-Max": "apple m4 max",
}
_ANOTHER_MODEL = frozenset({"nvl", "laptop", "d", "q"})  # H200 NVL, RTX 4090 D, ... Max-Q
_MAKERS = frozenset({"nvidia", "amd", "intel", "instinct", "geforce", "tesla", "r", "tm"})


def listed_name(asked: str) -> str | None:
    """The catalogue's name of what somebody asks for by that name or an alias; None if it lists no such."""
    wanted = _joined(asked)
    for entry in DEVICES:
        if wanted in {_joined(name) for name in (entry.name, *entry.aliases)}:
            return entry.name
    return None


def is_seen_as(listed: str, driver_name: str) -> bool:
    """Whether a driver's name is that of the device the catalogue lists under ``listed``."""
    seen = _words(driver_name)
    return set(_SEEN_AS[listed].split()) <= seen and not seen & _ANOTHER_MODEL


def is_same(asked: str, driver_name: str) -> bool:
    """For devices that the catalogue does not list: the same words, the maker's aside."""
    return _words(asked) - _MAKERS == _words(driver_name) - _MAKERS


def _words(name: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]+\+?", name.lower()))


def _joined(name: str) -> str:
    return "".join(re.findall(r"[a-z0-9+]", name.lower()))
