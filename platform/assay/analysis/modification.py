"""Whether an engine was modified on purpose, and how: what it says of itself, in its own identity.

A fault that a study injects to see it found must never pass for a run of the version that it names.
"""

from collections.abc import Sequence

from runners.protocol.documents import IdentityItem

ITEM, FIELD = "engine_version", "modified"


def modification(identity: Sequence[IdentityItem]) -> str | None:
    """The engine's own words; None for an engine that is what its version names, or that says nothing."""
    for item in identity:
        ran = item["ran"] if item["item"] == ITEM else None
        if isinstance(ran, dict) and ran.get(FIELD):
            return str(ran[FIELD])
    return None
