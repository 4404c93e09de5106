"""Three times of a task with a tool, never added up: generating the call, waiting for it, continuing.

Waiting is a cost of the dependency, not of the model. A tool may be called hidden only where event records
name what triggered it, its only consumer and where the two paths join; a tool whose result the answer itself
reads is serial whatever else is known.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from assay.analysis.errors import ClaimRefused


class Placement(StrEnum):
    serial = "serial"
    hidden = "hidden"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRecord:
    """What event records say of one tool run; None or nothing: no record.

    ``consumers`` are the requests whose input holds the result, ``answer`` the one that answers the task.
    """

    trigger_ns: int | None
    consumers: Sequence[str]
    join_ns: int | None
    answer: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    placement: Placement
    why: str


def place(record: ToolRecord) -> Placed:
    """Serial, unless all three records are there and the answer does not read the result."""
    missing = [
        name
        for name, known in (
            ("trigger point", record.trigger_ns is not None),
            ("only consumer", len(record.consumers) == 1),
            ("join point", record.join_ns is not None),
        )
        if not known
    ]
    if missing:
        why = f"no event record of its {', '.join(missing)}"
        return Placed(placement=Placement.serial, why=why)
    if record.answer in record.consumers:
        why = f"the answer {record.answer} reads its result: call, execute, fill back, continue"
        return Placed(placement=Placement.serial, why=why)
    why = f"triggered at {record.trigger_ns} ns, read by {record.consumers[0]}, joined at {record.join_ns} ns"
    return Placed(placement=Placement.hidden, why=why)


def claim_hidden(record: ToolRecord) -> Placed:
    """The placement, for who states that a tool is hidden. Raises ClaimRefused where it is serial."""
    placed = place(record)
    if placed.placement is Placement.serial:
        raise ClaimRefused(
            field="tool placement",
            seen=f"hidden, but {placed.why}",
            allowed="hidden, with records of trigger, only consumer and join, and no answer that reads it",
            remedy="Treat the tool as a serial segment of its task.",
        )
    return placed
