"""What of a model does not fit one device, and what reading it from others costs: memories are not one."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.parallel.messages import Link
from assay.analysis.perfmodel.parallel.pooled_memory import PooledMemory


@dataclass(frozen=True, slots=True, kw_only=True)
class Spilled:
    """Bytes of the known items beyond one device, and the time to read all of them once."""

    local_bytes: int
    remote_bytes: int
    link_gb_per_s: str
    link_us: str
    read_s: float | None
    refused: str

    @property
    def whole_bytes(self) -> int:
        return self.local_bytes + self.remote_bytes


def spilled(answer: Mapping[str, Any] | None, parameters: Mapping[str, str]) -> Spilled | None:
    """None where it fits, or no device is named. The link is the reader's: no default stands in for one."""
    memory = answer["memory"] if answer else {}
    device, known = memory.get("device_bytes"), memory.get("known_bytes")
    bytes_per_s = ((answer or {}).get("device") or {}).get("bandwidth_bytes_per_s")
    if not device or not known or known <= device or bytes_per_s is None:
        return None
    link_gb, link_us = (parameters.get(name, "").strip()[:20] for name in ("link_gb", "link_us"))
    try:
        pool = PooledMemory(
            local_bytes=device,
            local_bytes_per_s=bytes_per_s,
            remote_bytes=known - device,
            link=_link(link_gb, link_us),
        )
        read_s, refused = pool.read_s(known), ""
    except ModelRefused as refusal:
        read_s, refused = None, str(refusal)
    return Spilled(
        local_bytes=device,
        remote_bytes=known - device,
        link_gb_per_s=link_gb,
        link_us=link_us,
        read_s=read_s,
        refused=refused,
    )


def _link(gb_per_s: str, us: str) -> Link | None:
    if not gb_per_s and not us:
        return None
    return Link(
        alpha_s=_number(us or "0") / 1e6, bytes_per_s=_number(gb_per_s) * 1e9, source="the reader"
    )


def _number(text: str) -> float:
    """What is no number becomes NaN, which a link refuses by name."""
    try:
        return float(text)
    except ValueError:
        return math.nan
