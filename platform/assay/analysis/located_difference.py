"""Where a server's time for a request and the client's time for it part, segment by segment.

Two measurements of one request that differ are both right until a segment shows otherwise: the client's
interval is longer by what lies before the server's first instant and after its last. In one clock domain
each of the two is a segment of its own; across domains only their sum is known.
"""

from dataclasses import dataclass

from assay.analysis.documents import Lane
from assay.analysis.errors import ClaimRefused


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """One segment of the difference, in ns; ``between`` are the two events at its ends."""

    name: str
    between: tuple[str, str]
    ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LocatedDifference:
    """``client_ns - server_ns`` is the sum of the segments; what has no segment is ``unsplit_ns``."""

    client_ns: int
    server_ns: int
    segments: tuple[Located, ...]
    unsplit_ns: int
    note: str

    @property
    def difference_ns(self) -> int:
        return self.client_ns - self.server_ns


def located_difference(client: Lane, server: Lane) -> LocatedDifference:
    """The difference of the two lanes' whole lengths, put where it lies as far as the clocks allow."""
    first, last = _ends(client)
    begin, end = _ends(server)
    client_ns, server_ns = last[1] - first[1], end[1] - begin[1]
    if client["clock_domain"] != server["clock_domain"]:
        return LocatedDifference(
            client_ns=client_ns,
            server_ns=server_ns,
            segments=(),
            unsplit_ns=client_ns - server_ns,
            note="two clock domains: the boundary residual stays unsplit",
        )
    return LocatedDifference(
        client_ns=client_ns,
        server_ns=server_ns,
        segments=(
            Located(name="before the server", between=(first[0], begin[0]), ns=begin[1] - first[1]),
            Located(name="after the server", between=(end[0], last[0]), ns=last[1] - end[1]),
        ),
        unsplit_ns=0,
        note="one clock domain: each segment is a difference of two recorded instants",
    )


def side_in_the_wrong(difference: LocatedDifference) -> str:
    """Refused always: a difference of two measurements shows where they part, not who is wrong."""
    raise ClaimRefused(
        field="side in the wrong",
        seen=f"a difference of {difference.difference_ns} ns between client and server",
        allowed="the segments in which the difference lies",
        remedy="Look at "
        + (", ".join(s.name for s in difference.segments) or difference.note)
        + ".",
    )


def _ends(lane: Lane) -> tuple[tuple[str, int], tuple[str, int]]:
    intervals = lane["intervals"]
    return (
        (intervals[0]["start_event"], intervals[0]["from_ns"]),
        (intervals[-1]["end_event"], intervals[-1]["to_ns"]),
    )
