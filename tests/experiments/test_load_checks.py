"""Which loads can be offered as declared."""

from typing import Any

import pytest

from experiments.checks.policy import Policy
from experiments.compose import compose
from experiments.migrations import migrate
from experiments.plan import check
from tests.experiments.declarations import STUDY, changed, example

ROOTS = Policy(artifact_roots=("/srv/traces",))
TRACE = {
    "path": "/srv/traces/a.jsonl",
    "sha256": "0" * 64,
    "format": "mooncake",
    "speed": 1.0,
    "start_s": 0.0,
    "lengths": "workload",
    "max_input_tokens": None,
    "max_output_tokens": None,
    "empty_rows": "refuse",
}
RAMP = {"from_rate_per_s": 1.0, "to_rate_per_s": 2.0, "duration_s": 3.0, "spacing": "even"}
STAGE = {
    "rate_per_s": None,
    "concurrency": 2,
    "duration_s": 5.0,
    "requests": None,
    "spacing": "even",
}
SATURATION = {"span_s": 10.0, "level": 0.01, "growth_share": 0.1}


def load(kind: str, **fields: Any) -> dict[str, Any]:
    """The example with a load of this kind: whatever paced it before is taken away."""
    document = example()
    document["load"] |= {"concurrency": None, "rate_per_s": None, "kind": kind, **fields}
    return document


def fields_of(document: dict[str, Any]) -> list[str]:
    return [finding.field for finding in check(document, policy=ROOTS)]


GOOD = [
    load("closed", concurrency=2),
    load("closed", concurrency=2, think_time_s=0.5, think_time="exponential"),
    load("closed", concurrency=2, think_time_s=0.5, think_time="lognormal", think_cv=2.0),
    load("gamma", rate_per_s=2.0, burstiness=0.25),
    load("burst"),
    load("ramp", ramp=RAMP),
    load("ramp", ramp=RAMP | {"from_rate_per_s": 0.0}),
    load("staged", stages=[STAGE, STAGE | {"duration_s": None, "requests": 3}]),
    load(
        "staged",
        stages=[
            STAGE | {"concurrency": None, "rate_per_s": 2.0},
            STAGE | {"concurrency": None, "rate_per_s": 0.0},
        ],
    ),
    load("trace", trace=TRACE),
    load("trace", trace=TRACE | {"lengths": "trace", "max_input_tokens": 64}),
]


@pytest.mark.parametrize("document", GOOD, ids=[d["load"]["kind"] for d in GOOD])
def test_each_kind_of_load_can_be_declared(document: dict[str, Any]) -> None:
    assert fields_of(document) == []


@pytest.mark.forbids
@pytest.mark.parametrize(
    ("document", "field"),
    [
        (load("gamma", rate_per_s=2.0), "load.burstiness"),
        (load("gamma", rate_per_s=2.0, burstiness=0.0), "load.burstiness"),
        (load("gamma", rate_per_s=float("inf"), burstiness=1.0), "load.rate_per_s"),
        (load("poisson", rate_per_s=2.0, burstiness=0.5), "load.burstiness"),
        (load("burst", rate_per_s=2.0), "load.rate_per_s"),
        (load("ramp"), "load.ramp"),
        (load("ramp", ramp=RAMP | {"duration_s": 0.0}), "load.ramp.duration_s"),
        (load("ramp", ramp=RAMP | {"to_rate_per_s": -1.0}), "load.ramp.to_rate_per_s"),
        (load("ramp", ramp=RAMP | {"from_rate_per_s": 0, "to_rate_per_s": 0}), "load.ramp"),
        (load("closed", concurrency=2, ramp=RAMP), "load.ramp"),
        (load("staged"), "load.stages"),
        (load("staged", stages=[STAGE, STAGE | {"concurrency": 0}]), "load.stages.1.concurrency"),
        (load("staged", stages=[STAGE | {"requests": 3}]), "load.stages.0"),
        (load("staged", stages=[STAGE | {"duration_s": None}]), "load.stages.0"),
        (load("staged", stages=[STAGE | {"duration_s": -1.0}]), "load.stages.0.duration_s"),
        (load("staged", stages=[STAGE | {"rate_per_s": 1.0}]), "load.stages.0"),
        (
            load("staged", stages=[STAGE, STAGE | {"concurrency": None, "rate_per_s": 1.0}]),
            "load.stages",
        ),
        (
            load(
                "staged",
                stages=[
                    STAGE
                    | {"concurrency": None, "rate_per_s": 0.0, "duration_s": None, "requests": 2}
                ],
            ),
            "load.stages.0.rate_per_s",
        ),
        (load("trace"), "load.trace"),
        (load("trace", trace=TRACE | {"path": "/etc/passwd"}), "load.trace.path"),
        (load("trace", trace=TRACE | {"path": "/srv/traces/../x"}), "load.trace.path"),
        (load("trace", trace=TRACE | {"path": "a.jsonl"}), "load.trace.path"),
        (load("trace", trace=TRACE | {"sha256": "unknown"}), "load.trace.sha256"),
        (load("trace", trace=TRACE | {"speed": 0.0}), "load.trace.speed"),
        (load("trace", trace=TRACE | {"start_s": -1.0}), "load.trace.start_s"),
        (load("trace", trace=TRACE | {"max_input_tokens": 8}), "load.trace.max_input_tokens"),
        (load("poisson", rate_per_s=1.0, think_time_s=1.0), "load.think_time_s"),
        (load("closed", concurrency=1, think_time="exponential"), "load.think_time"),
        (
            load("closed", concurrency=1, think_time_s=1.0, think_time="lognormal"),
            "load.think_cv",
        ),
        (load("closed", concurrency=1, think_cv=1.0), "load.think_cv"),
    ],
)
def test_a_load_that_cannot_be_offered_is_refused_by_its_field(
    document: dict[str, Any], field: str
) -> None:
    assert field in fields_of(document)


@pytest.mark.forbids
@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("load.stop.max_duration_s", 0.0),
        ("load.stop.max_requests", 0),
        ("load.stop.max_errors", -1),
        ("load.stop.max_error_share", 1.0),
        ("load.stop.error_share_after", 0),
        ("load.stop.saturation", SATURATION),  # the example is a closed loop
        ("load.drain_s", float("inf")),
        ("load.retry.backoff_max_s", -1.0),
        ("load.retry.deadline_s", 1.0),
        ("load.retry.give_up", "deadline"),
        ("load.retry.give_up", "budget"),
    ],
)
def test_a_bound_that_cannot_be_kept_is_refused(path: str, value: Any) -> None:
    found = fields_of(changed(example(), path, value))

    assert any(field.startswith(path.rpartition(".")[0]) for field in found)


@pytest.mark.parametrize("name", ["span_s", "level", "growth_share"])
def test_a_saturation_rule_must_be_able_to_tell(name: str) -> None:
    document = load("poisson", rate_per_s=1.0)
    document["load"]["stop"]["saturation"] = SATURATION | {name: 1.0}

    assert fields_of(document) == [f"load.stop.saturation.{name}"]


def test_an_older_load_gets_no_stop_rule_and_retries_as_it_did() -> None:
    old = example()
    before = {k: old["load"].pop(k) for k in ("stop", "stages", "trace", "ramp", "burstiness")}
    old["schema_version"] = 1

    new = migrate(old)["load"]

    assert {name: new[name] for name in before} == before
    assert (new["think_time"], new["retry"]["retry_after"]) == ("constant", "ignore")


@pytest.mark.parametrize("choice", ["gamma", "at_once", "staged"])
def test_the_shipped_examples_can_be_planned(choice: str) -> None:
    document = dict(compose([STUDY, f"load={choice}"]).document)

    assert check(document) == []


def with_load_workers(workers: int, **workload: Any) -> dict[str, Any]:
    document = load("closed", concurrency=4, processes=2, workers=workers)
    document["workload"] |= workload
    return document


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_each_load_worker_sends_for_one_of_the_processes(workers: int) -> None:
    assert fields_of(with_load_workers(workers)) == []


@pytest.mark.forbids
@pytest.mark.parametrize("workers", [-1, 3])
def test_more_load_workers_than_processes_are_refused(workers: int) -> None:
    [finding] = check(with_load_workers(workers), policy=ROOTS)

    assert (finding.field, finding.seen) == ("load.workers", str(workers))
    assert finding.allowed == "0 to load.processes (2)"


@pytest.mark.forbids
def test_requests_that_follow_others_are_sent_by_one_clock() -> None:
    study = ["study=smollm2_session", "load.processes=2", "load.concurrency=2", "load.workers=1"]
    document = compose(study).document

    [finding] = [f for f in check(document, policy=ROOTS) if f.field == "load.workers"]
    assert "follow others" in finding.allowed
