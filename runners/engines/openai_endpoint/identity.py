"""The eight items of what ran, as far as an endpoint tells: its version at most, the rest stays unknown."""

from typing import Any

from runners.engines.base import EvidenceContext
from runners.engines.openai_endpoint import versions
from runners.protocol import layout
from runners.protocol.documents import IDENTITY_ITEMS, Evidence, IdentityItem, Pointer
from runners.protocol.events import EvidenceStrength

NOT_SEEN = (
    "an endpoint elsewhere is seen from its socket alone: nothing it loaded or ran is evidenced"
)
NO_VERSION = "the endpoint states no version of its engine"


def items(context: EvidenceContext) -> list[IdentityItem]:
    declared: dict[str, Any] = {
        "engine_version": {
            "key": context.spec["engine"]["key"],
            "version": context.spec["engine"]["version"],
        }
    }
    return [
        _version(context, declared[name])
        if name == "engine_version"
        else _unknown(name, declared.get(name), NOT_SEEN)
        for name in IDENTITY_ITEMS
    ]


def _version(context: EvidenceContext, declared: Any) -> IdentityItem:
    stated = versions.stated(context.server_info or {})
    if stated is None:
        return _unknown("engine_version", declared, NO_VERSION)
    return IdentityItem(
        item="engine_version",
        declared=declared,
        ran={"version": stated.version, "build": None},
        strength=EvidenceStrength.log.value,
        evidence=[
            Evidence(
                strength=EvidenceStrength.log.value,
                statement=f"the endpoint says so of itself ({stated.where})",
                pointer=Pointer(file=layout.SERVER_INFO),
                conditions={},
                engine_version=stated.version,
                t_ns=None,
            )
        ],
        reason=None,
    )


def _unknown(name: str, declared: Any, reason: str) -> IdentityItem:
    return IdentityItem(
        item=name,
        declared=declared,
        ran=None,
        strength=EvidenceStrength.none.value,
        evidence=[],
        reason=reason,
    )
