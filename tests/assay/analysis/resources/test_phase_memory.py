"""Memory by phase and calibre."""

import pytest

from assay.analysis.resources.phase_memory import memory_by_phase
from assay.analysis.resources.readings import Reading, Window

PHASES = ("load", "warm_up", "steady")
WINDOWS = [
    Window(name="load", from_ns=0, to_ns=100),
    Window(name="steady", from_ns=200, to_ns=300),
]


def resident(pid: int, *values: tuple[int, float]) -> list[Reading]:
    return [
        Reading(t_ns=t_ns, subject="engine", pid=pid, metric="rss_bytes", value=value)
        for t_ns, value in values
    ]


@pytest.mark.req("12.08", "12.09")
def test_each_phase_and_calibre_has_figures_of_its_own() -> None:
    readings = [
        *resident(1, (10, 5.0), (50, 6.0), (210, 6.0), (250, 7.0)),
        *resident(2, (51, 10.0), (211, 100.0), (251, 110.0)),
    ]

    rows = memory_by_phase(readings, [(60, 40), (220, 64), (240, 64)], WINDOWS, phases=PHASES)

    found = {(row["phase"], row["calibre"]): row for row in rows}
    assert len(found) == 9
    # loading: one process of 5, then both: 6 + 10; steady: 6 + 100, then 7 + 110
    load, steady = found["load", "device"], found["steady", "device"]
    assert (load["samples"], load["median_bytes"], load["max_bytes"]) == (2, 10.5, 16.0)
    assert (steady["median_bytes"], steady["max_bytes"]) == (111.5, 117.0)
    # the allocator's word is not the occupancy: 64 bytes against 117
    assert found["steady", "allocated"]["max_bytes"] == 64
    assert found["steady", "reserved"]["reason"] == "this engine keeps no pool that it reports"


@pytest.mark.req("12.08")
def test_a_phase_that_was_not_reached_has_no_figures_but_a_reason() -> None:
    rows = memory_by_phase([], [], WINDOWS, phases=PHASES)

    for row in rows:
        assert row["max_bytes"] is None
        assert row["reason"]
    missed = [r for r in rows if r["phase"] == "warm_up"]
    assert {row["reason"] for row in missed} == {"the run did not reach this phase"}
