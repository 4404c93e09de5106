"""Units: state capacity is binary (KiB, MiB, GiB), traffic and compute are decimal (GB/s, TFLOP/s).

Inside there are only bytes, seconds and FLOPs; these functions read and write what people see. A capacity in
decimal units or a rate in binary ones is refused, because 24 GB and 24 GiB differ by 1.8 GB.
"""

import re

from assay.analysis.perfmodel.errors import ModelRefused
from runners.protocol.errors import Finding

_BINARY = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_DECIMAL = {"B/s": 1.0, "MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12}
_NUMBER = re.compile(r"^\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z/]+)\s*$")


def capacity_bytes(text: str) -> int:
    """Bytes of a capacity such as "512 MiB". Decimal units are refused."""
    value, unit = _split(text, allowed=_BINARY)
    return round(value * _BINARY[unit])


def bandwidth_bytes_per_s(text: str) -> float:
    """Byte/s of a bandwidth such as "3350 GB/s". Binary units are refused."""
    value, unit = _split(text, allowed=_DECIMAL)
    return value * _DECIMAL[unit]


def capacity_text(size: int) -> str:
    """A capacity for people: the largest binary unit of at least one."""
    for unit in reversed(_BINARY):
        if size >= _BINARY[unit]:
            return f"{size / _BINARY[unit]:.2f} {unit}" if unit != "B" else f"{size} B"
    return "0 B"


def bandwidth_text(bytes_per_s: float) -> str:
    """A bandwidth for people, in decimal GB/s."""
    return f"{bytes_per_s / 1e9:.1f} GB/s"


def _split(text: str, *, allowed: dict[str, int] | dict[str, float]) -> tuple[float, str]:
    match = _NUMBER.match(text)
    if match is None or match[2] not in allowed:
        raise ModelRefused(
            Finding(
                field="unit",
                seen=text,
                allowed=", ".join(allowed),
                remedy="Capacity is binary, bandwidth decimal; convert explicitly.",
            )
        )
    return float(match[1]), match[2]
