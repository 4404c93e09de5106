"""What may be made of a record: words until a run showed it, and steps only from what was verified."""

from pathlib import Path
from typing import Any

import pytest

from experiments.changes import catalogue
from experiments.changes.loader import load
from experiments.changes.record import VersionRecord
from experiments.changes.rules import migration_step, worded
from experiments.errors import Finding, Refusal
from tests.experiments.changes.written import write


def record(folder: Path, changed: dict[str, Any] | None = None, **parts: Any) -> VersionRecord:
    (found,) = load(write(folder, changed, **parts))
    return found


def refused(call: Any, *arguments: Any) -> Finding:
    with pytest.raises(Refusal) as refusal:
        call(*arguments)
    return refusal.value.findings[0]


CANDIDATE = {"version": "1.1.0rc1", "status": "RC"}
FLOATING = {"floating": True, "pinned_by": None, "url": "https://example.org/latest/notes"}


@pytest.mark.req("7.18")
@pytest.mark.forbids
@pytest.mark.parametrize("status", ["GA", "maintenance"])
def test_a_release_candidate_is_never_written_as_ga(status: str, tmp_path: Path) -> None:
    finding = refused(load, write(tmp_path, {"version": "1.1.0rc1", "status": status}))

    assert finding.field.endswith("records[0].status")
    assert "RC or preview" in finding.allowed


@pytest.mark.req("7.18")
def test_the_shipped_candidate_is_one() -> None:
    found = catalogue.find("tensorrt_llm", "1.3.0rc24")

    assert found is not None
    assert found.status == "RC"


@pytest.mark.req("7.18")
@pytest.mark.forbids
@pytest.mark.parametrize(
    ("changed", "parts"),
    [
        (CANDIDATE, {}),
        ({"status": "preview"}, {}),
        ({"reading": "third_party", "body_verified": False}, {}),
        ({"reading": "listing", "body_verified": False}, {}),
        ({"reading": "near"}, {}),
        ({}, {"source": FLOATING}),
    ],
)
def test_no_step_comes_from_a_pre_release_or_from_what_nobody_verified(
    changed: dict[str, Any], parts: dict[str, Any], tmp_path: Path
) -> None:
    found = record(tmp_path, changed, **parts)

    finding = refused(migration_step, found, found.changes[0])

    assert finding.field == f"{found.id}.changes"


@pytest.mark.parametrize(
    ("change", "step"),
    [
        ({}, "Use --new instead of --old."),
        ({"use": None}, "Leave out --old."),
        ({"kind": "meaning changed", "use": None}, "Look at --old: meaning changed."),
    ],
)
def test_a_verified_change_of_a_release_gives_a_step(
    change: dict[str, Any], step: str, tmp_path: Path
) -> None:
    found = record(tmp_path, change=change)

    assert migration_step(found, found.changes[0]) == step


@pytest.mark.req("7.20")
@pytest.mark.forbids
def test_a_page_that_moves_must_carry_its_mark(tmp_path: Path) -> None:
    finding = refused(
        load, write(tmp_path, source={"url": "https://example.org/stable/x", "pinned_by": None})
    )

    assert finding.field == "abacus.yaml.sources[0].floating"
    assert "true for a page that moves" in finding.allowed


@pytest.mark.req("7.20")
@pytest.mark.parametrize(
    "source",
    [
        {"url": "https://example.org/latest/notes", "pinned_by": "the copy archived on 2026-11-29"},
        {"url": "https://example.org/blob/0123abcd0123abcd/main/notes", "pinned_by": "0123abcd"},
    ],
)
def test_a_commit_or_a_copy_takes_the_mark_away(source: dict[str, Any], tmp_path: Path) -> None:
    found = record(tmp_path, source=source)

    assert not found.source.floating
    assert found.is_evidence(found.changes[0])


@pytest.mark.req("7.17")
def test_a_statement_is_the_versions_own_until_a_run_showed_it(tmp_path: Path) -> None:
    found = record(tmp_path)

    assert worded(found, "--old removed", shown_by=None) == "this version states: --old removed"
    assert (
        worded(found, "--old removed", shown_by="0197a0") == "--old removed (shown by run 0197a0)"
    )


def test_what_is_planned_is_worded_as_planned(tmp_path: Path) -> None:
    found = record(tmp_path, {"status": "roadmap", "released": None})

    assert worded(found, "--old removed", shown_by=None).startswith("planned for 1.0.0: ")


def test_records_between_two_versions_leave_out_the_older_and_keep_the_newer() -> None:
    found = catalogue.between("vllm", "0.28.0", "0.33.0")

    assert [r.version for r in found] == ["0.29.0", "0.32.0", "0.33.0"]


@pytest.mark.parametrize(("older", "newer"), [("0.33.0", "0.32.0"), ("0.33.0", "0.33.0+cpu")])
def test_two_versions_are_named_in_their_order(older: str, newer: str) -> None:
    assert "older version first" in refused(catalogue.between, "vllm", older, newer).allowed


def test_a_local_part_does_not_make_a_later_version() -> None:
    assert [r.version for r in catalogue.up_to("torch", "2.13.0+cpu")] == ["2.13.0"]
