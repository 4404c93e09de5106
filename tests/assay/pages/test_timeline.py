"""Levels of detail: lanes for a few attempts, counts for many, one view per clock domain."""

from pathlib import Path

import polars as pl
import pytest

from assay.archive.derived_schemas import ITERATIONS_SCHEMA, TIMELINE_SCHEMA
from assay.pages.charts.timeline import View
from assay.pages.contexts import timeline as module
from assay.pages.contexts.head import run_head
from assay.pages.contexts.timeline import DomainTimeline, domain_timelines, view
from tests.assay.pages.factory import Laboratory

SECOND = 10**9


def many(folder: Path, attempts: int, steps: int = 0) -> DomainTimeline:
    """``attempts`` attempts, one begun every 10 ms, each 1 s: 0.4 s of waiting, 0.6 s of stream."""
    starts = [i * 10_000_000 for i in range(attempts)]
    rows = [
        (f"load-{i:06d}.A1", event, start + offset, start + end)
        for i, start in enumerate(starts)
        for event, offset, end in (
            ("sent", 0, 400_000_000),
            ("first_content", 400_000_000, 1_000_000_000),
        )
    ]
    frame = pl.DataFrame(
        rows, schema=["attempt_id", "start_event", "from_ns", "to_ns"], orient="row"
    )
    frame = frame.with_columns(
        clock_domain=pl.lit("d"), perspective=pl.lit("client"), name=pl.lit("x")
    )
    assert set(frame.columns) <= set(TIMELINE_SCHEMA.names)
    frame.write_parquet(folder / module.TIMELINE)
    table = pl.DataFrame(
        {
            "start_ns": [i * 150_000 for i in range(steps)],
            "batch": [4] * steps,
            "waiting": [i % 2 for i in range(steps)],
            "kv_used_blocks": pl.Series([None] * steps, dtype=pl.Int64),
            "kv_total_blocks": [64] * steps,
        }
    )
    assert set(table.columns) <= set(ITERATIONS_SCHEMA.names)
    table.write_parquet(folder / module.ITERATIONS)
    return DomainTimeline(
        number=0,
        domain="d",
        origin_ns=0,
        first_ns=0,
        last_ns=starts[-1] + SECOND,
        intervals=len(rows),
        attempts=attempts,
        folder=folder,
        has_steps=steps > 0,
        ghosts=(),
    )


def test_few_attempts_have_a_lane_each(tmp_path: Path) -> None:
    shown = view(many(tmp_path, 20), None, None)

    assert len(shown.lanes) == 20
    assert not shown.counts


def test_many_attempts_are_counted(tmp_path: Path) -> None:
    shown = view(many(tmp_path, 10_000), None, None)

    assert not shown.bars
    assert len(shown.count_at_s) == module.BINS
    # in the middle 100 attempts are open at any time: 40 wait, 60 stream
    middle = module.BINS // 2
    assert shown.counts["client_waiting"][middle] == pytest.approx(40, abs=3)
    assert shown.counts["client_streaming"][middle] == pytest.approx(60, abs=3)


def test_looking_closer_brings_the_lanes_back(tmp_path: Path) -> None:
    shown = view(many(tmp_path, 10_000), 50.0, 50.1)

    # sent up to 50.1 s and not over before 50.0 s: number 4900 to 5010
    assert len(shown.lanes) == 111
    assert shown.lanes[0] == "load-004900.A1"


def test_many_iterations_become_means_of_bins(tmp_path: Path) -> None:
    steps = view(many(tmp_path, 2, steps=6000), None, None).steps

    assert steps is not None
    assert steps.binned
    assert len(steps.at_s) <= module.MAX_STEPS + 1
    assert set(steps.running) == {4.0}
    assert sum(w or 0 for w in steps.waiting) / len(steps.waiting) == pytest.approx(0.5, abs=0.02)


def test_an_unrecorded_series_stays_unknown(tmp_path: Path) -> None:
    steps = view(many(tmp_path, 2, steps=10), None, None).steps

    assert steps is not None
    assert set(steps.kv_used) == {None}


def test_ghost_load_is_drawn_on_the_lane_of_its_attempt(lab: Laboratory) -> None:
    [domain] = domain_timelines(run_head(lab.run.pk, "run-timeline"))

    shown: View = view(domain, None, None)

    ghosts = {bar.attempt_id: bar for bar in shown.bars if bar.kind == "ghost"}
    assert set(ghosts) == {"cases-0004.A1", "load-0006.A1", "load-0011.A1"}
    lane = shown.lanes.index("load-0006.A1")
    assert ghosts["load-0006.A1"].lane == lane


def test_an_empty_iteration_record_draws_no_empty_axes(lab: Laboratory) -> None:
    path = next(lab.home.derived.glob(f"{lab.bundle.digest}/*/{module.ITERATIONS}"))
    pl.read_parquet(path).head(0).write_parquet(path)

    [domain] = domain_timelines(run_head(lab.run.pk, "run-timeline"))

    assert not domain.has_steps
    assert domain.height == "medium"


def test_times_count_from_the_origin_of_the_run(lab: Laboratory) -> None:
    [domain] = domain_timelines(run_head(lab.run.pk, "run-timeline"))

    # the first request of the made-up run is sent 120 ms after its origin
    assert domain.extent[0] == pytest.approx(0.12)
