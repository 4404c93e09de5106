"""What ran is compared field by field, beside what was declared."""

from typing import Any

import pytest

from assay.analysis.comparability.fields import ONE_SIDE_ONLY, FieldPair, identity_pair
from assay.analysis.comparability.record import Observed
from experiments.diff import Verdict
from experiments.output_cap import CapsReached
from tests.assay.analysis.comparability.runs import HOST, moved, observed, run


def of(path: str, left: Any, right: Any, **options: Any) -> FieldPair:
    found = identity_pair(left, right, **options)
    return next(f for f in found.fields if f.path == path)


def test_two_runs_of_one_declaration_differ_in_nothing_but_what_is_not_known() -> None:
    found = identity_pair(run("a"), run("b"))

    assert {f.verdict for f in found.fields} == {Verdict.same, Verdict.unknown}
    assert {f.path for f in found.with_verdict(Verdict.unknown)} == {
        "artifact.source.upstream_revision",
        "engine.environment.lock_sha256",
        "host.cpu_governor",
    }
    assert (found.moved, found.confounders) == ((), ())


@pytest.mark.req("5.24")
def test_what_ran_differently_without_a_declaration_is_a_confounder_of_its_own() -> None:
    left = run("a", observed=observed(attention_gemm_backend={"attention": "sdpa"}))
    right = run("b", observed=observed(attention_gemm_backend={"attention": "eager"}))

    found = identity_pair(left, right)

    assert [f.path for f in found.confounders] == ["ran.attention_gemm_backend.attention"]


def test_what_ran_follows_a_declared_variable_that_moved() -> None:
    left = run("a", "load.concurrency=2", observed=observed(precision_path={"dtype": "float32"}))
    right = run("b", observed=observed(precision_path={"dtype": "bfloat16"}))
    right = moved("b", "engine.settings.kv_blocks", 256, observed=right.observed)

    field = of("ran.precision_path.dtype", left, right)

    assert (field.verdict, field.follows) == (
        Verdict.declared_variable,
        "engine.settings.kv_blocks",
    )


def test_what_ran_follows_a_confounder_rather_than_a_variable() -> None:
    left = run("a", observed=observed(engine_version={"answered": "2.13.0"}))
    right = moved(
        "b",
        "engine.version",
        "2.12.0",
        observed=observed(engine_version={"answered": "2.12.0"}),
    )

    found = identity_pair(left, right)
    field = next(f for f in found.fields if f.path == "ran.engine_version.answered")

    assert (field.verdict, field.follows) == (Verdict.confounder, "engine.version")
    assert [f.path for f in found.confounders] == ["engine.version"]


@pytest.mark.req("5.24")
def test_an_item_that_one_run_does_not_know_is_unknown_with_its_reason() -> None:
    field = of("ran.parallel_layout", run("a"), run("b", observed=observed(parallel_layout=None)))

    assert field.verdict is Verdict.unknown
    assert field.note == "not known on the right: the engine does not say"


@pytest.mark.forbids
@pytest.mark.req("5.24")
def test_unknown_on_both_sides_is_never_the_same() -> None:
    left = run("a", observed=observed(parallel_layout=None))

    field = of("ran.parallel_layout", left, run("b", observed=observed(parallel_layout=None)))

    assert field.verdict is Verdict.unknown


def test_how_often_an_operator_was_profiled_is_no_identity_but_which_one_is() -> None:
    left = run("a", observed=observed(attention_gemm_backend={"gemm_operators": {"aten::mm": 484}}))
    more = run("b", observed=observed(attention_gemm_backend={"gemm_operators": {"aten::mm": 900}}))
    other = run(
        "c", observed=observed(attention_gemm_backend={"gemm_operators": {"aten::addmm": 484}})
    )

    path = "ran.attention_gemm_backend.gemm_operators"
    assert of(path, left, more).verdict is Verdict.same
    assert of(path, left, other).verdict is Verdict.confounder


def test_readings_of_the_host_are_not_compared() -> None:
    warm = {**HOST, "facts": {**HOST["facts"], "cpu_mhz": {"value": 3000.0, "role": "reading"}}}  # type: ignore[dict-item]

    found = identity_pair(run("a"), run("b", observed=observed(host=warm)))

    assert "host.cpu_mhz" not in {f.path for f in found.fields}


def test_a_missing_limit_is_no_limit_and_equals_another_one() -> None:
    assert of("host.cgroup_cpu_quota_cores", run("a"), run("b")).verdict is Verdict.same


def test_a_host_that_was_not_described_stands_as_one_unknown() -> None:
    found = identity_pair(run("a"), run("b", observed=observed(host=None)))

    hosts = [f for f in found.fields if f.path.startswith("host")]
    assert [(f.path, f.verdict) for f in hosts] == [("host", Verdict.unknown)]
    assert "does not describe its host" in hosts[0].note


def test_fields_that_only_one_record_names_stand_together() -> None:
    left = run("a", observed=observed(model_runner={"class": "Llama", "scheduler": "budget"}))
    right = run("b", observed=observed(model_runner={"runner": "V1"}))

    field = of(f"ran.model_runner: {ONE_SIDE_ONLY}", left, right)

    assert (field.left, field.right) == ("class, scheduler", "runner")
    assert field.verdict is Verdict.unknown


def test_packages_that_differ_are_named() -> None:
    changed = observed()
    packages = {"environments": [dict(e) for e in (changed.packages or {})["environments"]]}
    packages["environments"][1] |= {"packages": {"torch": "2.12.0", "numpy": "2.3.1"}}
    other = Observed(identity=changed.identity, host=changed.host, packages=packages)

    field = of("environment.engine", run("a"), run("b", observed=other))

    assert (field.left, field.right) == ("2 packages", "2 packages")
    assert field.note == "torch 2.13.0 and 2.12.0"
    assert field.verdict is Verdict.confounder


def test_a_client_whose_source_was_not_recorded_is_unknown() -> None:
    seen = observed()
    other = Observed(identity=seen.identity, host=seen.host, packages=seen.packages)

    field = of("client.source", run("a", observed=other), run("b", observed=other))

    assert field.verdict is Verdict.unknown
    assert "evidence.calibrate_client" in field.note


@pytest.mark.req("5.16")
def test_a_cap_that_nothing_reached_is_no_confounder() -> None:
    path = "workload.output_tokens"
    caps = CapsReached(left={path: 0}, right={path: 0})

    field = of(path, run("a"), moved("b", path, 64), caps=caps)

    assert field.verdict is Verdict.declared_variable
    assert field.note.startswith("same-tier comparison")


def test_a_declaration_of_no_known_version_is_unreadable_and_says_so() -> None:
    found = identity_pair(run("a"), moved("b", "schema_version", 99))

    assert found.declared is None
    assert "schema_version: 99" in found.unreadable[0]
    assert any(f.path == "artifact.verified" for f in found.fields)
