"""An exported run brings its history along and no approval; what is no history is refused whole."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from assay.archive import export, transfer
from assay.archive.errors import DamagedArchive, RefusedArchive
from assay.archive.paths import Home
from assay.execution.importing import import_bundle
from assay.ledger.models import Bundle
from assay.review import annotating, foreign
from assay.review.history import NAME, history_of, written
from assay.review.models import ForeignHistory, Review
from experiments.errors import Refusal
from tests.assay.pages.factory import Laboratory
from tests.assay.review.people import author, signed_off


@pytest.fixture
def exported(lab: Laboratory, tmp_path: Path) -> Path:
    signed_off(lab.run)
    annotating.note(author(), lab.run, "fan was loud")
    file = tmp_path / "run.assay.zip"
    digest = lab.bundle.digest
    export.export_bundle(lab.home.bundle(digest), file, beside={NAME: written(digest)})
    return file


def test_a_history_lies_beside_the_bundle_and_not_in_it(
    exported: Path, lab: Laboratory, tmp_path: Path
) -> None:
    checked = transfer.unpack(exported, tmp_path / "unpacked")

    assert checked.bundle_digest == lab.bundle.digest
    assert not (tmp_path / "unpacked" / "beside").exists()
    content = transfer.beside(exported, NAME)
    assert content is not None
    document = json.loads(content)
    assert document["reviews"][0]["state"] == "signed_off"
    assert document["notes"][0]["text"] == "fan was loud"
    steps = [entry["step"] for entry in document["reviews"][0]["audit"]]
    assert (steps[0], steps[-1]) == ("submit", "sign_off")


def test_the_same_history_gives_the_same_file(
    exported: Path, lab: Laboratory, tmp_path: Path
) -> None:
    again = tmp_path / "again.assay.zip"
    digest = lab.bundle.digest
    export.export_bundle(lab.home.bundle(digest), again, beside={NAME: written(digest)})

    assert again.read_bytes() == exported.read_bytes()


def test_an_import_keeps_the_history_once_and_makes_no_review_of_it(
    exported: Path, lab: Laboratory
) -> None:
    reviews = Review.objects.count()

    for _ in range(2):
        import_bundle(exported, lab.home, owner="kim")

    kept = ForeignHistory.objects.get()
    assert kept.bundle_id == lab.bundle.digest
    assert kept.document["reviews"][0]["author"] == "ada"
    assert Review.objects.count() == reviews


def test_an_imported_history_goes_along_with_the_next_export(
    exported: Path, lab: Laboratory
) -> None:
    import_bundle(exported, lab.home, owner="kim")

    brought = history_of(lab.bundle.digest)["brought"]

    assert json.loads(brought[0])["reviews"][0]["state"] == "signed_off"


def _changed(document: dict[str, Any], **changes: Any) -> bytes:
    return json.dumps({**document, **changes}).encode()


@pytest.mark.parametrize(
    ("changes", "seen"),
    [
        ({"bundle_digest": "0" * 64}, "a history of bundle 000"),
        ({"form": 2}, "form"),
        ({"approved": True}, "approved"),
        ({"notes": [{"by": "x", "at": "now", "text": 7}]}, "notes/0/text"),
        ({"notes": [{"by": "x" * 400, "at": "now", "text": ""}]}, "notes/0/by"),
    ],
    ids=["another bundle", "another form", "an unknown field", "no text", "too long"],
)
def test_what_is_no_history_of_this_bundle_is_refused(
    lab: Laboratory, changes: dict[str, Any], seen: str
) -> None:
    document = history_of(lab.bundle.digest)

    with pytest.raises(Refusal) as refusal:
        foreign.parsed(_changed(document, **changes), bundle_digest=lab.bundle.digest)

    assert seen in refusal.value.findings[0].seen


@pytest.mark.parametrize("content", [b"", b"[]", b"null", b"\xff", b"[" * 100_000])
def test_bytes_that_are_no_history_are_refused(lab: Laboratory, content: bytes) -> None:
    with pytest.raises(Refusal):
        foreign.parsed(content, bundle_digest=lab.bundle.digest)


def _repacked(source: Path, target: Path, replaced: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for member in old.infolist():
            new.writestr(member, replaced.get(member.filename, old.read(member)))
    return target


def test_a_changed_history_does_not_match_its_digest(exported: Path, tmp_path: Path) -> None:
    forged = _repacked(exported, tmp_path / "forged.zip", {f"beside/{NAME}": b"{}"})

    with pytest.raises(DamagedArchive, match="does not match its digest"):
        transfer.beside(forged, NAME)


def test_a_refused_history_leaves_nothing_imported(
    exported: Path, tmp_path: Path, assay_home: Home
) -> None:
    forged = _repacked(exported, tmp_path / "forged.zip", {f"beside/{NAME}": b"{}"})
    before = Bundle.objects.count()

    with pytest.raises(RefusedArchive):
        import_bundle(forged, assay_home, owner="kim")

    assert Bundle.objects.count() == before
    assert not ForeignHistory.objects.exists()


def test_a_history_of_any_size_is_not_read(exported: Path) -> None:
    small = transfer.Limits(beside_bytes=10)

    with pytest.raises(RefusedArchive, match="at most 10 bytes"):
        transfer.beside(exported, NAME, limits=small)
