"""The declared settings of a replay, typed and checked."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from experiments.checks.replay import FASTEST, SLOWEST
from runners.protocol.errors import Finding, Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaySettings:
    """``bundle`` is the sealed folder, ``bundle_digest`` the sha256 of its manifest."""

    bundle: str
    bundle_digest: str
    speed: float


def replay_settings(declared: Mapping[str, Any]) -> ReplaySettings:
    """Raises Refused for settings of another engine, naming what is strange or absent."""
    names = {f.name for f in fields(ReplaySettings)}
    if set(declared) != names:
        raise _refused("engine.settings", ", ".join(sorted(declared)), ", ".join(sorted(names)))
    settings = ReplaySettings(
        bundle=str(declared["bundle"]),
        bundle_digest=str(declared["bundle_digest"]),
        speed=float(declared["speed"]),
    )
    if not SLOWEST <= settings.speed <= FASTEST:
        raise _refused(
            "engine.settings.speed", str(settings.speed), f"{SLOWEST:g} to {FASTEST:g} times"
        )
    return settings


def _refused(field: str, seen: str, allowed: str) -> Refused:
    return Refused(
        Finding(field=field, seen=seen, allowed=allowed, remedy="Declare the settings of replay.")
    )
