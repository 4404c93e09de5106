"""The table of a review's checklist: which requirement asks what, when it applies, who can answer.

Requirement ids are those of the source text's list. A question without a check is for people: it is about
what the statement claims, which no archive knows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from assay.review import checks
from assay.review.checks import Seen
from assay.review.facts import Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Asked once a review when it applies to any of its runs; checked on each of those."""

    key: str
    requirement: str
    text: str
    applies: Callable[[Facts], bool]
    check: Callable[[Facts], Seen | None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetQuestion:
    """Asked of two runs or more, about all of them together."""

    key: str
    requirement: str
    text: str
    check: Callable[[Sequence[Facts]], Seen] | None = None


def _always(_facts: Facts) -> bool:
    return True


def _has_artifact(facts: Facts) -> bool:
    return bool(facts.artifact)


def _predicted(facts: Facts) -> bool:
    return bool(facts.predictions and facts.predictions.get("predictions"))


def _uncalibrated(facts: Facts) -> bool:
    domains = (facts.clocks or {}).get("domains") or ()
    return any(d.get("calibration") == "uncalibrated" for d in domains)


def _path_untraced(facts: Facts) -> bool:
    items = (facts.identity or {}).get("run") or ()
    return not any(
        i.get("item") == "attention_gemm_backend" and i.get("strength") == "trace" for i in items
    )


def _one_at_a_time(facts: Facts) -> bool:
    return (facts.spec.get("load") or {}).get("concurrency") == 1


QUESTIONS: tuple[Question, ...] = (
    Question(
        key="contract",
        requirement="1.14",
        text="Was the task contract stored before the run?",
        applies=_always,
        check=checks.contract_declared,
    ),
    Question(
        key="denominators",
        requirement="1.08",
        text="Does every rate name its denominator?",
        applies=_always,
        check=checks.rates_name_their_denominator,
    ),
    Question(
        key="unit",
        requirement="1.09",
        text="Does the statement name its unit of completion (task, request or attempt)?",
        applies=_always,
    ),
    Question(
        key="boundary",
        requirement="2.01",
        text="Is the responsibility boundary declared in all six fields?",
        applies=_always,
        check=checks.boundary_declared,
    ),
    Question(
        key="mocked",
        requirement="2.06",
        text="Does the statement leave out the variability of the mocked dependencies?",
        applies=lambda facts: bool(checks.mocked_names(facts)),
    ),
    Question(
        key="light-load",
        requirement="2.12",
        text="Does the statement claim nothing about capacity or tails at high load from light load?",
        applies=_one_at_a_time,
    ),
    Question(
        key="connections",
        requirement="2.13",
        text="Does the load declare whether connections are reused?",
        applies=_always,
        check=checks.connection_reuse_declared,
    ),
    Question(
        key="rejections",
        requirement="2.14",
        text="Are rejected requests counted?",
        applies=_always,
        check=checks.rejections_counted,
    ),
    Question(
        key="one-way",
        requirement="3.10",
        text="Does the statement claim no one-way delay across clocks that were not calibrated?",
        applies=_uncalibrated,
    ),
    Question(
        key="perspective",
        requirement="3.13",
        text="Does every time carry its perspective, client or server?",
        applies=_always,
        check=checks.times_carry_their_perspective,
    ),
    Question(
        key="clocks",
        requirement="3.17",
        text="Does the clock convention name host, time namespace, clock, calibration and error bound?",
        applies=_always,
        check=checks.clocks_described,
    ),
    Question(
        key="revision",
        requirement="5.02",
        text="Is the artifact's revision immutable?",
        applies=_always,
        check=checks.revision_immutable,
    ),
    Question(
        key="files",
        requirement="5.03",
        text="Were the weight files hashed on disk before the run?",
        applies=_has_artifact,
        check=checks.files_hashed,
    ),
    Question(
        key="kv-heads",
        requirement="5.05",
        text="Is h_kv known, so that memory and capacity can be reviewed?",
        applies=_has_artifact,
        check=checks.kv_heads_known,
    ),
    Question(
        key="precisions",
        requirement="5.07",
        text="Are the precisions of weights, activations, accumulation and KV stated apart?",
        applies=_has_artifact,
        check=checks.precisions_apart,
    ),
    Question(
        key="template",
        requirement="5.10",
        text="Are tokenizer and chat template identified, each on its own?",
        applies=_has_artifact,
        check=checks.tokenizer_and_template_apart,
    ),
    Question(
        key="reproducibility",
        requirement="5.18",
        text="Which level of reproducibility is claimed (input, numeric, distribution, semantic), and "
        "where is evidence of that level?",
        applies=_always,
    ),
    Question(
        key="stand-in",
        requirement="5.26",
        text="Is the model that the statement names the very one that was served?",
        applies=_always,
    ),
    Question(
        key="kernel-path",
        requirement="7.12",
        text="Without a trace of the path: does the statement claim nothing about kernels or back ends?",
        applies=_path_untraced,
    ),
    Question(
        key="identity",
        requirement="7.15",
        text="Does the run identity hold all eight items with their evidence?",
        applies=_always,
        check=checks.eight_items_evidenced,
    ),
    Question(
        key="timeouts",
        requirement="8.03",
        text="Do requests that the client gave up have a server state of their own?",
        applies=lambda facts: facts.ended("timeout") > 0,
        check=checks.timeouts_have_server_states,
    ),
    Question(
        key="reconciliation",
        requirement="8.05",
        text="Do the counts of both sides reconcile, or is each difference explained?",
        applies=_always,
        check=checks.counts_reconcile,
    ),
    Question(
        key="cancellation",
        requirement="8.12",
        text="Has each of the five checks of a cancellation a result, or the entry 'not evidenced'?",
        applies=lambda facts: facts.ended("cancelled") > 0,
        check=checks.cancels_checked,
    ),
    Question(
        key="five-parts",
        requirement="9.01",
        text="Does the archive hold its five parts?",
        applies=_always,
        check=checks.five_parts_there,
    ),
    Question(
        key="four-cases",
        requirement="9.07",
        text="Does the archive cover its four cases?",
        applies=lambda facts: bool((facts.spec.get("workload") or {}).get("cases")),
        check=checks.four_cases_there,
    ),
    Question(
        key="levels",
        requirement="9.10",
        text="Does each measure state the level that limits it?",
        applies=_always,
        check=checks.conclusions_state_their_level,
    ),
    Question(
        key="level-claimed",
        requirement="9.11",
        text="Does the statement claim nothing above the level of its evidence?",
        applies=_always,
    ),
    Question(
        key="predictions",
        requirement="13.19",
        text="Were the predictions registered before the launch?",
        applies=_predicted,
        check=checks.predicted_before_launch,
    ),
    Question(
        key="sources",
        requirement="13.20",
        text="Does each parameter carry the source it rests on?",
        applies=_predicted,
        check=checks.parameters_have_sources,
    ),
    Question(
        key="residual-class",
        requirement="13.22",
        text="Does each residual outside its range belong to a class?",
        applies=checks.missed_predictions,
        check=checks.residuals_classed,
    ),
    Question(
        key="not-tuned",
        requirement="13.23",
        text="Was no parameter tuned to absorb a residual?",
        applies=checks.missed_predictions,
    ),
    Question(
        key="validity",
        requirement="13.25",
        text="Is each prediction marked calibrated or extrapolated?",
        applies=lambda facts: bool(facts.residuals),
        check=checks.ranges_marked,
    ),
    Question(
        key="record",
        requirement="14.01",
        text="Can somebody who was not there interpret the record: are its nine items there?",
        applies=_always,
        check=checks.record_complete,
    ),
    Question(
        key="together",
        requirement="14.07",
        text="Are throughput, p50, p95, p99 and the error rate reported together?",
        applies=_always,
        check=checks.reported_together,
    ),
    Question(
        key="raised-concurrency",
        requirement="14.08",
        text="Is no higher token rate by raised concurrency given for meeting a latency target?",
        applies=lambda facts: not _one_at_a_time(facts),
    ),
)

SET_QUESTIONS: tuple[SetQuestion, ...] = (
    SetQuestion(
        key="one-boundary",
        requirement="2.02",
        text="Were all runs measured under one definition of the system under test?",
        check=checks.one_boundary,
    ),
    SetQuestion(
        key="one-variable",
        requirement="5.13",
        text="Is each difference attributed to a single changed variable?",
    ),
    SetQuestion(
        key="field-by-field",
        requirement="5.24",
        text="Were the runs' identities compared field by field, and is each difference named?",
    ),
    SetQuestion(
        key="one-definition",
        requirement="6.10",
        text="Were all runs read by one version of the metric definitions?",
        check=checks.one_definition,
    ),
)
