"""An engine's series over the measured phase: gauges by reading, counters by growth, absence by reason."""

from assay.analysis.counters.documents import SeriesReading
from assay.analysis.counters.series_readings import Scraped, series_readings
from runners.protocol.series import Kind, Quantity, Series, SeriesMap

KNOWN: SeriesMap = {
    Quantity.queue: Series(name="queue_s", kind=Kind.histogram, unit="s", caution="finished only"),
    Quantity.decode: None,
    Quantity.running: Series(name="running", kind=Kind.gauge, unit="request"),
    Quantity.waiting: Series(name="waiting", kind=Kind.gauge, unit="request"),
    Quantity.finish_reasons: Series(
        name="done_total", kind=Kind.counter, unit="request", label="reason"
    ),
}
BEFORE = Scraped(
    t_ns=0,
    values={
        Quantity.queue: {"sum": 1.0, "count": 2.0},
        Quantity.running: {"all": 9.0},
        Quantity.finish_reasons: {"length": 1.0},
    },
)
MEASURED = [
    Scraped(t_ns=10, values={Quantity.running: {"all": 1.0}}),
    Scraped(
        t_ns=20,
        values={
            Quantity.running: {"all": 4.0},
            Quantity.queue: {"sum": 4.0, "count": 8.0},
            Quantity.finish_reasons: {"length": 3.0, "stop": 2.0},
        },
    ),
]


def found(scraped: list[Scraped]) -> dict[str, SeriesReading]:
    rows = series_readings(scraped, KNOWN, before=BEFORE if scraped else None)
    return {row["quantity"]: row for row in rows}


def test_a_gauge_is_read_in_the_phase_and_a_counter_grows_from_before_it() -> None:
    rows = found(MEASURED)

    # 9 running were seen before the phase
    assert [rows["running"][name] for name in ("min", "mean", "max")] == [1.0, 2.5, 4.0]  # type: ignore[literal-required]
    # three finished by length less the one before, two by stop
    assert (rows["finish_reasons"]["grown"], rows["finish_reasons"]["parts"]) == (
        4.0,
        {"length": 2.0, "stop": 2.0},
    )
    # (4 - 1) s over 8 - 2 requests
    assert (rows["queue"]["grown"], rows["queue"]["mean"]) == (6.0, 0.5)
    assert rows["queue"]["caution"] == "finished only"


def test_what_is_not_there_has_a_reason_and_no_zero() -> None:
    rows = found(MEASURED)

    assert rows["decode"]["reason"] == "the engine has no such series"
    assert (rows["waiting"]["mean"], rows["waiting"]["reason"]) == (
        None,
        "no scrape holds it: of a gauge that is unknown, not 0",
    )
    assert {row["reason"] for row in found([]).values()} == {
        "the engine has no such series",
        "no scrape of the measured phase",
    }
