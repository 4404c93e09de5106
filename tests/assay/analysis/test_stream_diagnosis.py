"""Where a stream lost its pace, by the gaps of each end alone."""

import pytest

from assay.analysis.absence import Absent
from assay.analysis.stream_diagnosis import Place, diagnose

MS = 1_000_000
# Twelve events, 20 ms apart.
EVEN = [n * 20 * MS for n in range(12)]
# The same, with 200 ms before the seventh: ten times the median gap of 20 ms.
PAUSED = [t + (180 * MS if n >= 6 else 0) for n, t in enumerate(EVEN)]
# Four events at a time, each step when its fourth was written: gaps of 0, 0, 0, 80 ms.
STEPPED = [(n // 4 * 4 + 3) * 20 * MS for n in range(12)]
# All at once when the last was written.
WHOLE = [EVEN[-1]] * 12
# A client whose clock is elsewhere and starts elsewhere.
FAR = 7_000_000_000_000


@pytest.mark.req("6.13")
@pytest.mark.parametrize(
    ("server", "client", "places"),
    [
        (EVEN, [t + FAR for t in EVEN], [Place.nowhere]),
        (EVEN, [t + FAR for t in STEPPED], [Place.between]),
        (EVEN, [t + FAR for t in WHOLE], [Place.between]),
        (EVEN, [t + FAR for t in PAUSED], [Place.between]),  # one stall, and not the server's
        (PAUSED, [t + FAR for t in PAUSED], [Place.upstream]),
        (PAUSED, [PAUSED[n // 4 * 4 + 3] for n in range(12)], [Place.upstream, Place.between]),
        # The server writes two at a time, every 40 ms; what smooths that on the way is no loss of pace.
        ([EVEN[n // 2 * 2] + n % 2 for n in range(12)], EVEN, [Place.nowhere]),
    ],
    ids=["even", "steps", "at once", "a stall", "a pause", "a pause and steps", "smoothed"],
)
def test_the_place_is_told_by_the_gaps_of_each_end(
    server: list[int], client: list[int], places: list[Place]
) -> None:
    found = diagnose(server, client)

    assert not isinstance(found, Absent)
    assert list(found.places) == places


@pytest.mark.req("6.13")
def test_each_end_gives_its_evidence() -> None:
    found = diagnose(EVEN, STEPPED)

    assert not isinstance(found, Absent)
    # Twelve events in three arrivals; the gaps are nine times 0 and twice 80 ms, each four times 20 ms.
    assert found.evidence == (
        "the server wrote 12 events, 1.0 at a time, median gap 20.0 ms, longest 20.0 ms, 0 pause(s)",
        "the client received 12 events, 4.0 at a time, median gap 0.0 ms, longest 80.0 ms, 2 pause(s)",
    )


@pytest.mark.parametrize(
    ("server", "client", "reason"),
    [
        (EVEN[:7], EVEN, "7 events at one end, fewer than 8"),
        (WHOLE, EVEN, "the server wrote at 1 instants: it has no pace to lose"),
    ],
)
def test_without_a_pace_nothing_is_said(server: list[int], client: list[int], reason: str) -> None:
    assert diagnose(server, client) == Absent(reason)
