"""The counts of attempts from station to station, with every difference explained or left unexplained.

The differences of a reconciliation are sentences, each with its number. Here they stand at the step that they
are about, and what they do not add up to is shown as unexplained: a remainder is never spread over causes.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from assay.analysis.documents import Reconciliation

ENDED = ("completed", "failed", "timeout", "cancelled", "rejected", "unfinalised")
_STATED = re.compile(
    r"^(?P<larger>[\w ]+?) exceeds? (?P<smaller>[\w ]+?) by (?P<n>\d+): (?P<why>.+)$"
)
_UNEXPLAINED = re.compile(r"^unexplained: (?P<n>\d+) (?P<what>.+)$")
# What an unexplained remainder says, and the step that it is about.
_ABOUT = (
    ("not offered", "created"),
    ("only as retries", "created"),
    ("without a send", "sent"),
    ("without a server record", "received"),
    ("not sent by the client", "received"),
)
_STEP_OF = {
    ("created", "requests"): "created",
    ("requests seen", "offered"): "created",
    ("offered", "requests seen"): "created",
    ("offered", "created"): "created",
    ("created", "sent"): "sent",
    ("sent", "received"): "received",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """``change`` is how many it adds (or takes, when negative) from one station to the next."""

    change: int
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Station:
    """One count, and what became of the count before it. None: there is no record to count.

    ``difference = count - before``; ``unexplained`` is what the causes do not add up to.
    """

    name: str
    before: str
    count: int | None
    difference: int | None
    causes: tuple[Cause, ...]
    unexplained: int

    @property
    def is_explained(self) -> bool:
        return self.unexplained == 0


def stations(reconciliation: Reconciliation) -> list[Station]:
    """offered, created, sent, received, and the sum of the client's final states beside created."""
    counts = cast("Mapping[str, Any]", reconciliation)
    found = [
        Station(
            name="offered", before="", count=counts["offered"], difference=None, causes=(), unexplained=0
        )
    ]  # fmt: skip
    for name, before in (("created", "offered"), ("sent", "created"), ("received", "sent")):
        causes = tuple(_causes(reconciliation["differences"], name))
        found.append(_station(name, before, counts[name], counts[before], causes))
    ended = sum(counts[state] for state in ENDED)
    never = ended - counts["created"]
    causes = (
        (Cause(change=never, words="scheduled, and then nothing was recorded"),)
        if never > 0
        else ()
    )
    found.append(_station("final states", "created", ended, counts["created"], causes))
    return found


def _station(
    name: str, before: str, count: int | None, earlier: int | None, causes: tuple[Cause, ...]
) -> Station:
    if count is None or earlier is None:
        return Station(
            name=name, before=before, count=count, difference=None, causes=(), unexplained=0
        )
    difference = count - earlier
    return Station(
        name=name,
        before=before,
        count=count,
        difference=difference,
        causes=causes,
        unexplained=difference - sum(cause.change for cause in causes),
    )


def _causes(differences: Iterable[str], station: str) -> Iterable[Cause]:
    """Stated causes of this step. What a reconciliation itself calls unexplained is none."""
    for sentence in differences:
        stated = _STATED.match(sentence)
        if stated is None:
            continue
        larger, smaller = stated["larger"], stated["smaller"]
        if _STEP_OF.get((larger, smaller)) != station:
            continue
        grows = (larger, smaller) in (("created", "requests"), ("requests seen", "offered"))
        yield Cause(change=int(stated["n"]) * (1 if grows else -1), words=stated["why"])
