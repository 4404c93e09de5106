"""The eight items of a replay: its own version runs; nothing of a model does, and each item says so."""

from runners.engines.base import EvidenceContext
from runners.engines.replay.versions import VERSION
from runners.protocol import layout
from runners.protocol.documents import IDENTITY_ITEMS, Evidence, IdentityItem, Pointer
from runners.protocol.events import EvidenceStrength

NO_MODEL = "a replay computes nothing: what ran is stated by the recorded run's own bundle"


def items(context: EvidenceContext) -> list[IdentityItem]:
    return [
        _version(context) if name == "engine_version" else _nothing(name) for name in IDENTITY_ITEMS
    ]


def _version(context: EvidenceContext) -> IdentityItem:
    declared = {"key": "replay", "version": context.spec["engine"]["version"]}
    stated = (context.server_info or {}).get("version")
    if stated != VERSION:
        return _nothing("engine_version", declared=declared)
    return IdentityItem(
        item="engine_version",
        declared=declared,
        ran={"version": VERSION, "build": None},
        strength=EvidenceStrength.log.value,
        evidence=[
            Evidence(
                strength=EvidenceStrength.log.value,
                statement="the server says so of itself, with the recording it serves",
                pointer=Pointer(file=layout.SERVER_INFO),
                conditions={},
                engine_version=VERSION,
                t_ns=None,
            )
        ],
        reason=None,
    )


def _nothing(name: str, *, declared: object = None) -> IdentityItem:
    return IdentityItem(
        item=name,
        declared=declared,
        ran=None,
        strength=EvidenceStrength.none.value,
        evidence=[],
        reason=NO_MODEL,
    )
