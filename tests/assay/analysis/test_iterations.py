"""The engine's iteration record, and what is observed of it."""

import json

import pytest

from assay.analysis.errors import BadRecord
from assay.analysis.observed import ObservedAttempt, StepPhase
from assay.analysis.observing import observed_attempt, observed_quantities, prefill_seen
from tests.assay.analysis.engine import EngineLog, Reading, part
from tests.assay.analysis.streams import MS, attempts, delta, read, row


def client(*names: str) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for name in names:
        rows += [
            row("sent", 0, name),
            read(50, delta("x", ids=[1]), name),
            read(70, delta("y", ids=[2], finish="length"), name),
            row("closed", 71, name),
        ]
    return rows


@pytest.mark.req("3.20", "3.21", "10.01")
def test_a_chunked_prompt_beside_a_decode_is_a_mixed_step() -> None:
    log = EngineLog()
    log.step(0, 10, part("a", 4, 1, 4), number=1)
    log.step(10, 20, part("a", 1, 1, 5), part("b", 6, 0, 6), number=2)
    log.step(30, 5, part("a", 1, 1, 6), part("b", 2, 1, 8), number=3)
    log.step(35, 4, part("a", 1, 1, 7), part("b", 1, 1, 9), number=4)

    reading = Reading(log, attempts(*client("a", "b")))

    steps = reading.iterations.steps
    assert [s.phase for s in steps] == [
        StepPhase.prefill,
        StepPhase.mixed,
        StepPhase.mixed,
        StepPhase.decode,
    ]
    # Step 2: one decoding token of a at context 5, six prompt tokens of b at context 6.
    assert (steps[1].batch, steps[1].tokens_in, steps[1].tokens_out) == (2, 7, 1)
    assert (steps[1].prefill_tokens, steps[1].decode_tokens) == (6, 1)
    assert (steps[1].context_tokens, steps[1].decode_context_tokens) == (11, 5)
    assert reading.iterations.prefill_steps_of == {"a": 1, "b": 2}
    assert reading.iterations.shared_prefill == {"b"}
    assert list(reading.record("b").step_starts_ns) == [10 * MS, 30 * MS, 35 * MS]


@pytest.mark.req("10.06")
def test_a_first_token_that_ends_its_request_makes_no_decode_step() -> None:
    log = EngineLog()
    log.step(0, 10, part("a", 4, 1, 4), number=1)
    log.step(10, 10, part("b", 4, 1, 4), number=2)
    log.step(20, 5, part("b", 1, 1, 5), number=3)

    reading = Reading(log, attempts(*client("a", "b")))

    assert reading.iterations.prefill_steps_of == {"a": 1, "b": 1}
    assert reading.iterations.decode_steps_of == {"b": 1}


@pytest.mark.req("3.20")
@pytest.mark.forbids
def test_sharing_a_step_neither_joins_two_requests_nor_a_prompt_and_its_own_answer() -> None:
    log = EngineLog()
    log.add("queued", 0, "b")
    log.step(0, 10, part("a", 4, 1, 4), number=1)
    log.add("scheduled", 10, "b")
    log.step(10, 20, part("a", 1, 1, 5), part("b", 6, 1, 6), number=2)
    log.add("first_token", 30, "b", index=0)
    log.step(30, 5, part("a", 1, 1, 6), part("b", 1, 1, 7), number=3)
    log.add("token", 35, "b", index=1)
    log.add("finished", 36, "b", reason="length", tokens_out=2)

    reading = Reading(log, attempts(*client("a", "b")))
    document = reading.document()

    # Step 2 gave b's first token, yet all of b in it is prompt; its decode begins in the step after.
    shared = reading.iterations.steps[1]
    assert (shared.prefill_tokens, shared.decode_tokens, shared.phase) == (6, 1, StepPhase.mixed)
    (lane,) = [
        x for x in document["lanes"] if (x["attempt_id"], x["perspective"]) == ("b", "server")
    ]
    by_name = {i["name"]: i for i in lane["intervals"]}
    assert by_name["prefill"]["to_ns"] == by_name["decode"]["from_ns"] == 30 * MS
    said = json.dumps(document).lower()
    assert not [word for word in ("simultaneous", "parallel", "at once") if word in said]


@pytest.mark.req("3.21")
def test_a_prompt_that_is_computed_again_after_a_preemption_is_prefill_again() -> None:
    log = EngineLog()
    log.step(0, 10, part("a", 4, 1, 4), number=1)
    log.add("preempted", 10, "a", computed=5)
    log.step(20, 10, part("a", 5, 1, 5), number=2)
    log.step(30, 10, part("a", 1, 1, 6), number=3)

    steps = Reading(log, attempts(*client("a"))).iterations.steps

    assert [s.phase for s in steps] == [StepPhase.prefill, StepPhase.prefill, StepPhase.decode]
    assert [s.recomputed_tokens for s in steps] == [0, 5, 0]


def test_the_engine_s_own_words_for_phase_and_recomputation_go_first() -> None:
    log = EngineLog()
    log.step(0, 10, part("a", 1, 1, 4, phase="decode", recomputed=0), number=1)

    (step,) = Reading(log, attempts(*client("a"))).iterations.steps

    assert step.phase is StepPhase.decode


def test_a_damaged_duration_is_refused_with_its_line() -> None:
    log = EngineLog()
    log.add("iteration", 0, number=1, duration_ns="ten", requests=[])

    with pytest.raises(BadRecord, match=r"engine_events\.jsonl:3 duration_ns: 'ten'"):
        Reading(log, attempts(*client("a")))


def test_a_torn_line_is_named_and_passed_over() -> None:
    log = EngineLog()
    log.add("queued", 1, "a")
    reading = Reading(log, attempts(*client("a")))

    found = list(reading.reader.records([*log.bytes(), b'{"event": "tok']))

    assert len(found) == 3
    assert reading.reader.unreadable == [4]


@pytest.mark.req("3.22")
def test_front_and_loop_are_two_layers_of_one_clock() -> None:
    log = EngineLog()
    log.add("front_received", 1, "a")
    log.add("queued", 2, "a")
    reading = Reading(log, attempts(*client("a")))

    layers = {e.event: e.layer for e in reading.reader.records(log.bytes())}

    assert layers["front_received"] == "engine_front"
    assert layers["queued"] == "engine_loop"


def at_both_ends(reading: Reading) -> list[ObservedAttempt]:
    return [
        observed_attempt(
            attempt,
            reading.records.get(attempt.attempt_id),
            prefill_seen(attempt.attempt_id, reading.iterations),
        )
        for attempt in reading.attempts
    ]


def test_observed_quantities_are_what_was_recorded_and_nothing_else() -> None:
    log = EngineLog()
    log.add("memory", 0, process="loop", rss_bytes=500, kv_bytes_allocated=800)
    log.add("queued", 1, "a")
    log.add("scheduled", 5, "a")
    log.add("kv_taken", 5, "a", blocks=2, used=2, total=8)
    log.step(5, 40, part("a", 4, 1, 4, phase="prefill"), number=1)
    log.add("first_token", 45, "a", index=0)
    log.step(45, 20, part("a", 1, 1, 5, phase="decode"), number=2)
    log.add("token", 65, "a", index=1)
    read_attempts = attempts(*client("a"))
    reading = Reading(log, read_attempts)

    found = observed_quantities(
        at_both_ends(reading),
        reading.iterations,
        reading.memory,
        weight_file_bytes=None,
        clock_domain="unspecified",
        level="E2",
    )

    (attempt,) = found.attempts
    assert (attempt.queue_ns, attempt.prefill_ns, attempt.decode_ns) == (4 * MS, 40 * MS, 20 * MS)
    assert (attempt.ttft_server_ns, attempt.ttft_client_ns) == (44 * MS, 50 * MS)
    assert attempt.tpot_ns == pytest.approx(20 * MS)
    assert attempt.alone is True
    assert found.memory.kv_bytes_allocated == 800
    assert found.memory.kv_peak_used_blocks == 2
    assert found.memory.weight_file_bytes is None
    assert found.has_engine_record


def test_without_iterations_alone_is_not_known() -> None:
    read_attempts = attempts(*client("a"))
    reading = Reading(EngineLog(), read_attempts)

    found = observed_quantities(
        at_both_ends(reading),
        reading.iterations,
        reading.memory,
        weight_file_bytes=1,
        clock_domain="unspecified",
        level="E1",
    )

    assert not found.has_engine_record
    assert found.attempts[0].alone is None
    assert found.attempts[0].prefill_ns is None
