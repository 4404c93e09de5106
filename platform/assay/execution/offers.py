"""What a machine offers to runs: its devices, the engines installed on it, its memory.

The runner looks (``python -m runners offer``): an engine or a driver's library never loads in this process.
"""

import tempfile
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from django.conf import settings

from assay.archive.paths import Home
from assay.execution import launcher
from assay.execution.answers import last_document


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedDevice:
    """``id`` is the driver's unique one where it has one, so that containers of a host name it alike."""

    id: str
    kind: str
    index: int
    name: str
    memory_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedEngine:
    key: str
    version: str
    environment: str  # platform | venv | container
    variant: str = ""
    lock_sha256: str | None = None
    image_digest: str | None = None


@dataclass(frozen=True, kw_only=True)
class Offer:
    """``machine`` is the kernel's boot id; ``queues`` are the device kinds that the worker serves.

    ``network`` names the loopback that it has (containers of one machine have one each), ``home`` the
    folder of its state, in which one thing is carried out at a time; both are empty of an older worker.
    """

    machine: str
    host: str
    queues: tuple[str, ...]
    memory_bytes: int | None
    devices: tuple[OfferedDevice, ...]
    engines: tuple[OfferedEngine, ...]
    network: str = ""
    home: str = ""

    @classmethod
    def parse(cls, document: Mapping[str, Any], queues: Collection[str] | None = None) -> Self:
        return cls(
            machine=document["machine"],
            host=document["host"],
            queues=tuple(document["queues"] if queues is None else queues),
            memory_bytes=document["memory_bytes"],
            devices=tuple(OfferedDevice(**device) for device in document["devices"]),
            engines=tuple(OfferedEngine(**engine) for engine in document["engines"]),
            network=document.get("network", ""),
            home=document.get("home", ""),
        )

    def document(self) -> dict[str, Any]:
        return {**asdict(self), "queues": list(self.queues)}

    @cached_property
    def host_devices(self) -> tuple[OfferedDevice, ...]:
        """The machine's processors: whatever runs here needs them."""
        return tuple(device for device in self.devices if device.kind == "cpu")


class NoOffer(Exception):
    """The runner could not say what is here."""


def look(home: Home, queues: Collection[str]) -> Offer:
    """What this machine offers now. Raises NoOffer."""
    home.scratch.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="offer-", dir=home.scratch) as folder:
        ended = launcher.run_to_end(launcher.runner("offer"), folder=Path(folder), name="offer")
    if ended.exit_code != 0:
        raise NoOffer(f"the runner ended with exit code {ended.exit_code}: {ended.log_tail}")
    offer = Offer.parse(last_document(ended.stdout), queues)
    return replace(offer, home=_identity(home))


def _identity(home: Home) -> str:
    """By its file system and inode: two containers may name different folders alike, or one differently."""
    found = home.root.stat()
    return f"{found.st_dev}:{found.st_ino}"


def look_here(queues: Collection[str] | None = None) -> Offer:
    """As ``look``, in this installation's home and for its queues."""
    return look(Home(settings.HOME), settings.QUEUES if queues is None else queues)
