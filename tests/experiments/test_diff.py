"""Two declarations are compared field by field, and only what they carry is said."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from experiments.diff import COMPLETE_INPUT_DIFFERS, Verdict, compare
from experiments.identity import artifact_digest
from experiments.output_cap import CapsReached
from tests.experiments.declarations import changed, example

GOLDEN = Path(__file__).resolve().parents[1] / "data" / "golden" / "book_examples.yaml"
OTHER = "b" * 64


def verdicts(left: dict[str, Any], right: dict[str, Any], **options: Any) -> dict[str, Verdict]:
    compared = compare(left, right, **options)
    return {f.path: f.verdict for f in compared.fields if f.verdict is not Verdict.same}


@pytest.mark.req("5.24")
def test_equal_declarations_differ_only_in_what_is_not_known() -> None:
    compared = compare(example(), example())

    unknown = {f.path for f in compared.with_verdict(Verdict.unknown)}
    assert unknown == {"artifact.source.upstream_revision", "engine.environment.lock_sha256"}
    assert len(compared.with_verdict(Verdict.same)) == len(compared.fields) - 2
    assert all("unknown never equals unknown" in c for c in compared.conditions)


def test_names_and_ports_are_not_compared() -> None:
    paths = {f.path for f in compare(example(), example()).fields}

    assert not {p for p in paths if p.startswith("study.")}
    assert not paths & {"artifact.name", "engine.port", "workload.name"}


@pytest.mark.req("5.13")
def test_one_declared_variable_carries_the_attribution() -> None:
    compared = compare(example("load.concurrency=1"), example("load.concurrency=4"))

    assert compared.attributable_to == "load.concurrency"
    assert compared.reasons == ()


@pytest.mark.forbids
@pytest.mark.req("5.13")
def test_two_moved_variables_carry_no_attribution() -> None:
    compared = compare(
        example("load.concurrency=1"), example("load.concurrency=4", "workload.input_tokens=128")
    )

    assert compared.attributable_to is None
    assert "2 declared variables moved at once" in compared.reasons[-1]


@pytest.mark.req("5.24")
@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("artifact.files.0.sha256", OTHER),
        ("artifact.precision.weights.dtype", "Q4_0"),
        ("artifact.chat_template.sha256", OTHER),
        ("artifact.generation.stop", ["\n"]),
        ("engine.version", "2.12.0"),
    ],
)
def test_an_undeclared_difference_is_a_confounder_with_its_field_named(
    path: str, value: Any
) -> None:
    left = example()

    compared = compare(left, changed(left, path, value))

    assert [f.path for f in compared.with_verdict(Verdict.confounder)] == [path]
    assert any(path in reason for reason in compared.reasons)
    assert compared.attributable_to is None


def test_what_the_study_moved_on_purpose_is_a_declared_variable() -> None:
    left = example()
    right = changed(left, "engine.version", "2.12.0")

    assert verdicts(left, right, declared=["engine.version"])["engine.version"] is (
        Verdict.declared_variable
    )


def test_unknown_on_one_side_is_unknown_and_says_which() -> None:
    left = changed(example(), "artifact.source.upstream_revision", "1" * 40)

    field = next(
        f for f in compare(left, example()).fields if f.path == "artifact.source.upstream_revision"
    )

    assert field.verdict is Verdict.unknown
    assert "not known on the right" in field.note


def test_a_null_that_means_none_equals_a_null() -> None:
    assert "load.rate_per_s" not in verdicts(example(), example())


def test_a_node_on_one_side_only_is_compared_by_its_fields() -> None:
    left = example()
    right = changed(left, "workload.cases.0.cancel", {"after_chunks": 3, "after_s": None})

    changed_fields = {
        f.path: (f.left, f.right) for f in compare(left, right).with_verdict(Verdict.confounder)
    }

    assert changed_fields["workload.cases.0.cancel.after_chunks"] == ("not declared", 3)
    assert "workload.cases.0.cancel" not in changed_fields


@pytest.mark.req("5.10", "5.13")
def test_template_alone_supports_a_statement_on_templates() -> None:
    left = example()

    compared = compare(left, changed(left, "artifact.chat_template.sha256", OTHER))

    assert compared.model_input == "chat template differs"


@pytest.mark.req("5.13")
def test_tools_alone_support_a_statement_on_tools() -> None:
    left = example()

    compared = compare(
        left, changed(left, "artifact.tools", {"sha256": OTHER, "names": ["search"]})
    )

    assert compared.model_input == "tool definitions differ"


@pytest.mark.forbids
@pytest.mark.req("5.13")
def test_template_and_tools_together_support_no_statement_on_either() -> None:
    cases = {e["id"]: e for e in yaml.safe_load(GOLDEN.read_text(encoding="utf-8"))["examples"]}
    rule = cases["ch1.3.2-tool-schema"]["rule"]
    left = example()
    right = changed(left, "artifact.chat_template.sha256", OTHER)
    right["artifact"]["tools"] = {"sha256": OTHER, "names": ["search"]}

    compared = compare(left, right)

    assert compared.model_input == COMPLETE_INPUT_DIFFERS
    assert COMPLETE_INPUT_DIFFERS in rule
    assert compared.attributable_to is None
    assert not any(
        "chat template differs" in r or "tool definitions differ" in r for r in compared.reasons
    )


def test_a_conversion_and_its_parent_are_told_apart() -> None:
    parent = example()
    child = changed(parent, "artifact.files.0.sha256", OTHER)
    child["artifact"]["parent"] = {
        "digest": artifact_digest(parent["artifact"]),
        "recipe": "requantize",
        "tools": {"llama.cpp": "b4000"},
    }

    forward, backward = compare(child, parent), compare(parent, child)

    assert forward.conversion is not None
    assert forward.conversion.startswith("the left artifact is a conversion of the right one")
    assert "llama.cpp b4000" in forward.conversion
    assert backward.conversion is not None
    assert backward.conversion.startswith("the right artifact is a conversion")
    assert forward.conversion in forward.reasons


@pytest.mark.forbids
@pytest.mark.req("5.01", "5.26")
def test_a_stand_in_under_the_same_name_is_another_artifact() -> None:
    left = example()
    right = changed(left, "artifact.files.0.sha256", OTHER)
    right["artifact"]["config"]["h_kv"] = 9
    assert right["artifact"]["name"] == left["artifact"]["name"]

    compared = compare(left, right)

    named = {f.path for f in compared.with_verdict(Verdict.confounder)}
    assert named == {"artifact.files.0.sha256", "artifact.config.h_kv"}
    assert compared.attributable_to is None
    assert artifact_digest(left["artifact"]) != artifact_digest(right["artifact"])


@pytest.mark.forbids
@pytest.mark.req("2.02")
def test_different_systems_under_test_are_not_compared() -> None:
    left = example()

    compared = compare(left, changed(left, "boundary.sut", "engine and gateway"))

    assert any("not compared or merged" in reason for reason in compared.reasons)
    assert compared.attributable_to is None


@pytest.mark.req("1.06")
def test_runs_of_two_call_types_are_not_attributed_to_anything() -> None:
    found = compare(example(), changed(example(), "workload.call_type", "rerank"))

    assert [f.path for f in found.with_verdict(Verdict.confounder)] == ["workload.call_type"]
    assert found.attributable_to is None


@pytest.mark.req("5.16")
def test_an_output_cap_that_the_study_moved_is_a_controlled_variable() -> None:
    left, right = example("workload.output_tokens=24"), example("workload.output_tokens=64")

    field = cap_field(left, right, declared=["workload.output_tokens"])

    assert (field.verdict, field.note) == (Verdict.declared_variable, "controlled variable")


@pytest.mark.req("5.16", "5.17")
def test_a_cap_that_no_output_reached_leaves_a_same_tier_comparison() -> None:
    left, right = example("workload.output_tokens=24"), example("workload.output_tokens=64")
    caps = CapsReached(left={"workload.output_tokens": 0}, right={"workload.output_tokens": 0})

    field = cap_field(left, right, caps=caps)

    assert field.verdict is Verdict.declared_variable
    assert field.note.startswith("same-tier comparison")


@pytest.mark.req("5.16")
def test_a_cap_that_outputs_reached_stratifies_the_comparison() -> None:
    left, right = example("workload.output_tokens=24"), example("workload.output_tokens=64")
    caps = CapsReached(left={"workload.output_tokens": 9}, right={"workload.output_tokens": 0})

    field = cap_field(left, right, caps=caps)

    assert field.verdict is Verdict.confounder
    assert field.note.startswith("stratified comparison: 9 outputs on the left and 0 on the right")


@pytest.mark.forbids
@pytest.mark.req("5.17")
def test_a_cap_alone_never_makes_a_comparison_impossible() -> None:
    left, right = example("workload.output_tokens=24"), example("workload.output_tokens=64")

    for caps in (None, CapsReached(left={"workload.output_tokens": 3}, right={})):
        compared = compare(left, right, caps=caps)

        assert cap_field(left, right, caps=caps).verdict is Verdict.unknown
        assert not any("not compared" in reason for reason in compared.reasons)


def cap_field(left: dict[str, Any], right: dict[str, Any], **options: Any) -> Any:
    compared = compare(left, right, **options)
    return next(f for f in compared.fields if f.path == "workload.output_tokens")
