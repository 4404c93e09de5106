"""The engine's own record, read out of a log whose lines carry times."""

from pathlib import Path
from typing import Any

import pytest

from runners.engines.base import Printed, PrintedContext
from runners.engines.vllm.printed import read
from runners.protocol.documents import Anchor
from tests.runners.engines.vllm import bundles
from tests.runners.engines.vllm.declared import FIXTURES, spec

# 2026-11-30T10:00:00Z; the monotonic clock then stood at 5000 s.
WALL_NS, MONOTONIC_NS = 1_796_032_800_000_000_000, 5_000_000_000_000
ANCHORS = [
    Anchor(
        wall_ns=WALL_NS + at * 10**9,
        monotonic_ns=MONOTONIC_NS + at * 10**9,
        boottime_ns=0,
        spread_ns=2_000,
    )
    for at in range(60)
]
INFO: dict[str, Any] = {"vllm_config": {"cache_config": {"num_gpu_blocks": 364}}}


def line(second: float, message: str) -> str:
    return f"(APIServer pid=7) INFO 2026-11-30T10:00:{second:06.3f}Z [x.py:1] {message}\n"


def step(second: float, number: int, *, usage: float) -> str:
    return line(
        second,
        f"Engine 000: Iteration({number}): 0 context requests, 0 context tokens, 1 generation requests, "
        f"1 generation tokens, iteration elapsed time: 75.00 ms, CPU KV cache usage: {usage}%",
    )


def printed(
    folder: Path, *lines: str, anchors: list[Anchor] | None = None, info: Any = INFO
) -> Printed:
    (folder / "engine.log").write_text("".join(lines))
    return read(
        PrintedContext(
            spec=spec(),
            bundle=folder,
            server_info=info,
            anchors=ANCHORS if anchors is None else anchors,
            clock_domain="boot/ns/monotonic",
        )
    )


def of(found: Printed, event: str) -> list[dict[str, Any]]:
    return [dict(row) for row in found.rows if row["event"] == event]


def whats(found: Printed) -> str:
    return " | ".join(gap["what"] for gap in found.gaps)


def test_a_printed_time_lies_on_the_clients_clock_with_its_error(tmp_path: Path) -> None:
    found = printed(tmp_path, line(2.5, "Added request chatcmpl-a1-0123abcd."))

    (row,) = of(found, "queued")
    assert row["request"] == "a1"
    assert row["t_ns"] == MONOTONIC_NS + 2_500_000_000
    # a millisecond of the printed form, 2 µs between the two clocks' readings
    assert row["error_ns"] == 1_000_000 + 2_000
    assert row["source"] == "engine.log:1"


def test_the_record_begins_with_its_clock(tmp_path: Path) -> None:
    found = printed(tmp_path, line(2.5, "Added request chatcmpl-a1-0123abcd."))

    assert found.rows[0] == {
        "event": "clock",
        "t_ns": MONOTONIC_NS + 2_500_000_000,
        "clock_domain": "boot/ns/monotonic",
        "process": "printed",
    }


def test_a_step_began_its_own_duration_before_it_was_printed(tmp_path: Path) -> None:
    found = printed(tmp_path, step(3.0, 7, usage=0.3))

    (row,) = of(found, "iteration")
    assert row["t_ns"] == MONOTONIC_NS + 3_000_000_000 - 75_000_000
    assert (row["kv_used"], row["kv_total"]) == (1, 363)


def test_blocks_of_an_ended_request_are_free_once_no_block_is_in_use(tmp_path: Path) -> None:
    found = printed(
        tmp_path,
        line(1.0, "Added request chatcmpl-a1-0123abcd."),
        line(1.0, "Added request chatcmpl-a2-0123abcd."),
        line(2.0, "Aborted request(s) chatcmpl-a1-0123abcd."),
        step(2.1, 1, usage=0.3),  # a2 still holds a block, perhaps a1 too
        step(2.2, 2, usage=0.0),
    )

    released = [(r["request"], r["value"], r["t_ns"]) for r in of(found, "released")]
    at = MONOTONIC_NS + 2_200_000_000
    assert released == [("a1", "blocks_dropped", at), ("a1", "blocks_reusable", at)]


def test_nothing_is_released_where_the_number_of_blocks_is_not_known(tmp_path: Path) -> None:
    found = printed(
        tmp_path,
        line(2.0, "Aborted request(s) chatcmpl-a1-0123abcd."),
        step(2.2, 2, usage=0.0),
        info=None,
    )

    assert of(found, "released") == []


@pytest.mark.req("7.10")
@pytest.mark.forbids
def test_an_iteration_line_of_another_form_is_a_gap_and_no_iteration(tmp_path: Path) -> None:
    changed = step(2.2, 2, usage=0.0).replace("generation tokens", "decode tokens")

    found = printed(tmp_path, step(2.1, 1, usage=0.0), changed)

    assert len(of(found, "iteration")) == 1
    assert "1 iteration lines are not of the known form (1 are)" in whats(found)


def test_lines_without_a_usable_time_give_no_events_and_a_gap(tmp_path: Path) -> None:
    found = printed(tmp_path, (FIXTURES / "requests_burst.log").read_text())

    assert found.rows == ()
    assert "no time to the millisecond" in whats(found)


def test_without_an_anchor_nothing_is_put_on_the_clients_clock(tmp_path: Path) -> None:
    found = printed(tmp_path, line(1.0, "Added request chatcmpl-a1-0123abcd."), anchors=[])

    assert found.rows == ()
    assert "no events of the engine" in whats(found)


@pytest.mark.req("7.07")
def test_the_start_is_split_by_the_engines_own_times(tmp_path: Path) -> None:
    found = printed(
        tmp_path,
        line(1.0, "Loading weights took 1.37 seconds"),
        line(9.0, "init engine (profile, create kv cache, warmup model) took 2.78 s"),
    )

    parts = [(row["part"], row["duration_s"]) for row in of(found, "start_part")]
    assert parts == [("weights", 1.37), ("profile, KV cache and warm-up", 2.78)]


def test_what_every_start_prints_and_this_one_did_not_is_named(tmp_path: Path) -> None:
    found = printed(tmp_path, line(1.0, "Loading weights took 1.37 seconds"))

    assert "no line of the known form for: banner, arguments, configuration" in whats(found)


def test_when_a_request_was_scheduled_is_always_a_gap(tmp_path: Path) -> None:
    found = printed(tmp_path, step(2.2, 2, usage=0.0))

    assert "when a request was scheduled is not known" in whats(found)
    assert of(found, "scheduled") == []


@pytest.mark.req("8.04")
def test_a_real_run_of_six_requests_has_their_ends_and_every_iteration(tmp_path: Path) -> None:
    found = read(bundles.printed(bundles.lay(tmp_path / "bundle")))

    ends = {
        event: sorted(r["request"] for r in of(found, event)) for event in ("cancelled", "finished")
    }
    assert ends["cancelled"] == ["load-0002.A1", "load-0004.A1"]
    assert ends["finished"] == [
        "load-0001.A1",
        "load-0003.A1",
        "load-0005.A1",
        "profile-0001.A1",
        "warmup-0001.A1",
    ]
    steps = of(found, "iteration")
    # warm-up and profile 32 tokens each; the first, third and fifth of the load 38 each;
    # the second left before it was computed, the fourth while it waited
    assert sum(s["prefill_tokens"] for s in steps) == 2 * 32 + 3 * 38
    assert whats(found) == (
        "this engine's log names no request in its iterations: when a request was scheduled is not known"
    )


def test_what_the_front_end_stamped_itself_is_not_said_twice(tmp_path: Path) -> None:
    found = read(bundles.printed(bundles.lay(tmp_path / "bundle")))

    assert of(found, "front_received") == []
    assert of(found, "front_disconnected") == []
    assert len(of(found, "queued")) == 7  # all but the one that was turned away
