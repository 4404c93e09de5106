"""The client against the real stamped mock, and what of it is kept."""

import json
from pathlib import Path
from typing import Any

import pytest
import uvloop

from runners.load import self_calibration
from runners.load.self_calibration import EVENTS, calibrate, streams_at_once
from tests.runners.load.drives import plan_row

S = 1_000_000_000


def test_every_event_of_every_stream_is_compared_with_its_stamp() -> None:
    found = uvloop.run(calibrate(3))

    assert found["n_events"] == found["expected_events"] == 3 * EVENTS
    # The server stamps before it writes and the clock is one: no arrival can precede its stamp.
    assert found["arrival_error"]["p50_ns"] > 0
    assert found["itl_error"]["n"] == 3 * (EVENTS - 1)
    assert found["ttft_error"]["n"] == 3
    assert found["cached"] is False


@pytest.mark.parametrize(("disturbed", "again"), [(False, True), (True, False), (None, False)])
def test_only_an_undisturbed_calibration_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, disturbed: bool | None, again: bool
) -> None:
    async def measured(streams: int, _cores: Any) -> dict[str, Any]:
        return {"streams": streams, "n_events": 1, "disturbed": disturbed}

    monkeypatch.setattr(self_calibration, "_measure", measured)

    uvloop.run(calibrate(2, cache=tmp_path / "kept"))
    second = uvloop.run(calibrate(2, cache=tmp_path / "kept"))
    other = uvloop.run(calibrate(4, cache=tmp_path / "kept"))

    assert second["cached"] is again
    assert other["cached"] is False  # another concurrency is another calibration


def test_a_torn_kept_calibration_is_measured_again(tmp_path: Path) -> None:
    kept = tmp_path / f"{self_calibration._key(1)}.json"
    kept.write_text('{"n_eve')

    found = uvloop.run(calibrate(1, cache=tmp_path))

    assert found["cached"] is False
    assert found["n_events"] == EVENTS
    if found["disturbed"] is False:
        assert json.loads(kept.read_text())["n_events"] == EVENTS


@pytest.mark.parametrize(
    ("rows", "streams"),
    [
        ([plan_row(n, "load", slot=n % 4) for n in range(9)], 4),
        ([plan_row(n, "load", offset_ns=n * S // 2) for n in range(9)], 2),
        ([plan_row(n, "load", offset_ns=0) for n in range(9)], 9),
        ([plan_row(n, "load", offset_ns=0) for n in range(600)], 512),
        ([plan_row(1, "warmup", slot=0)], 1),
        ([], 1),
    ],
)
def test_the_plan_says_how_many_streams_there_are_at_once(
    rows: list[dict[str, Any]], streams: int
) -> None:
    assert streams_at_once(rows) == streams
