"""Where a stream lost its even pace: read at both ends, each in its own clock.

The server's write instants are taken in the server process, the client's event stamps at its socket. Only
durations within one end are formed, so that the two clocks need no mapping. Pauses in the server's own writes
point upstream of the socket; even writes with a stepped client view point to what lies between the server's
socket and the client's stamp: a gateway that buffers, the transport, or the client itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from assay.analysis.absence import Absent
from assay.analysis.events import Fact
from assay.analysis.server_record import ServerRecord
from assay.analysis.wire.attempt import Attempt

# A gap of this many times the server's usual gap is a pause. A step of a shared batch may take twice a
# plain one; three times is no pace any more.
PAUSE = 3.0
# Events closer than this, or than this share of the server's usual gap, came together.
TOGETHER_NS = 1_000_000
TOGETHER = 0.1
# As many events as this on average to one arrival is a stepped view.
STEPPED = 2.0
FEWEST_EVENTS = 8
FEWEST_GAPS = 4
_NS_PER_MS = 1_000_000


class Place(StrEnum):
    """Where the pace was lost."""

    nowhere = "nowhere"
    upstream = "upstream"  # before the server's socket: the engine, or what it waits for
    between = "between"  # after the server's write: gateway, transport or client


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """The gaps of one end. ``per_arrival`` counts events to one group of events that came together."""

    events: int
    median_gap_ns: float
    longest_gap_ns: int
    pauses: int
    per_arrival: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamDiagnosis:
    """``places`` in the order in which a reply passes them; ``evidence`` is one sentence for each end."""

    places: tuple[Place, ...]
    server: Pace
    client: Pace
    evidence: tuple[str, str]


def diagnosis_of(attempt: Attempt, record: ServerRecord | None) -> StreamDiagnosis | Absent:
    """Both ends of one attempt. The server's writes count from the first one of content, the head apart."""
    first_ns = None if record is None else record.time_of(Fact.written)
    if record is None or first_ns is None:
        return Absent("the server recorded no write")
    writes = [t for t in record.write_times_ns if t >= first_ns]
    return diagnose(writes, attempt.reply.chunk_times_ns)


def places_of(attempt: Attempt, record: ServerRecord | None) -> tuple[str, ...]:
    """The places by name, for counting; ``not told`` where there is no diagnosis."""
    found = diagnosis_of(attempt, record)
    return ("not told",) if isinstance(found, Absent) else tuple(p.value for p in found.places)


def diagnose(
    server_writes_ns: Sequence[int], client_events_ns: Sequence[int]
) -> StreamDiagnosis | Absent:
    """``server_writes_ns`` from the first write of content on; ``client_events_ns`` are content events.

    Both rise. The two need not be equally many: a write may hold several events, or part of one.
    """
    fewest = min(len(server_writes_ns), len(client_events_ns))
    if fewest < FEWEST_EVENTS:
        return Absent(f"{fewest} events at one end, fewer than {FEWEST_EVENTS}")
    written, arrived = _gaps(server_writes_ns), _gaps(client_events_ns)
    apart = written[written >= TOGETHER_NS]
    if len(apart) < FEWEST_GAPS:
        return Absent(f"the server wrote at {len(apart) + 1} instants: it has no pace to lose")
    unit_ns = float(np.median(apart))
    server, client = _pace(written, unit_ns), _pace(arrived, unit_ns)
    places = []
    if server.pauses:
        places.append(Place.upstream)
    stepped = client.per_arrival >= STEPPED * server.per_arrival
    late = client.pauses > server.pauses
    if stepped or late:
        places.append(Place.between)
    return StreamDiagnosis(
        places=tuple(places) or (Place.nowhere,),
        server=server,
        client=client,
        evidence=(_words("the server wrote", server), _words("the client received", client)),
    )


def _gaps(times_ns: Sequence[int]) -> NDArray[np.int64]:
    times = np.asarray(times_ns, dtype=np.int64)
    return times[1:] - times[:-1]


def _pace(gaps: NDArray[np.int64], unit_ns: float) -> Pace:
    events = len(gaps) + 1
    arrivals = 1 + int(np.count_nonzero(gaps >= max(TOGETHER_NS, TOGETHER * unit_ns)))
    return Pace(
        events=events,
        median_gap_ns=float(np.median(gaps)),
        longest_gap_ns=int(gaps.max()),
        pauses=int(np.count_nonzero(gaps >= PAUSE * unit_ns)),
        per_arrival=events / arrivals,
    )


def _words(who: str, pace: Pace) -> str:
    return (
        f"{who} {pace.events} events, {pace.per_arrival:.1f} at a time, median gap "
        f"{pace.median_gap_ns / _NS_PER_MS:.1f} ms, longest {pace.longest_gap_ns / _NS_PER_MS:.1f} ms, "
        f"{pace.pauses} pause(s)"
    )
