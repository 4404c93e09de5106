"""The engine's record of requests beside its counters: what agrees, what a map explains, what nobody does."""

import pytest

from assay.analysis.counters.checks import Grown, counter_checks, differences
from assay.analysis.counters.documents import CounterCheck
from assay.analysis.counters.recorded_counts import Bounds, RecordedCounts, prefill_tokens
from assay.analysis.events import EventRecord
from assay.analysis.observed import CountedStep, StepPhase
from runners.protocol.series import Kind, Quantity, Series, SeriesMap

BOUNDS = Bounds(first_ns=(0, 10), last_ns=(1000, 1020))
FINISHED = Series(name="done_total", kind=Kind.counter, unit="request", label="reason")
ABORTED = Series(
    name="done_total",
    kind=Kind.counter,
    unit="request",
    where={"reason": "abort"},
    caution="disconnects are not counted",
)
KNOWN: SeriesMap = {
    Quantity.finish_reasons: FINISHED,
    Quantity.aborts: ABORTED,
    Quantity.rejections: None,
    Quantity.prompt_tokens: Series(name="prompt_total", kind=Kind.counter, unit="token"),
}


def event(name: str, t_ns: int, *, attempt: str = "a", error_ns: int = 0) -> EventRecord:
    return EventRecord(
        event=name, t_ns=t_ns, clock_domain="c", error_ns=error_ns, layer="engine_loop",
        perspective="server", attempt_id=attempt,
    )  # fmt: skip


def recorded(*events: EventRecord, domain: str = "c") -> RecordedCounts:
    found = RecordedCounts(bounds=BOUNDS, clock_domain=domain)
    for one in events:
        found.take(one)
    return found


def checks(
    seen: RecordedCounts, after: dict[Quantity, dict[str, float]], tokens: int | None = None
) -> dict[str, CounterCheck]:
    grown = Grown(first={Quantity.finish_reasons: {"length": 1.0}}, last=after)
    known = counter_checks(
        seen, grown, KNOWN, prompt_tokens=None if tokens is None else (tokens, 0)
    )
    return {check["fact"]: check for check in known}


THREE_AND_TWO = (
    event("finished", 100),
    event("finished", 200),
    event("finished", 300),
    event("cancelled", 150),
    event("cancelled", 250),
)


@pytest.mark.req("8.05")
def test_a_counter_that_counts_no_abort_is_explained_by_its_own_map() -> None:
    after = {
        # 1 at first: 3 more finished; abort is a part of the same series and no finish
        Quantity.finish_reasons: {"length": 2.0, "stop": 2.0, "abort": 0.0},
        Quantity.aborts: {"all": 0.0},
    }

    found = checks(recorded(*THREE_AND_TWO), after)

    assert found["completed"]["verdict"] == "agree"
    assert (found["cancelled"]["recorded"], found["cancelled"]["counted"]) == (2, 0.0)
    assert found["cancelled"]["verdict"] == "explained"
    assert differences(list(found.values())) == [
        "server, cancelled: the record shows 2, the counter 0: disconnects are not counted "
        '(done_total{reason="abort"})'
    ]


def test_a_difference_that_no_map_explains_enters_the_reconciliation_as_unexplained() -> None:
    found = checks(recorded(*THREE_AND_TWO), {Quantity.finish_reasons: {"length": 3.0}})

    assert found["completed"]["verdict"] == "unexplained"
    (line,) = [x for x in differences(list(found.values())) if "completed" in x]
    assert line == "unexplained: server, completed: the record shows 3, the counter 2 (done_total)"


@pytest.mark.parametrize(
    ("t_ns", "error_ns", "verdict"),
    [
        (1005, 0, "within the scrapes' time"),  # while the last scrape was answered
        (995, 6, "within the scrapes' time"),  # its error reaches the scrape
        (1030, 0, "unexplained"),  # after it: the counter cannot hold it
    ],
)
def test_what_falls_into_a_scrape_decides_nothing(t_ns: int, error_ns: int, verdict: str) -> None:
    seen = recorded(event("finished", 500), event("finished", t_ns, error_ns=error_ns))

    found = checks(seen, {Quantity.finish_reasons: {"length": 3.0}})

    assert found["completed"]["verdict"] == verdict


def test_without_a_record_a_series_or_scrapes_nothing_is_said() -> None:
    empty = RecordedCounts(bounds=BOUNDS, clock_domain="c")

    found = checks(empty, {Quantity.finish_reasons: {"length": 3.0}})

    assert found["completed"]["verdict"] == "not evidenced"
    assert found["rejected"]["verdict"] == "not counted"
    unbounded = counter_checks(recorded(*THREE_AND_TWO), None, KNOWN, prompt_tokens=None)
    assert unbounded[0]["words"] == "no two scrapes bound the run"


def test_events_of_another_clock_are_in_no_count() -> None:
    assert recorded(*THREE_AND_TWO, domain="other").counts.total() == 0


def test_prompt_tokens_of_the_iterations_are_held_against_their_counter() -> None:
    def step(start_ns: int, tokens: int) -> CountedStep:
        return CountedStep(
            number=0, start_ns=start_ns, duration_ns=20, phase=StepPhase.prefill, batch=1,
            tokens_in=tokens, prefill_tokens=tokens, decode_tokens=0, segment=None,
            kv_used_blocks=None, kv_total_blocks=None,
        )  # fmt: skip

    # one ended before the first scrape was sent, two between them, one within 20 ns of the last
    steps = [step(-60, 5), step(100, 32), step(300, 38), step(975, 7)]

    assert prefill_tokens(steps, BOUNDS) == (70, 7)
    assert checks(recorded(), {Quantity.prompt_tokens: {"all": 70.0}}, 70)[
        "prompt tokens computed"
    ]["verdict"] == ("agree")
