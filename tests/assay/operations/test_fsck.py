"""fsck: each kind of fault made on purpose and found; what is mended; and that no archive is ever touched."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.analysis.definition import DEFINITION_VERSION
from assay.archive.faults import FaultKind
from assay.archive.paths import Home
from assay.archive.remote.location import remote_at
from assay.archive.remote.sending import send
from assay.cli.main import main
from assay.execution.models import Execution
from assay.ledger.models import Bundle, Interpretation
from assay.ledger.services import record_quarantined
from assay.operations.fsck import fsck
from assay.operations.models import Removal
from runners.protocol import layout, manifest
from tests.assay.archive.bundles import sealed_bundle
from tests.assay.specs import queued_study

INTERPRETATION = "interpretation.json"
Break = Callable[[Home, Bundle], object]


def alter(path: Path) -> None:
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:-1] + b"~")


def reading(home: Home, bundle: Bundle) -> Path:
    return home.derived / bundle.digest / DEFINITION_VERSION


def unlisted(home: Home, bundle: Bundle) -> None:
    (home.bundle(bundle.digest) / "notes.txt").write_text("mine")


def moved_shelf(home: Home, bundle: Bundle) -> None:
    other = home.store / "zz" / bundle.digest
    other.parent.mkdir()
    shutil.copytree(home.bundle(bundle.digest), other)


def half_sealed(home: Home, _bundle: Bundle) -> None:
    (home.executions / "019a" / "out").mkdir(parents=True)


def unknown_bundle(home: Home, _bundle: Bundle) -> None:
    digest = sealed_bundle(home.root / "new", execution_id="019a0000-0000-7000-8000-0000000000ee")
    home.bundle(digest).parent.mkdir(exist_ok=True)
    (home.root / "new").rename(home.bundle(digest))


def earlier_reading(home: Home, bundle: Bundle) -> None:
    shutil.copytree(reading(home, bundle), home.derived / bundle.digest / "2020.01.1")


def lost_quarantine(home: Home, _bundle: Bundle) -> None:
    record_quarantined(folder=home.quarantine / "gone", reason="r", problems=[])


BROKEN: dict[FaultKind, Break] = {
    FaultKind.missing_file: lambda h, b: (h.bundle(b.digest) / layout.SESSION).unlink(),
    FaultKind.altered_file: lambda h, b: alter(h.bundle(b.digest) / layout.SESSION),
    FaultKind.unlisted_file: unlisted,
    FaultKind.unreadable_manifest: lambda h, b: (h.bundle(b.digest) / layout.MANIFEST).unlink(),
    FaultKind.wrong_address: moved_shelf,
    FaultKind.half_stored: lambda h, b: (h.store / "ab" / f"{'ab' * 32}.partial-7").mkdir(
        parents=True
    ),
    FaultKind.half_sealed: half_sealed,
    FaultKind.stray: lambda h, b: (h.store / "readme").write_text("?"),
    FaultKind.unregistered_bundle: unknown_bundle,
    FaultKind.lost_bundle: lambda h, b: shutil.rmtree(h.bundle(b.digest)),
    FaultKind.lost_reading: lambda h, b: shutil.rmtree(reading(h, b)),
    FaultKind.altered_reading: lambda h, b: alter(reading(h, b) / INTERPRETATION),
    FaultKind.unregistered_reading: earlier_reading,
    FaultKind.half_read: lambda h, b: (h.derived / b.digest / ".reading-x").mkdir(),
    FaultKind.lost_quarantine: lost_quarantine,
}


def found(home: Home) -> list[FaultKind]:
    return [fault.kind for fault in fsck(home, None)]


def test_a_sound_home_has_no_fault(home: Home, bundle: Bundle) -> None:
    assert found(home) == []


@pytest.mark.parametrize("kind", BROKEN)
def test_each_fault_is_found_and_named(home: Home, bundle: Bundle, kind: FaultKind) -> None:
    BROKEN[kind](home, bundle)

    assert found(home) == [kind]


def test_a_bundle_read_by_an_earlier_definition_is_a_note_until_it_is_read_again(
    home: Home, bundle: Bundle, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("assay.operations.fsck.DEFINITION_VERSION", "2099.01.1")

    assert main(["fsck", "--json"]) == 0

    (note,) = json.loads(capsys.readouterr().out)["notes"]
    assert (note["kind"], note["subject"]) == ("other_definition", bundle.digest)
    assert "--rebuild-derived" in note["remedy"]


def test_what_an_open_execution_wrote_is_no_fault(home: Home, bundle: Bundle) -> None:
    run = queued_study().runs.get()
    execution = Execution.objects.create(
        id="019a0000-0000-7000-8000-00000000000f", run=run, token="t", worker="w", folder="f"
    )
    (home.executions / str(execution.id)).mkdir(parents=True)
    digest = sealed_bundle(home.root / "new", execution_id=str(execution.id))
    home.bundle(digest).parent.mkdir(exist_ok=True)
    (home.root / "new").rename(home.bundle(digest))

    assert found(home) == []


def test_what_was_let_go_of_is_not_missed(home: Home, bundle: Bundle) -> None:
    Removal.objects.create(bundle=bundle, bytes=1, policy={}, plan="p" * 64, by="ada")
    shutil.rmtree(home.bundle(bundle.digest))

    assert found(home) == []


def test_a_bundle_of_the_archive_alone_is_not_lost(
    home: Home, bundle: Bundle, tmp_path: Path
) -> None:
    remote = remote_at(str(tmp_path / "archive"))
    assert [f.kind for f in fsck(home, remote)] == [FaultKind.not_archived]
    send(remote, home.bundle(bundle.digest))
    shutil.rmtree(home.bundle(bundle.digest))

    assert list(fsck(home, remote)) == []


def test_a_half_upload_is_found(home: Home, bundle: Bundle, tmp_path: Path) -> None:
    remote = remote_at(str(tmp_path / "archive"))
    send(remote, home.bundle(bundle.digest))
    remote.files.rm_file(remote.marker(bundle.digest))

    assert [f.kind for f in fsck(home, remote)] == [FaultKind.half_archived]


@pytest.mark.parametrize("kind", [FaultKind.lost_reading, FaultKind.altered_reading])
def test_a_reading_is_rebuilt_to_the_bytes_that_the_index_knows(
    home: Home, bundle: Bundle, kind: FaultKind, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (reading(home, bundle) / INTERPRETATION).read_bytes()
    BROKEN[kind](home, bundle)

    assert main(["fsck", "--rebuild-derived", "--json"]) == 0

    said = json.loads(capsys.readouterr().out)
    assert said["mended"] == [{"digest": bundle.digest, "what": "read again", "problem": None}]
    assert (reading(home, bundle) / INTERPRETATION).read_bytes() == before
    assert Interpretation.objects.count() == 1


def test_an_unknown_bundle_is_registered_as_it_lies(
    home: Home, bundle: Bundle, capsys: pytest.CaptureFixture[str]
) -> None:
    unknown_bundle(home, bundle)
    (fault,) = fsck(home, None)

    assert main(["fsck", "--register", "--json"]) == 0

    assert json.loads(capsys.readouterr().out)["mended"][0]["digest"] == fault.subject
    assert Bundle.objects.filter(digest=fault.subject).exists()


@pytest.mark.forbids
def test_a_damaged_bundle_is_left_as_it_is_and_not_read(
    home: Home, bundle: Bundle, capsys: pytest.CaptureFixture[str]
) -> None:
    alter(home.bundle(bundle.digest) / layout.SESSION)
    shutil.rmtree(reading(home, bundle))
    before = tree(home.bundle(bundle.digest))

    assert main(["fsck", "--rebuild-derived", "--register", "--json"]) == 1

    said = json.loads(capsys.readouterr().out)
    assert said["ok"] is False
    assert said["mended"][0]["problem"] == "the bundle itself is damaged"
    assert tree(home.bundle(bundle.digest)) == before
    assert not reading(home, bundle).exists()


def test_without_a_fault_the_verb_says_ok(
    home: Home, bundle: Bundle, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fsck"]) == 0
    assert capsys.readouterr().out == "ok\n"


def tree(folder: Path) -> dict[str, str]:
    return {str(p): manifest.sha256_of(p) for p in sorted(folder.rglob("*")) if p.is_file()}
