"""Join the verified artifact and the eight items of what ran into one identity document.

A run with an item missing, or with an item that has no evidence, is incomplete and says which.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from runners.protocol.documents import IDENTITY_ITEMS, IdentityItem
from runners.protocol.events import EvidenceStrength


def compose(artifact: Mapping[str, Any] | None, items: Sequence[IdentityItem]) -> dict[str, Any]:
    """The identity document (runners.protocol.documents.IdentityDocument); items in their fixed order."""
    given = {item["item"]: item for item in items}
    run = [given.get(name) or _unknown(name) for name in IDENTITY_ITEMS]
    missing = [item["item"] for item in run if not _is_evidenced(item)]
    if artifact is None:
        missing = ["artifact", *missing]
    return {"artifact": artifact, "run": run, "complete": not missing, "missing": missing}


def _is_evidenced(item: IdentityItem) -> bool:
    return (
        item["ran"] is not None
        and item["strength"] != EvidenceStrength.none
        and bool(item["evidence"])
    )


def _unknown(name: str) -> IdentityItem:
    return IdentityItem(
        item=name,
        declared=None,
        ran=None,
        strength=EvidenceStrength.none.value,
        evidence=[],
        reason="the engine gave no evidence of this item",
    )
