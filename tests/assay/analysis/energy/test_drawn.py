"""Energy of a load window by hand: counters, power, wraps, and what was drawn while nothing was in flight."""

import json
from pathlib import Path

import pytest

from assay.analysis.absence import Absent
from assay.analysis.energy.drawn import Drawn, Meter, drawn, idle_spans
from assay.analysis.resources.readings import Reading

S = 1_000_000_000
READINGS = Path(__file__).parents[3] / "data" / "energy" / "nvml_two_boards.json"
NOTHING_IDLE = [(0, 1)]


def series(subject: str, metric: str, *values: tuple[float, float]) -> list[Reading]:
    """(second, value)"""
    return [
        Reading(t_ns=round(t_s * S), subject=subject, pid=None, metric=metric, value=value)
        for t_s, value in values
    ]


def found(readings: list[Reading], meter: Meter, window: tuple[float, float]) -> Drawn:
    span = (round(window[0] * S), round(window[1] * S))
    seen = drawn(readings, meter, span, NOTHING_IDLE)
    assert isinstance(seen, Drawn)
    return seen


def test_a_total_is_interpolated_at_both_ends_of_the_window() -> None:
    # 100 J from 0 to 2 s (50 W), 300 J from 2 to 4 s (150 W); [1, 3) holds 50 + 150
    readings = series("nvml:0", "energy_j", (0, 7000.0), (2, 7100.0), (4, 7400.0))

    seen = found(readings, Meter.accelerator, (1, 3))

    assert seen.total_j == pytest.approx(200.0)
    assert (seen.window_s, seen.counted_by) == (2.0, "its own counter")


def test_a_board_without_a_total_is_read_by_the_trapezoids_under_its_power() -> None:
    # (100 + 300) / 2 x 2 s = 400 J, then 300 W x 1 s
    readings = series("nvml:0", "power_w", (0, 100.0), (2, 300.0), (3, 300.0))

    seen = found(readings, Meter.accelerator, (0, 3))

    assert seen.total_j == pytest.approx(700.0)
    assert seen.counted_by == "power, by trapezoids"


def test_a_total_that_wrapped_goes_on_from_its_range() -> None:
    # 262 143 J is the range: 262 140 to 7 are 10 J more
    readings = [
        *series("rapl:package-0", "energy_j", (0, 262_140.0), (1, 7.0), (2, 27.0)),
        *series("rapl:package-0", "energy_range_j", (0, 262_143.0), (1, 262_143.0)),
    ]

    seen = found(readings, Meter.cpu_package, (0, 2))

    assert seen.total_j == pytest.approx(10.0 + 20.0)


def test_a_total_that_was_reset_gives_no_energy() -> None:
    readings = series("nvml:0", "energy_j", (0, 500.0), (1, 3.0), (2, 9.0))

    assert isinstance(drawn(readings, Meter.accelerator, (0, 2 * S), NOTHING_IDLE), Absent)


def test_readings_that_do_not_span_the_window_give_none() -> None:
    readings = series("nvml:0", "energy_j", (1, 0.0), (2, 9.0))

    seen = drawn(readings, Meter.accelerator, (0, 2 * S), NOTHING_IDLE)

    assert seen == Absent("the readings of nvml:0 do not span the window")


def test_boards_are_added_up_and_meters_are_not() -> None:
    readings = [
        *series("nvml:0", "energy_j", (0, 0.0), (1, 30.0)),
        *series("nvml:1", "energy_j", (0, 5.0), (1, 25.0)),
        *series("rapl:package-0", "energy_j", (0, 0.0), (1, 1000.0)),
    ]

    seen = found(readings, Meter.accelerator, (0, 1))

    assert (seen.total_j, seen.devices) == (50.0, ("nvml:0", "nvml:1"))


def test_idle_is_what_was_drawn_while_nothing_was_in_flight() -> None:
    # in flight from 1 to 2 s and from 3 s on; idle: [0, 1) and [2, 3), at 40 W each
    readings = series("nvml:0", "energy_j", (0, 0.0), (1, 40.0), (2, 340.0), (3, 380.0), (4, 680.0))
    levels = [(1 * S, 2), (2 * S, 0), (3 * S, 1), (4 * S, 0)]

    seen = drawn(readings, Meter.accelerator, (0, 4 * S), levels)

    assert isinstance(seen, Drawn)
    assert (seen.total_j, seen.idle_j) == (pytest.approx(680.0), pytest.approx(80.0))


@pytest.mark.parametrize(
    ("levels", "spans"),
    [
        ([], [(0, 10)]),
        ([(0, 1), (10, 0)], []),
        ([(-5, 1), (3, 0)], [(3, 10)]),
        ([(4, 1), (6, 0), (8, 1), (20, 0)], [(0, 4), (6, 8)]),
    ],
)
def test_idle_spans_are_cut_to_the_window(
    levels: list[tuple[int, int]], spans: list[tuple[int, int]]
) -> None:
    assert idle_spans(levels, (0, 10)) == spans


def test_two_boards_in_nvmls_own_units_by_hand() -> None:
    """Readings as NVML answers them (mJ since the driver was loaded, mW), every half second for three."""
    kept = json.loads(READINGS.read_text(encoding="utf-8"))
    readings = [
        Reading(
            t_ns=row["t_ns"],
            subject=f"nvml:{row['device']}",
            pid=None,
            metric=metric,
            value=row[theirs] / 1000,
        )
        for row in kept["readings"]
        for metric, theirs in (("energy_j", "total_energy_mj"), ("power_w", "power_mw"))
        if row[theirs] is not None
    ]

    seen = found(readings, Meter.accelerator, (0.5, 2.5))

    # board 0 counts: 812 664.100 - 812 124.300 = 539.800 J. board 1 states its power alone:
    # 0.5 s x (92.4 / 2 + 301.2 + 405.0 + 398.6 + 96.2 / 2) = 0.5 x 1199.1 = 599.55 J
    assert seen.total_j == pytest.approx(539.8 + 599.55)
    assert seen.counted_by == "its own counter, power, by trapezoids"
