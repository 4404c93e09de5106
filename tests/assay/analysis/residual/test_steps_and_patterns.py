"""Every decode step against the forecast: coverage, and patterns with their statistics."""

import random

import pytest

from assay.analysis.predictions import build_predictions
from assay.analysis.residual.patterns import patterns
from assay.analysis.residual.shares import wilson
from assay.analysis.residual.steps import (
    StepResidual,
    held_out_coverage,
    step_residuals,
)
from assay.analysis.residuals import residual_rows
from runners.protocol.documents import PredictionsDocument
from tests.assay.analysis import benchmarks
from tests.assay.analysis.observations import observed, step
from tests.assay.analysis.run_specs import PLAN_DIGEST, spec

AT_76 = 38.167814e-3  # forecast of one sequence with 76 stored tokens, worked in test_residuals


def predictions() -> PredictionsDocument:
    return build_predictions(spec(), {"plan_digest": PLAN_DIGEST}, [benchmarks.document()], "t")


def residual(number: int, relative: float, *, batch: int = 1, stored: int = 100) -> StepResidual:
    return StepResidual(
        number=number,
        batch=batch,
        stored_tokens=stored,
        measured_s=0.04 * (1 + relative),
        predicted_s=0.04,
        low_s=0.035,
        high_s=0.045,
    )


def test_a_step_is_held_against_its_own_context() -> None:
    # 100 stored tokens: 24 more than the row's 76, at 9.216 us each
    (found,) = step_residuals(predictions(), observed(steps=[step(1, 0.05, stored=100)]))

    assert found.predicted_s == pytest.approx(AT_76 + 24 * 9.216e-6, rel=1e-6)
    assert found.stored_tokens == 100


def test_a_batch_without_a_registered_row_is_skipped_and_counted() -> None:
    steps = [step(1, 0.039), step(2, 0.2, batch=7)]

    found = held_out_coverage(predictions(), observed(steps=steps))

    assert found is not None
    assert (found.n, found.skipped) == (1, 1)


@pytest.mark.req("13.24")
def test_coverage_is_the_share_of_held_out_steps_in_their_range() -> None:
    # three inside, one at double the forecast
    steps = [step(1, AT_76), step(2, AT_76), step(3, AT_76), step(4, 2 * AT_76)]

    found = held_out_coverage(predictions(), observed(steps=steps))

    assert found is not None
    assert (found.n, found.inside, found.share, found.nominal) == (4, 3, 0.75, 0.9)
    assert found.median_error == pytest.approx(0, abs=1e-6)
    assert found.worst_error == pytest.approx(1.0, rel=1e-6)
    assert found.worst_step == 4


@pytest.mark.req("13.24")
@pytest.mark.forbids
def test_steps_used_to_calibrate_do_not_count_as_held_out() -> None:
    steps = [step(1, AT_76), step(2, AT_76), step(3, 2 * AT_76)]

    found = held_out_coverage(
        predictions(), observed(steps=steps), calibration_steps=frozenset({1, 2})
    )

    assert found is not None
    assert (found.n, found.inside) == (1, 0)
    all_used = frozenset({1, 2, 3})
    assert (
        held_out_coverage(predictions(), observed(steps=steps), calibration_steps=all_used) is None
    )


def test_the_table_carries_coverage_beside_the_error() -> None:
    rows = residual_rows(predictions(), observed(steps=[step(n, 2 * AT_76) for n in range(40)]))

    (found,) = [r for r in rows if r["quantity"] == "decode_step_coverage"]
    assert (found["predicted"], found["measured"], found["n"]) == (0.9, 0.0, 40)
    assert "the ranges claim more than they hold" in found["reason"]
    assert found["conditions"]["median_error"] == pytest.approx(1.0, rel=1e-6)


def test_wilson_interval_of_nine_in_ten() -> None:
    # centre (0.9 + 1.96^2/20) / (1 + 1.96^2/10) = 0.7890; half-width 0.1931
    low, high = wilson(9, 10)

    assert low == pytest.approx(0.5958, abs=1e-3)
    assert high == pytest.approx(0.9821, abs=1e-3)
    assert wilson(0, 5)[0] == 0
    assert wilson(5, 5)[1] == 1


@pytest.mark.req("13.27")
def test_clear_growth_with_context_is_found() -> None:
    found = patterns([residual(n, 0.01 * n, stored=100 + n) for n in range(30)])

    assert [p.kind for p in found] == ["context"]
    # 0.4 ms a step over 29 steps of 40 ms: 29%
    assert found[0].effect == pytest.approx(0.29, rel=1e-6)


@pytest.mark.req("13.27")
def test_a_fixed_cost_shows_at_small_batch() -> None:
    steps = [residual(n, 0.4, batch=1) for n in range(15)]
    steps += [residual(100 + n, 0.05, batch=4) for n in range(15)]

    assert [p.kind for p in patterns(steps)] == ["small_batch"]


@pytest.mark.req("13.27")
def test_a_jump_to_another_shape_is_found() -> None:
    steps = [residual(n, 0.02 + 0.001 * n, batch=2) for n in range(10)]
    steps += [residual(100 + n, 0.5 + 0.001 * n, batch=3) for n in range(10)]

    (found,) = patterns(steps)

    assert (found.kind, found.batch) == ("jump", 3)


def test_harmless_noise_is_no_pattern() -> None:
    draw = random.Random(7)
    steps = [residual(n, draw.gauss(0, 0.05), batch=1 + n % 4, stored=50 + n) for n in range(200)]

    assert patterns(steps) == []


def test_a_significant_but_tiny_slope_is_no_pattern() -> None:
    assert patterns([residual(n, 0.0001 * n, stored=100 + n) for n in range(30)]) == []


def test_a_step_hidden_in_strong_noise_is_not_claimed() -> None:
    draw = random.Random(11)
    steps = [residual(n, draw.gauss(0, 2.0) + 0.01 * n, stored=100 + n) for n in range(30)]

    assert [p for p in patterns(steps) if p.kind == "context"] == []


@pytest.mark.req("13.27")
def test_a_step_down_to_a_larger_shape_is_a_jump_when_no_fixed_cost_explains_it() -> None:
    # as modelled at 1 and 2 rows, a third faster from 4 rows on: another kernel
    steps = [residual(n, 0.001 * n, batch=1) for n in range(10)]
    steps += [residual(50 + n, 0.001 * n, batch=2) for n in range(10)]
    steps += [residual(100 + n, -0.33 + 0.001 * n, batch=4) for n in range(10)]

    (found,) = [p for p in patterns(steps) if p.kind == "jump"]
    assert (found.batch, round(found.effect, 2)) == (4, -0.33)


def test_each_pattern_names_its_class_and_what_would_settle_it() -> None:
    (found,) = patterns([residual(n, 0.01 * n, stored=100 + n) for n in range(30)])

    assert found.supports == "model_omission"
    assert "assay device measure" in found.verification
    # here the context grows with every step, so that drift over time would look the same
    assert "context and time moved together" in found.verification


def test_context_that_returns_is_told_apart_from_time() -> None:
    steps = [
        residual(30 * again + n, 0.01 * n, stored=100 + n) for again in range(4) for n in range(30)
    ]

    (found,) = patterns(steps)
    assert "moved together" not in found.verification


@pytest.mark.forbids
def test_many_questions_make_each_answer_harder() -> None:
    # One batch in forty drifts a little over its 20 steps: alone it is significant, among forty it is not.
    draw = random.Random(5)
    weak = [
        residual(n, draw.gauss(0, 0.12) + 0.016 * n, batch=1, stored=100 + n) for n in range(20)
    ]
    noise = [
        residual(1000 * b + n, draw.gauss(0, 0.12), batch=b, stored=100 + n)
        for b in range(2, 41)
        for n in range(20)
    ]

    assert [p.kind for p in patterns(weak)] == ["context"]
    assert [p for p in patterns([*weak, *noise]) if p.kind == "context"] == []


def test_pure_noise_over_many_batches_shows_no_pattern_in_fifty_runs() -> None:
    # 8 batches, hence 16 questions a run at 1 %: unadjusted, some 8 of 50 runs would claim something
    draw = random.Random(17)
    claimed = 0
    for _ in range(50):
        steps = [
            residual(n, draw.gauss(0, 0.4), batch=1 + n % 8, stored=100 + n // 8)
            for n in range(160)
        ]
        claimed += bool(patterns(steps))

    assert claimed <= 1


def test_too_few_steps_show_nothing() -> None:
    assert patterns([residual(n, 0.1 * n, stored=100 + n) for n in range(19)]) == []
