"""Whether predictions were registered before the launch, by the order of the session's own log."""

from collections.abc import Mapping, Sequence
from typing import Any

from assay.analysis.absence import Absent
from assay.analysis.errors import ClaimRefused
from runners.protocol.events import SessionEvent


def check_registered(
    session_events: Sequence[Mapping[str, Any]], predictions_digest: str
) -> Absent | None:
    """None if these predictions were registered before the launch; Absent if the run registered none.

    Raises ClaimRefused where a prediction came late or is not the registered one: after ``launch`` it could
    know the result. The order is that of ``session.jsonl``, which is append-only.
    """
    launch: int | None = None
    registered: tuple[int, str] | None = None
    for place, row in enumerate(session_events):
        if row.get("event") == SessionEvent.launch and launch is None:
            launch = place
        if row.get("event") == SessionEvent.predictions_registered and registered is None:
            registered = (place, str(row.get("sha256")))
    if registered is None:
        return Absent("the session registered no predictions")
    place, digest = registered
    if launch is not None and place > launch:
        raise ClaimRefused(
            field="predictions",
            seen="registered after the launch",
            allowed="registered before the launch",
            remedy="A prediction after the result is none; run again.",
        )
    if digest != predictions_digest:
        raise ClaimRefused(
            field="predictions",
            seen=f"sha256 {predictions_digest}",
            allowed=f"the registered sha256 {digest}",
            remedy="Use the document that was registered before the launch.",
        )
    return None
