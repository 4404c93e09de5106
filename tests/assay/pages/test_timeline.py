"""Levels of detail: lanes for a few attempts, counts for many; rows beside them with clock and source."""

from pathlib import Path

import polars as pl
import pytest
from django.test import Client
from django.urls import reverse

from assay.archive.derived_schemas import EVENTS, ITERATIONS, ITERATIONS_SCHEMA, TIMELINE_SCHEMA
from assay.pages.charts.timeline import View
from assay.pages.charts.tracks import Shown, Track
from assay.pages.contexts import step_tracks, timeline_page
from assay.pages.contexts import timeline as module
from assay.pages.contexts.gauge_tracks import gauge_tracks, gauges, values
from assay.pages.contexts.head import run_head
from assay.pages.contexts.step_tracks import StepRecord
from assay.pages.contexts.telemetry_tracks import telemetry_tracks
from assay.pages.contexts.timeline import DomainTimeline, domain_timelines, view
from assay.pages.contexts.timeline_page import Asked
from tests.assay.pages import simulated, simulated_bundle
from tests.assay.pages.conftest import page
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
    columns = ["attempt_id", "start_event", "from_ns", "to_ns"]
    frame = pl.DataFrame(rows, schema=columns, orient="row").with_columns(
        clock_domain=pl.lit("d"),
        perspective=pl.lit("client"),
        name=pl.lit("x"),
        end_event=pl.lit("next"),
    )
    assert set(frame.columns) <= set(TIMELINE_SCHEMA.names)
    frame.write_parquet(folder / module.TIMELINE)
    table = pl.DataFrame(
        {
            "start_ns": [i * 150_000 for i in range(steps)],
            "batch": [4] * steps,
            "waiting": [8 * (i % 100 == 0) for i in range(steps)],
            "prefill_tokens": [0] * steps,
            "decode_tokens": [4] * steps,
            "kv_used_blocks": pl.Series([None] * steps, dtype=pl.Int64),
            "kv_total_blocks": [64] * steps,
        }
    )
    assert set(table.columns) <= set(ITERATIONS_SCHEMA.names)
    table.write_parquet(folder / ITERATIONS)
    return DomainTimeline(
        number=0,
        domain="d",
        origin_ns=0,
        first_ns=0,
        last_ns=starts[-1] + SECOND,
        intervals=len(rows),
        attempts=attempts,
        folder=folder,
        steps=StepRecord(clock_domain="d", error_ns=0, total_blocks=64) if steps else None,
    )


def drawn(timeline: DomainTimeline, **asked: float) -> dict[str, Track]:
    return {track.key: track for track in timeline_page.shown(timeline, Asked(**asked)).tracks}  # type: ignore[arg-type]


def test_few_attempts_have_a_lane_each(tmp_path: Path) -> None:
    found = view(many(tmp_path, 20), None, None)

    assert len(found.lanes) == 20
    assert not found.counts


def test_many_attempts_are_counted(tmp_path: Path) -> None:
    found = view(many(tmp_path, 10_000), None, None)

    assert not found.bars
    assert len(found.count_at_s) == module.BINS
    # in the middle 100 attempts are open at any time: 40 wait, 60 stream
    middle = module.BINS // 2
    assert found.counts["client_waiting"][middle] == pytest.approx(40, abs=3)
    assert found.counts["client_streaming"][middle] == pytest.approx(60, abs=3)


def test_looking_closer_brings_the_lanes_back(tmp_path: Path) -> None:
    found = view(many(tmp_path, 10_000), 50.0, 50.1)

    # sent up to 50.1 s and not over before 50.0 s: number 4900 to 5010
    assert len(found.lanes) == 111
    assert found.lanes[0] == "load-004900.A1"


def test_the_table_behind_holds_the_first_intervals_of_the_range(tmp_path: Path) -> None:
    table = timeline_page.shown(many(tmp_path, 10_000), Asked(from_s=50.0, to_s=50.1)).table

    # 111 attempts touch the range: 11 still wait and have not streamed, 40 wait and stream later, ...
    assert table.total > len(table.bars) == module.TABLE_ROWS
    assert table.bars[0].attempt_id == "load-004900.A1"
    assert table.more == table.total - module.TABLE_ROWS


def test_many_iterations_become_means_of_bins_and_keep_their_peaks(tmp_path: Path) -> None:
    track = drawn(many(tmp_path, 2, steps=6000))["step_requests"]

    in_step, waiting = track.lines
    assert track.binned
    assert track.points <= step_tracks.MAX_POINTS + 1
    assert set(in_step.values) == {4.0}
    # 8 wait in one of a hundred steps: a mean of 0.08, which would hide them
    known = [value for value in waiting.values if value is not None]
    assert sum(known) / len(known) == pytest.approx(0.08, abs=0.02)
    assert waiting.peak is not None
    assert max(value or 0 for value in waiting.peak) == track.most == 8


def test_a_series_that_was_not_recorded_is_no_row(tmp_path: Path) -> None:
    tracks = drawn(many(tmp_path, 2, steps=10))

    assert "kv_blocks" not in tracks
    assert [line.label for line in tracks["step_tokens"].lines] == ["prefill", "decode"]


def test_iterations_stand_on_the_clock_that_stamped_them(lab: Laboratory) -> None:
    path = next(lab.home.derived.glob(f"{lab.bundle.digest}/*/{ITERATIONS}"))
    pl.DataFrame(
        {"fact": ["iteration"], "clock_domain": ["another/host"], "error_ns": [1_000_000]}
    ).write_parquet(path.parent / EVENTS)

    [domain] = domain_timelines(run_head(lab.run.pk, "run-timeline"))

    assert domain.steps is None  # two clocks are two worlds: not under the lanes of this one


def test_ghost_load_is_drawn_on_the_lane_of_its_attempt(lab: Laboratory) -> None:
    [domain] = domain_timelines(run_head(lab.run.pk, "run-timeline"))

    found: View = view(domain, None, None)

    ghosts = {bar.attempt_id: bar for bar in found.bars if bar.kind == "ghost"}
    assert set(ghosts) == {"cases-0004.A1", "load-0006.A1", "load-0011.A1"}
    lane = found.lanes.index("load-0006.A1")
    assert ghosts["load-0006.A1"].lane == lane


def test_times_count_from_the_origin_of_the_run(lab: Laboratory) -> None:
    [domain] = domain_timelines(run_head(lab.run.pk, "run-timeline"))

    # the first request of the made-up run is sent 120 ms after its origin
    assert domain.extent[0] == pytest.approx(0.12)


@pytest.mark.parametrize(
    ("pair", "kind"),
    [
        (("queued", "scheduled"), "server_queued"),
        (("queued", "front_written"), "server_unsplit"),
        (("front_written", "cancelled"), "server_decode"),
        (("front_disconnected", "released"), "server_held"),
    ],
)
def test_what_nobody_stamped_is_not_called_queueing(
    tmp_path: Path, pair: tuple[str, str], kind: str
) -> None:
    timeline = many(tmp_path, 1)
    stored = pl.read_parquet(tmp_path / module.TIMELINE).head(1)
    start, end = pair
    stored.with_columns(
        perspective=pl.lit("server"), start_event=pl.lit(start), end_event=pl.lit(end)
    ).write_parquet(tmp_path / module.TIMELINE)

    assert timeline.rows().collect()["kind"].to_list() == [kind]


class TestRows:
    """Rows from the made-up bundle's scrapes and readings."""

    @pytest.fixture
    def bundle(self, tmp_path: Path) -> Path:
        simulated_bundle.write(tmp_path / "bundle")
        return tmp_path / "bundle"

    def rows(self, bundle: Path, keys: list[str], low: float, high: float) -> list[Track]:
        shown = Shown(domain="d", origin_ns=simulated.ORIGIN_NS, start_s=low, end_s=high)
        names = [key for key in keys if key.startswith("lab_")]
        return [*gauge_tracks(bundle, names, shown), *telemetry_tracks(bundle, keys, shown)]

    def test_gauges_are_those_of_the_text_and_no_counters(self, bundle: Path) -> None:
        assert [g.name for g in gauges(bundle)] == ["lab_requests_running", "lab_requests_waiting"]

    def test_a_gauge_is_drawn_under_its_own_name_and_a_failed_scrape_is_a_hole(
        self, bundle: Path
    ) -> None:
        [track] = self.rows(bundle, ["lab_requests_running"], 0, 30)

        # one scrape a second, one more request in each seven of them; the fifth was refused
        assert track.title == "lab_requests_running"
        assert track.lines[0].values[:8] == [0, 0, 0, 0, 0, None, 0, 1]
        assert track.error_ns == 2_000_000  # the longest scrape: the value is of a moment within it

    def test_labels_are_lines_and_nan_is_no_value(self, bundle: Path) -> None:
        [track] = self.rows(bundle, ["lab_requests_waiting"], 0, 30)

        assert [line.label for line in track.lines] == ['model="a"']

    def test_counters_of_the_host_are_drawn_as_their_growth(self, bundle: Path) -> None:
        [cpu] = self.rows(bundle, ["cpu"], 0, 30)

        lines = {line.label: line.values for line in cpu.lines}
        # the host's user time grows by 0.8 s in each half second: 1.6 cores; idle time is no use of one
        assert lines["host"][0] == pytest.approx(1.6)
        # the engine's first process: 0.5 s in half a second; the second joins at 5 s with 0.25 s
        assert lines["engine"][0] == pytest.approx(1.0)
        assert lines["engine"][-1] == pytest.approx(1.5)

    def test_memory_is_binary_and_power_is_there_where_something_measures_it(
        self, bundle: Path
    ) -> None:
        memory, power = self.rows(bundle, ["memory", "power"], 0, 30)

        assert (memory.unit, [line.values[0] for line in memory.lines]) == ("GiB", [0.5, 6.0])
        assert (power.unit, power.lines[0].values[0]) == ("W", 60.0)

    def test_only_the_range_is_drawn(self, bundle: Path) -> None:
        [cpu] = self.rows(bundle, ["cpu"], 10.0, 12.0)

        assert (cpu.at_s[0], cpu.at_s[-1]) == (10.0, 12.0)


def test_a_sample_that_is_no_number_is_left_out() -> None:
    text = 'a{b="c"} 1.5\na{b="d"} nonsense\na{b="e"} +Inf\nother 3\n'

    assert values(text, ["a"]) == {"a": {'b="c"': 1.5}}


def test_rows_are_chosen_in_the_address(lab: Laboratory, somebody: Client) -> None:
    url = reverse("run-timeline", args=[lab.run.pk])

    text = page(somebody, f"{url}?rows=cpu&rows=gauge:lab_requests_running&from=1&to=9&domain=0")

    assert "cores in use" in text
    assert "lab_requests_running" in text
    assert "step composition ·" not in text
    assert 'value="9.000000"' in text


def test_the_rows_of_a_range_are_exported(lab: Laboratory, somebody: Client) -> None:
    url = reverse("run-timeline", args=[lab.run.pk])

    rows = somebody.get(f"{url}?table=rows&format=json&rows=cpu&from=0&to=2&domain=0").json()

    assert {row["row"] for row in rows} == {"cpu"}
    assert all(0 <= row["at_s"] <= 2 for row in rows)
    assert {row["clock_domain"] for row in rows} == {simulated.DOMAIN}


def test_a_range_that_is_no_number_shows_everything(lab: Laboratory, somebody: Client) -> None:
    url = reverse("run-timeline-detail", args=[lab.run.pk, 0])

    figures = [somebody.get(url + asked).json() for asked in ("", "?from=nan&to=inf", "?from=x")]

    assert figures[1] == figures[2] == figures[0]
