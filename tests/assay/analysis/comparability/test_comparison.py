"""Who, over what, by how much: and when there is nothing to say, why."""

from dataclasses import replace
from typing import Any

import pytest

from assay.analysis.comparability.comparison import Comparison, Standing, compare_runs
from assay.analysis.comparability.document import comparison_document
from assay.analysis.comparability.record import RunRecord
from assay.analysis.comparability.wording import spread_words, verdict
from assay.analysis.errors import BadRecord
from experiments.diff import Verdict
from experiments.identity import artifact_digest
from tests.assay.analysis.comparability.runs import HOST, moved, observed, run
from tests.experiments.declarations import changed

OTHER = "b" * 64


def against(right: RunRecord, left: RunRecord | None = None) -> Comparison:
    return compare_runs([left or run("a"), right])


@pytest.mark.req("5.13", "5.24")
def test_one_declared_variable_carries_the_difference() -> None:
    found = against(run("b", "load.concurrency=1", ttft_s=0.05))

    assert found.standing is Standing.attributable
    assert verdict(found) == (
        "B differs from A in load.concurrency (4 and 1) alone, as far as is known."
    )
    (row,) = found.metrics
    (difference,) = row.differences
    assert difference is not None
    assert difference.relative == pytest.approx(-0.5)


@pytest.mark.forbids
@pytest.mark.req("5.13")
def test_two_variables_at_once_carry_no_attribution() -> None:
    found = against(run("b", "load.concurrency=1", "workload.input_tokens=128"))

    assert found.standing is Standing.joint
    assert found.pairs[0].attributed_to == ""
    assert "to none of them alone" in verdict(found)


def test_fields_of_one_group_that_moved_together_belong_to_the_group_as_a_whole() -> None:
    left = run("a", variables=frozenset({"engine.settings.dtype", "engine.settings.kv_dtype"}))
    right = moved("b", "engine.settings.dtype", "bfloat16")
    right = replace(right, spec=changed(dict(right.spec), "engine.settings.kv_dtype", "bfloat16"))

    found = against(right, left)

    assert found.standing is Standing.joint
    assert found.pairs[0].attributed_to == "engine as a whole"


@pytest.mark.forbids
@pytest.mark.req("5.24")
def test_a_confounder_leaves_a_difference_that_belongs_to_nothing() -> None:
    found = against(run("b", observed=observed(host={**HOST, "fingerprint": "0" * 16})))

    assert found.standing is Standing.confounded
    assert found.metrics
    assert "host.fingerprint" in verdict(found)
    assert "a difference belongs to nothing" in verdict(found)


@pytest.mark.forbids
@pytest.mark.req("5.26")
def test_a_conversion_is_another_artifact_and_said_to_be_one() -> None:
    left = run("a")
    right = moved("b", "artifact.files.0.sha256", OTHER)
    parent = {"digest": artifact_digest(left.spec["artifact"]), "recipe": "cast", "tools": {}}
    right = replace(right, spec=changed(dict(right.spec), "artifact.parent", parent))

    found = against(right, left)

    assert found.standing is Standing.confounded
    assert any("is a conversion of" in reason for reason in found.pairs[0].because)


def test_repetitions_are_one_side_with_nothing_to_compare() -> None:
    found = compare_runs([run("a1", ttft_s=0.1), run("a2", ttft_s=0.12)])

    assert (found.standing, found.pairs) == (Standing.repeated, ())
    assert "One configuration in 2 runs" in verdict(found)
    assert spread_words(found) == "fresh starts: A 2"


@pytest.mark.forbids
@pytest.mark.req("2.02")
def test_different_systems_under_test_are_not_compared() -> None:
    found = against(moved("b", "boundary.sut", "engine and gateway"))

    assert found.standing is Standing.refused
    assert (found.metrics, found.residuals) == ((), ())
    (refusal,) = found.refusals
    assert refusal.field == "boundary.sut"
    assert "engine and gateway" in refusal.seen
    assert "only within the boundary in which it was measured" in refusal.remedy


@pytest.mark.forbids
@pytest.mark.req("5.13")
def test_template_and_tools_together_leave_only_that_the_complete_input_differs() -> None:
    right = moved("b", "artifact.chat_template.sha256", OTHER)
    tools = {"sha256": OTHER, "names": ["search"]}
    right = replace(right, spec=changed(dict(right.spec), "artifact.tools", tools))

    found = against(right)

    assert found.metrics == ()
    (refusal,) = found.refusals
    assert refusal.seen == "complete model input differs (A and B: chat template, tools)"


@pytest.mark.req("5.13")
def test_a_template_alone_is_a_confounder_and_no_refusal() -> None:
    found = against(moved("b", "artifact.chat_template.sha256", OTHER))

    assert found.standing is Standing.confounded


@pytest.mark.forbids
@pytest.mark.req("1.06")
def test_generation_and_scoring_share_no_metric() -> None:
    found = against(moved("b", "workload.call_type", "rerank"))

    assert [r.field for r in found.refusals] == ["workload.call_type"]


@pytest.mark.forbids
@pytest.mark.req("14.03")
def test_two_definition_versions_are_not_compared() -> None:
    found = against(run("b", definition_version="2026.11.1"))

    assert [r.field for r in found.refusals] == ["definition version"]
    assert "2026.11.1" in found.refusals[0].seen


@pytest.mark.parametrize("state", ["failed", "lost", "aborted", "running"])
def test_a_run_that_is_not_sealed_whole_is_not_compared(state: str) -> None:
    found = against(run("b", state=state))

    assert [(r.field, r.seen) for r in found.refusals] == [("run b", state)]


def test_a_run_that_nobody_read_is_not_compared() -> None:
    unread: dict[str, Any] = {
        "definition_version": None,
        "no_reading": "its bundle waits to be read",
    }

    found = against(run("b", numbers=(), **unread))

    assert found.refusals[0].seen == "its bundle waits to be read"


def test_a_declaration_of_another_version_is_refused_in_its_own_words() -> None:
    found = against(moved("b", "schema_version", 99))

    assert "schema_version: 99" in found.refusals[0].seen


def test_eight_runs_have_eight_sides_and_seven_differences() -> None:
    runs = [run(f"r{n}", f"load.concurrency={n + 1}", ttft_s=0.1 * (n + 1)) for n in range(8)]

    found = compare_runs(runs)

    assert "".join(side.letter for side in found.sides) == "ABCDEFGH"
    (row,) = found.metrics
    assert len(row.differences) == 7
    assert verdict(found) == (
        "B to H each differ from A in load.concurrency (1; 2, 3, 4, 5, 6, 7, 8) alone, "
        "as far as is known."
    )
    moved_row = next(row for row in found.fields if row.path == "load.concurrency")
    assert moved_row.values == (1, 2, 3, 4, 5, 6, 7, 8)
    assert moved_row.verdict is Verdict.declared_variable


def test_the_worst_pair_names_the_whole() -> None:
    found = compare_runs(
        [run("a"), run("b", "load.concurrency=1"), moved("c", "engine.version", "2.12.0")]
    )

    assert [pair.standing for pair in found.pairs] == [Standing.attributable, Standing.confounded]
    assert found.standing is Standing.confounded


@pytest.mark.parametrize(
    ("runs", "seen"),
    [
        ([run("a")], "1 runs"),
        ([run("a"), run("a")], "a twice"),
        ([run(str(n)) for n in range(9)], "9"),
    ],
)
def test_fewer_than_two_runs_more_than_eight_or_one_twice_are_refused(
    runs: list[RunRecord], seen: str
) -> None:
    with pytest.raises(BadRecord) as refused:
        compare_runs(runs)

    assert seen in refused.value.finding.seen


def test_the_document_is_keyed_by_the_letters_of_its_sides() -> None:
    found = comparison_document(against(run("b", "load.concurrency=1", ttft_s=0.05)))

    assert (found["standing"], found["refusals"]) == ("attributable", [])
    assert found["starts"] == "one start each: start-to-start spread unknown"
    (metric,) = found["metrics"]
    assert metric["values"]["A"]["interval_kind"].endswith("within this start")
    assert metric["differences"]["B"]["interval"] is None
    assert metric["differences"]["B"]["no_interval"] == found["starts"]
    assert found["populations"]["A"] == {
        "group": "segment load",
        "offered": 24,
        "states": {"completed": 24},
        "input_tokens": {"low": 64, "median": 64, "high": 64, "n": 24, "of": 24},
        "output_tokens": {"low": 24, "median": 24, "high": 24, "n": 24, "of": 24},
        "cached_share": 0.0,
        "at_cap": {"workload.output_tokens": 24},
    }
