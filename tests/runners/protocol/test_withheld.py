"""A blob may be withheld only by class, only by name, and never replaced."""

import json
from pathlib import Path

import pytest

from runners.protocol import layout, manifest
from runners.protocol.layout import FileClass
from tests.assay.archive.bundles import sealed_bundle

CONTENT = frozenset({FileClass.content, FileClass.wire})


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    sealed_bundle(tmp_path)
    return tmp_path


def list_as_withheld(bundle: Path, *paths: str) -> None:
    document = {"withheld": [{"path": p} for p in paths]}
    (bundle / layout.WITHHELD).write_text(json.dumps(document))


def test_withholding_leaves_the_digest_as_it_was(bundle: Path) -> None:
    before = manifest.verify(bundle)

    gone = manifest.withhold(bundle, classes=CONTENT, reason="private")

    after = manifest.verify(bundle)
    assert gone == ["prompts.parquet", "wire/0-0.parquet"]
    assert (after.ok, after.withheld) == (True, tuple(gone))
    assert after.bundle_digest == before.bundle_digest


def test_each_withheld_blob_keeps_its_digest_and_its_reason(bundle: Path) -> None:
    manifest.withhold(bundle, classes=CONTENT, reason="private")

    listed = json.loads((bundle / layout.WITHHELD).read_bytes())["withheld"]
    assert {e["reason"] for e in listed} == {"private"}
    assert all(len(e["sha256"]) == 64 and e["bytes"] > 0 for e in listed)


@pytest.mark.forbids
def test_a_file_that_is_gone_without_being_listed_is_missing(bundle: Path) -> None:
    (bundle / layout.PROMPTS).unlink()

    assert manifest.verify(bundle).problems == ("prompts.parquet: missing",)


@pytest.mark.forbids
@pytest.mark.parametrize("path", [layout.SESSION, layout.SPEC, "trace/trace.json"])
def test_evidence_cannot_be_withheld(bundle: Path, path: str) -> None:
    (bundle / path).unlink()
    list_as_withheld(bundle, path)

    problems = manifest.verify(bundle).problems
    assert len(problems) == 1
    assert problems[0].startswith(f"{path}: missing (a file of class")


def test_a_class_that_a_bundle_needs_is_refused(bundle: Path) -> None:
    with pytest.raises(ValueError, match="class engine cannot be withheld"):
        manifest.withhold(bundle, classes=frozenset({FileClass.engine}), reason="x")


def test_a_listed_file_that_is_there_is_checked_all_the_same(bundle: Path) -> None:
    list_as_withheld(bundle, layout.PROMPTS)
    (bundle / layout.PROMPTS).write_bytes(b"a forgery")

    assert manifest.verify(bundle).problems[0].startswith("prompts.parquet: changed")


def test_a_list_that_names_strangers_or_cannot_be_read_is_a_problem(bundle: Path) -> None:
    list_as_withheld(bundle, "nowhere.txt")
    strangers = manifest.verify(bundle).problems
    (bundle / layout.WITHHELD).write_text("not json")
    unreadable = manifest.verify(bundle).problems

    assert strangers == ("nowhere.txt: listed in withheld.json but not in the manifest",)
    assert unreadable[0].startswith("withheld.json: unreadable")


def test_an_extra_file_and_a_link_are_named(bundle: Path) -> None:
    (bundle / "extra.txt").write_text("x")
    (bundle / layout.PROMPTS).unlink()
    (bundle / layout.PROMPTS).symlink_to("/etc/hostname")

    problems = manifest.verify(bundle).problems
    assert "extra.txt: extra (not in the manifest)" in problems
    assert "prompts.parquet: a link or special file, not a file" in problems
