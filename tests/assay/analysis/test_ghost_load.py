"""Ghost load: server time after the client gave up, as far as evidence goes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.ghost_load import held_byte_s
from assay.analysis.server_record import KvChange, ServerRecord
from tests.assay.analysis.engine import EngineLog, Reading, part
from tests.assay.analysis.streams import MS, attempts, interpretation, read, row


def ghost(events: list[dict[str, Any]], **more: Any) -> Any:
    rows = [row("sent", 0, clock_domain="c"), row("timeout", 2000, **more)]
    (found,) = interpretation(rows, events)["ghost_load"]
    return found


def completed_at(t_ms: float, **more: Any) -> dict[str, Any]:
    return {
        "event": "server.completed",
        "t_ns": round(t_ms * MS),
        "attempt_id": "a",
        "perspective": "server",
        **more,
    }


@pytest.mark.req("3.09", "3.11", "8.21")
def test_across_two_clocks_it_carries_the_sum_of_the_bounds() -> None:
    found = ghost([completed_at(5100, clock_domain="s", error_ns=3 * MS)])

    assert (found["total_ns"], found["error_ns"]) == (3100 * MS, 3 * MS)
    # A bare end shows nothing of computing, queueing or holding.
    assert found["computing_ns"] is found["queueing_ns"] is found["holding_ns"] is None


@pytest.mark.req("3.10", "3.11")
@pytest.mark.forbids
@pytest.mark.parametrize(
    ("end_ms", "error_ns", "words"),
    [(5100, None, "not calibrated"), (2001, 5 * MS, "error bound is not smaller")],
)
def test_no_point_value_without_a_bound_or_below_it(
    end_ms: float, error_ns: int | None, words: str
) -> None:
    found = ghost([completed_at(end_ms, clock_domain="s", error_ns=error_ns)])

    assert found["total_ns"] is None
    assert words in found["absent"]


def test_a_server_that_ended_before_the_client_gave_up_leaves_none() -> None:
    found = ghost([completed_at(1500, clock_domain="c", error_ns=0)])

    assert found["total_ns"] == 0


def test_a_record_without_an_end_leaves_it_unknown() -> None:
    found = ghost([completed_at(100, clock_domain="c", error_ns=0) | {"event": "engine.scheduled"}])

    assert found["total_ns"] is None
    assert found["absent"] == "the server's record holds no end of this attempt"


def test_a_cut_connection_is_a_client_that_left() -> None:
    rows = [row("sent", 0), read(5, "x"), row("error", 10, detail="reset")]

    (found,) = interpretation(rows, [completed_at(30, error_ns=0)])["ghost_load"]

    assert found["total_ns"] == 20 * MS


@pytest.mark.req("8.23")
@pytest.mark.forbids
def test_a_second_queued_is_no_second_computed() -> None:
    log = EngineLog()
    log.add("queued", 0, "a")
    log.add("scheduled", 150, "a")
    log.add("kv_taken", 150, "a", blocks=1, used=1, total=8)
    log.step(150, 30, part("a", 8, 1, 8, phase="prefill"))
    log.add("cancelled", 180, "a", tokens_out=1, phase="decode")
    log.add("kv_released", 180, "a", blocks=1, used=0, total=8, level="blocks_reusable")
    left = attempts(row("sent", 0), row("cancel", 100))

    (found,) = Reading(log, left).document()["ghost_load"]

    # 100..150 in the queue, 150..180 in a step; blocks held only while computing.
    assert found["queueing_ns"] == 50 * MS
    assert found["computing_ns"] == 30 * MS
    assert found["holding_ns"] == 0
    assert found["total_ns"] == 80 * MS


@pytest.mark.req("8.23")
@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 5)), max_size=8), st.integers(0, 100))
def test_held_memory_adds_up_over_adjacent_windows(
    changes: list[tuple[int, int]], cut: int
) -> None:
    record = ServerRecord("a", "c", 0)
    record.kv = [KvChange(t, blocks, None, None) for t, blocks in sorted(changes)]

    def held(start: int, end: int) -> float:
        return held_byte_s(record, from_ns=start, to_ns=end, block_bytes=1_000_000_000)

    assert held(0, 100) == pytest.approx(held(0, cut) + held(cut, 100))
