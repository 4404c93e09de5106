"""Residuals: like against like, a class only with its evidence, and nothing tuned away."""

import copy
from dataclasses import replace
from typing import Any

import pytest

from assay.analysis.observed import ObservedMemory, ObservedQuantities, StepPhase
from assay.analysis.predictions import build_predictions
from assay.analysis.residuals import residual_rows
from runners.protocol.documents import PredictionsDocument
from runners.protocol.manifest import canonical
from tests.assay.analysis import benchmarks
from tests.assay.analysis.observations import NO_MEMORY, attempt, observed, step
from tests.assay.analysis.run_specs import PLAN_DIGEST, spec

CLASSES = {"parameter_error", "model_omission", "measurement_problem", "unexplained"}


def predictions() -> PredictionsDocument:
    return build_predictions(
        spec(), {"plan_digest": PLAN_DIGEST}, [benchmarks.document()], "2026-11-29T12:00:00Z"
    )


def row(found: ObservedQuantities, quantity: str, **conditions: Any) -> dict[str, Any]:
    client_limited = conditions.pop("client_limited", None)
    rows = residual_rows(predictions(), found, client_limited=client_limited)
    (one,) = [
        r
        for r in rows
        if r["quantity"] == quantity and conditions.items() <= r["conditions"].items()
    ]
    return one


def decode_row(found: ObservedQuantities, *, batch: int = 1) -> dict[str, Any]:
    return row(found, "decode_step", segment="load", batch=batch)


@pytest.mark.req("13.21", "11.07")
def test_residual_is_relative_to_the_prediction() -> None:
    # predicted at batch 1, 76 tokens: 38.388998 ms - 24 x 9.216 us = 38.167814 ms
    found = decode_row(observed(steps=[step(n, 0.0458) for n in range(5)]))

    assert found["predicted"] == pytest.approx(38.167814e-3, rel=1e-6)
    assert found["measured"] == pytest.approx(0.0458)
    assert found["residual"] == pytest.approx(0.0458 - 38.167814e-3)
    assert found["relative"] == pytest.approx((0.0458 - 38.167814e-3) / 38.167814e-3)
    assert (found["n"], found["unit"], found["layer"]) == (5, "s", "engine_loop")
    assert found["inside_range"] is True
    assert found["class"] is None


@pytest.mark.req("1.13")
@pytest.mark.forbids
def test_steps_of_another_shape_are_not_compared() -> None:
    others = [
        step(1, 9.9, batch=2),
        step(2, 9.9, segment="cases"),
        step(3, 9.9, phase=StepPhase.mixed, prefill_tokens=64),
        step(4, 9.9, recomputed_tokens=3),
        step(5, 9.9, stored=4000),
    ]

    found = decode_row(observed(steps=others))

    assert found["measured"] is None
    assert "no load step decoded 1 at 64 to 88 tokens" in found["reason"]


@pytest.mark.req("13.08", "13.22")
def test_a_time_under_the_bound_is_a_parameter_error() -> None:
    # (537,919,488 + 77 x 46,080) B / 20 GB/s = 27.07 ms
    found = decode_row(observed(steps=[step(n, 0.020) for n in range(5)]))

    assert found["class"] == "parameter_error"
    assert "under the bound" in found["reason"]
    assert found["bound"] > found["measured"]


def test_a_time_inside_the_range_needs_no_explanation() -> None:
    found = decode_row(observed(steps=[step(n, 0.0385) for n in range(5)]))

    assert found["inside_range"] is True
    assert found["reason"] == "within the predicted range: nothing to explain"
    assert found["class"] is None


def test_outside_without_evidence_is_unexplained() -> None:
    found = decode_row(observed(steps=[step(n, 0.080) for n in range(5)]))

    assert (found["inside_range"], found["class"]) == (False, "unexplained")


@pytest.mark.req("13.22")
def test_like_steps_that_scatter_are_a_measurement_problem() -> None:
    times = [0.05, 0.05, 0.05, 0.12, 0.2, 0.3, 0.3, 0.3]

    found = decode_row(observed(steps=[step(n, t) for n, t in enumerate(times)]))

    assert found["class"] == "measurement_problem"
    assert "scatter" in found["reason"]


@pytest.mark.req("13.22", "13.27")
def test_growth_with_context_is_an_omission_with_its_statistics() -> None:
    # 25 steps from 64 to 88 stored tokens, each token 1 ms more than modelled
    steps = [step(n, 0.060 + 1e-3 * n, stored=64 + n) for n in range(25)]

    found = decode_row(observed(steps=steps))

    assert found["class"] == "model_omission"
    assert "grows with context" in found["reason"]
    assert "Kendall" in found["reason"]


@pytest.mark.req("13.22")
def test_a_declared_size_that_is_another_in_the_record_is_a_parameter_error() -> None:
    # 512 blocks were declared, the engine says 500
    memory = replace(NO_MEMORY, kv_total_blocks=500)

    found = row(observed(memory=memory), "kv_total_blocks")

    assert found["class"] == "parameter_error"
    assert "the declaration gives 512 1, the record 500" in found["reason"]


@pytest.mark.req("13.22", "13.27")
def test_a_class_by_a_pattern_says_what_would_settle_it() -> None:
    steps = [step(n, 0.060 + 1e-3 * n, stored=64 + n) for n in range(25)]

    found = decode_row(observed(steps=steps))

    assert "What would settle it: measure reads and copies of stored state" in found["reason"]


@pytest.mark.req("13.23")
@pytest.mark.forbids
def test_registered_parameters_are_never_tuned_to_absorb_a_residual() -> None:
    registered = predictions()
    before = canonical(registered)

    for seconds in (0.01, 0.0385, 0.2):
        residual_rows(registered, observed(steps=[step(n, seconds) for n in range(30)]))

    assert canonical(registered) == before
    steps = [step(n, 0.2) for n in range(30)]
    again = residual_rows(copy.deepcopy(registered), observed(steps=steps))
    assert again == residual_rows(registered, observed(steps=steps))


def ttft(seconds: float, **fields: Any) -> ObservedQuantities:
    first = {"ttft_client_ns": round(seconds * 1e9), "ttft_server_ns": round(seconds * 1e9)}
    return observed(attempts=[attempt(n, **(first | fields)) for n in range(4)])


@pytest.mark.req("10.13", "14.02")
def test_ttft_is_held_against_ttft_at_the_client() -> None:
    found = row(ttft(0.2), "ttft", segment="load")

    assert (found["measured"], found["layer"], found["n"]) == (0.2, "client_socket", 4)


@pytest.mark.req("10.13", "13.22")
def test_queueing_before_admission_is_named_when_it_makes_up_the_residual() -> None:
    found = row(ttft(5.0, queue_ns=4_000_000_000), "ttft", segment="load")

    assert found["class"] == "model_omission"
    assert "4000.0 ms passed between queued and scheduled" in found["reason"]


@pytest.mark.req("13.22")
def test_time_outside_the_engines_loop_is_named_when_it_makes_up_the_residual() -> None:
    found = row(ttft(5.0, ttft_server_ns=300_000_000), "ttft", segment="load")

    assert found["class"] == "model_omission"
    assert "outside the engine's loop" in found["reason"]


@pytest.mark.req("13.22")
def test_a_limited_client_is_a_measurement_problem_before_all_else() -> None:
    found = row(
        ttft(5.0, queue_ns=4_000_000_000),
        "ttft",
        segment="load",
        client_limited="the client's loop lagged by 300 ms",
    )

    assert (found["class"], found["reason"]) == (
        "measurement_problem",
        "the client's loop lagged by 300 ms",
    )


@pytest.mark.req("13.22")
def test_others_on_the_cores_are_a_measurement_problem_of_slow_times_only() -> None:
    sentence = "other processes took 40% of the machine's CPU time in the measured window"

    def decode(seconds: float) -> dict[str, Any]:
        found = observed(steps=[step(n, seconds) for n in range(5)])
        rows = residual_rows(predictions(), found, host_disturbed=sentence)
        return next(
            r for r in rows
            if r["quantity"] == "decode_step" and r["conditions"]["segment"] == "load"
            and r["conditions"]["batch"] == 1
        )  # fmt: skip

    assert (decode(0.2)["class"], decode(0.2)["reason"]) == ("measurement_problem", sentence)
    assert decode(0.01)["class"] == "parameter_error"  # nobody is faster for being disturbed
    assert "nothing to explain" in decode(0.0385)["reason"]


def test_time_to_the_last_token_follows_from_ttft_and_tpot() -> None:
    # 0.2 s + 23 x 0.05 s
    times = {"ttft_client_ns": 200_000_000, "tpot_ns": 50_000_000.0}
    done = [attempt(n, **times) for n in range(3)]
    cut = attempt(9, **times, client_state="cancelled")

    found = row(observed(attempts=[*done, cut]), "time_to_last_token", segment="load")

    assert found["measured"] == pytest.approx(1.35)
    assert found["n"] == 3


def test_memory_as_allocated_is_held_against_its_prediction() -> None:
    memory = ObservedMemory(
        weight_file_bytes=98362432,
        kv_bytes_allocated=377_487_360,
        kv_total_blocks=512,
        kv_peak_used_blocks=65,
        rss_peak_bytes=800_000_000,
    )
    found = observed(memory=memory)

    assert row(found, "kv_bytes_per_token")["relative"] == 0
    assert row(found, "kv_bytes_allocated")["inside_range"] is True
    assert row(found, "weight_file_bytes")["relative"] == 0
    # less than weights and pool together: pages that were never touched, or a wrong size
    assert row(found, "engine_rss_peak")["class"] == "parameter_error"


@pytest.mark.req("11.08")
@pytest.mark.forbids
def test_what_was_not_measured_stays_empty_with_its_reason() -> None:
    rows = residual_rows(predictions(), observed(has_engine_record=False))

    assert rows
    for one in rows:
        assert one["measured"] is None, one["quantity"]
        assert one["relative"] is None
        assert one["n"] == 0
        assert one["reason"].startswith("not measured: ")
        assert one["class"] is None


def test_recomputed_tokens_explain_a_difference_in_prompt_tokens() -> None:
    prompt = step(1, 0.3, phase=StepPhase.prefill, prefill_tokens=900, recomputed_tokens=100)

    found = row(observed(steps=[prompt]), "prompt_tokens", segment="load")

    assert (found["measured"], found["predicted"]) == (800, 1024)
    assert found["class"] == "model_omission"


def test_a_limit_that_was_not_reached_is_not_compared() -> None:
    quiet = row(observed(steps=[step(1, 0.04, batch=4)]), "concurrent_sequences_max")
    full = observed(steps=[step(1, 0.04, batch=8, waiting=2)])

    assert quiet["measured"] is None
    assert row(full, "concurrent_sequences_max")["measured"] == 8


@pytest.mark.req("11.07", "13.25")
def test_every_row_has_the_columns_of_the_table() -> None:
    found = observed(steps=[step(n, 0.04) for n in range(5)], memory=NO_MEMORY)
    rows = residual_rows(predictions(), found)
    columns = {
        "quantity", "conditions", "predicted", "range", "bound", "measured", "unit", "layer",
        "relative", "class", "validity", "reason", "overturned_by",
    }  # fmt: skip

    for one in rows:
        assert columns <= set(one)
        assert one["class"] in CLASSES | {None}
        assert one["validity"] in {"calibrated", "extrapolated"}
        assert len(one["reason"]) <= 400
    canonical(rows)


@pytest.mark.req("13.19")
@pytest.mark.forbids
def test_without_registered_predictions_nothing_is_predicted_afterwards() -> None:
    assert residual_rows(None, observed(steps=[step(1, 0.04)])) == []
