"""Iterations as distributions: the batch changes with every step."""

import pytest

from assay.analysis.observed import StepPhase
from assay.analysis.step_aggregates import step_aggregates
from tests.assay.analysis.engine import EngineLog, Reading, part
from tests.assay.analysis.observations import step
from tests.assay.analysis.streams import attempts, row


@pytest.mark.req("14.10")
def test_the_batch_is_kept_by_step_and_as_a_distribution() -> None:
    log = EngineLog()
    log.step(0, 10, part("a", 4, 1, 4), number=1)
    log.step(10, 10, part("a", 1, 1, 5), part("b", 4, 1, 4), number=2)
    log.step(20, 10, part("a", 1, 1, 6), part("b", 1, 1, 5), number=3)
    log.step(30, 10, part("b", 1, 1, 6), number=4)
    sent = attempts(row("sent", 0, "a"), row("sent", 0, "b"))

    steps = Reading(log, sent).iterations.steps
    found = step_aggregates(steps, segment="load", clock_domain="c", level="E2", seed=1)

    assert [s.batch for s in steps] == [1, 2, 2, 1]
    batch = {a["statistic"]: a for a in found if a["rule"] == "batch.server"}
    assert (batch["min"]["value"], batch["mean"]["value"], batch["max"]["value"]) == (1, 1.5, 2)
    assert batch["mean"]["n"] == 4
    assert batch["mean"]["denominator"] == "iterations"


def test_step_times_are_apart_by_phase() -> None:
    steps = [
        step(1, 0.020),
        step(2, 0.040),
        step(3, 0.500, phase=StepPhase.prefill),
    ]

    found = step_aggregates(steps, segment="load", clock_domain="c", level="E2", seed=1)

    means = {a["rule"]: a["value"] for a in found if a["statistic"] == "mean"}
    assert means["step.server.decode"] == pytest.approx(0.030)
    assert means["step.server.prefill"] == pytest.approx(0.500)
    assert "step.server.mixed" not in means
