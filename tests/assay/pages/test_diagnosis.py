"""What evidence carries, where a reader looks: leads and proof, reach of a trace, record, other shapes."""

from typing import Any

import polars as pl
import pytest
from django.test import Client
from django.urls import reverse

from assay.archive.derived_schemas import ITERATIONS
from assay.pages.contexts.head import run_head
from assay.pages.contexts.reach import measured_compositions, trace_reach
from runners.protocol.documents import IdentityItem
from tests.assay.pages.factory import Laboratory


def ask(lab: Laboratory, somebody: Client, name: str, **query: Any) -> str:
    response = somebody.get(reverse(name, args=[lab.run.pk]), query)
    assert response.status_code == 200
    return response.content.decode()


@pytest.mark.req("7.02", "7.03")
def test_a_slower_queue_points_at_admission_and_the_scheduler(
    lab: Laboratory, somebody: Client
) -> None:
    # the run shown has concurrency 4 (scale 1.0), the last of the sweep 1 (0.7): 1.43 times, below 1.5
    text = ask(lab, somebody, "run-diagnosis", reference=lab.sweep[2].pk)

    assert "No rule points anywhere" in text
    assert "requests waiting at a step" in text
    assert "The seven responsibilities in this engine" in text


@pytest.mark.req("9.14")
@pytest.mark.forbids
def test_without_an_intervention_a_lead_stays_a_hypothesis(
    lab: Laboratory, somebody: Client
) -> None:
    text = ask(lab, somebody, "run-diagnosis", reference=lab.sweep[2].pk)

    steps = [
        text.index(step)
        for step in ("boundary and unit", "end to end in one", "labelled intervals")
    ]
    assert steps == sorted(steps)
    assert "Until then it is a hypothesis" in text


@pytest.mark.req("2.11")
@pytest.mark.forbids
def test_slow_outside_the_model_is_refused_where_no_delay_was_changed(
    lab: Laboratory, somebody: Client
) -> None:
    text = ask(lab, somebody, "run-diagnosis", reference=lab.sweep[2].pk)

    assert "a repeat that changed nothing" in text
    assert "no repeat with another delay" in ask(lab, somebody, "run-diagnosis")


@pytest.mark.parametrize("other", ["nonsense", "00000000-0000-7000-8000-000000000000"])
def test_a_reference_that_nobody_may_see_does_not_exist(
    other: str, lab: Laboratory, somebody: Client
) -> None:
    url = reverse("run-diagnosis", args=[lab.run.pk])

    assert somebody.get(url, {"reference": other}).status_code == 404


def test_a_trace_without_counted_layers_and_steps_makes_no_claim(
    lab: Laboratory, somebody: Client
) -> None:
    # the made-up evidence names a shape, and neither layers nor steps
    text = ask(lab, somebody, "run-identity")

    assert "no claim" in text
    assert "counted against layers and steps" in text


@pytest.mark.req("7.13")
def test_a_trace_reaches_as_far_as_the_compositions_it_was_taken_with(lab: Laboratory) -> None:
    path = next(lab.home.derived.glob(f"{lab.bundle.digest}/*/{ITERATIONS}"))
    pl.DataFrame(
        {"batch": [1, 1, 2, 2], "prefill_tokens": [32, 0, 0, 0], "decode_tokens": [0, 1, 2, 2]}
    ).write_parquet(path)
    head = run_head(lab.run.pk, "run-identity")
    conditions = {
        "layers": 30,
        "steps": 2,
        "batches": ["prefill=1 (32 tokens) decode=0", "prefill=0 (0 tokens) decode=1"],
    }
    evidence = {
        "strength": "trace", "statement": "60 calls = 30 layers x 2 steps", "t_ns": None,
        "pointer": {"file": "trace/a.json"}, "conditions": conditions, "engine_version": "2.13.0",
    }  # fmt: skip
    item: Any = {"item": "attention_gemm_backend", "evidence": [evidence]}

    [reach] = trace_reach(head, [IdentityItem(**item)])

    # of four steps the prompt and the single decode are covered; two steps decode two requests
    assert measured_compositions(head) == {(1, 32, 0): 1, (0, 0, 1): 1, (0, 0, 2): 2}
    assert (reach.covered, reach.steps) == (2, 4)
    assert reach.lacking == [("prefill=0 (0 tokens) decode=2", 2)]


@pytest.mark.req("6.16")
def test_kept_state_may_serve_a_run_of_the_same_key_alone(
    lab: Laboratory, somebody: Client
) -> None:
    text = ask(lab, somebody, "run-identity")

    # the three of the sweep move the load, which is no part of the key; none pins its template
    part = text[text.index('id="reuse"') :]
    assert part.count("cache.template") == 2
    assert "Flush the cache" in part


@pytest.mark.req("10.26")
@pytest.mark.forbids
def test_a_preview_is_no_main_subject(lab: Laboratory, somebody: Client) -> None:
    assert "Use a released model" in ask(lab, somebody, "run-identity", stage="preview")
    # released, but the run's identity lacks an item: nobody verified its behaviour
    assert "Verify it before relying on it" in ask(lab, somebody, "run-identity", stage="released")


@pytest.mark.req("10.35")
@pytest.mark.forbids
def test_a_shape_that_leans_the_other_way_is_not_carried_over(
    lab: Laboratory, somebody: Client
) -> None:
    # measured medians: 64 tokens in, 32 out
    refused = ask(lab, somebody, "run-latency", input=16, output=512)
    kept = ask(lab, somebody, "run-latency", input=2048, output=32)

    assert "Prefill and decode have limits of their own" in refused
    assert "It leans the same way" in kept


@pytest.mark.req("14.01")
def test_a_declaration_that_lacks_parts_cannot_be_interpreted_as_a_record(
    lab: Laboratory, somebody: Client
) -> None:
    assert "the declaration does not hold" in ask(lab, somebody, "run-evidence")


@pytest.mark.req("5.18", "5.20")
@pytest.mark.forbids
def test_a_repetition_is_compared_when_it_is_asked_for(lab: Laboratory, somebody: Client) -> None:
    # all three of the sweep carry one spec digest here; their replies tell no token ids
    text = ask(lab, somebody, "run-evidence", repeat=lab.sweep[0].pk)

    assert "Requests with equal token ids: 0; different: 0" in text
    assert "input</strong>: the same artifact digest and plan digest" in text
