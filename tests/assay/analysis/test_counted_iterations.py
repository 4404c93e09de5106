"""An iteration record that counts requests and names none: the batch is known, shares of it are not."""

import pytest

from assay.analysis.errors import BadRecord
from assay.analysis.observed import StepPhase
from assay.analysis.observing import observed_quantities
from assay.analysis.step_aggregates import step_aggregates
from tests.assay.analysis.engine import EngineLog, Reading
from tests.assay.analysis.streams import MS, attempts, row


def counted(log: EngineLog, at_ms: float, prefill: tuple[int, int], decode: int) -> None:
    log.add(
        "iteration",
        at_ms,
        duration_ns=5 * MS,
        number=len(log.rows),
        prefill_requests=prefill[0],
        prefill_tokens=prefill[1],
        decode_requests=decode,
        decode_tokens=decode,
        kv_used=2,
        kv_total=363,
    )


def reading(log: EngineLog, *requests: tuple[str, str]) -> Reading:
    """The log read with attempts of these (name, segment)."""
    segment_of = dict(requests)
    sent = attempts(*(row("sent", 0, name) for name in segment_of))
    for attempt in sent:
        attempt.segment = segment_of[attempt.attempt_id]
    return Reading(log, sent)


@pytest.mark.req("10.01")
def test_a_counted_step_has_phase_batch_and_tokens() -> None:
    log = EngineLog()
    log.add("front_received", 1, "a")
    counted(log, 2, (1, 38), 0)
    counted(log, 8, (1, 43), 1)
    counted(log, 14, (0, 0), 2)

    steps = [step for step, _ in reading(log, ("a", "load")).iterations.counted]

    assert [(s.phase, s.batch, s.tokens_in) for s in steps] == [
        (StepPhase.prefill, 1, 38),
        (StepPhase.mixed, 2, 44),
        (StepPhase.decode, 2, 2),
    ]
    assert (steps[0].start_ns, steps[0].duration_ns) == (2 * MS, 5 * MS)
    assert (steps[0].kv_used_blocks, steps[0].kv_total_blocks) == (2, 363)


def test_a_step_is_of_the_segment_of_all_requests_that_the_engine_held_then() -> None:
    log = EngineLog()
    log.add("front_received", 1, "warm")
    counted(log, 2, (1, 8), 0)
    log.add("finished", 8, "warm", reason=None)
    counted(log, 9, (1, 8), 0)
    log.add("front_received", 10, "a")
    counted(log, 11, (1, 8), 0)
    log.add("front_received", 12, "late")
    counted(log, 13, (1, 8), 0)

    found = reading(log, ("warm", "warmup"), ("a", "load"), ("late", "profile"))

    # nobody is held at 9 ms; at 13 ms requests of two segments are
    assert [step.segment for step, _ in found.iterations.counted] == ["warmup", None, "load", None]


def test_counted_steps_are_aggregated_and_no_prediction_is_held_against_them() -> None:
    log = EngineLog()
    log.add("front_received", 1, "a")
    counted(log, 2, (0, 0), 1)
    counted(log, 8, (0, 0), 2)
    found = reading(log, ("a", "load"))
    steps = [step for step, _ in found.iterations.counted]

    aggregates = step_aggregates(steps, segment="load", clock_domain="c", level="E2", seed=1)
    observed = observed_quantities(
        [], found.iterations, found.memory, weight_file_bytes=None, clock_domain="c", level="E2"
    )

    batch = {a["statistic"]: a["value"] for a in aggregates if a["rule"] == "batch.server"}
    assert batch["mean"] == 1.5
    assert observed.steps == ()
    assert not observed.has_engine_record


@pytest.mark.parametrize("value", [None, -1, "1", True])
def test_a_step_without_its_requests_must_have_all_counts(value: object) -> None:
    log = EngineLog()
    counted(log, 2, (1, 8), 0)
    log.rows[-1]["decode_requests"] = value

    with pytest.raises(BadRecord, match="decode_requests"):
        reading(log, ("a", "load"))


def test_an_event_states_the_error_of_its_own_time() -> None:
    log = EngineLog()
    log.add("front_received", 1, "a")
    log.rows[-1]["error_ns"] = 1_002_000
    log.add("queued", 2, "a")

    record = reading(log, ("a", "load")).record("a")

    assert record.error_ns == 1_002_000
