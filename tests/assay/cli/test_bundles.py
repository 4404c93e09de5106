"""``verify``, ``export`` and ``import`` from the command line."""

import json
import shutil
from pathlib import Path

import pytest

from assay.archive.paths import Home
from assay.cli.main import main
from assay.ledger.models import Bundle, Quarantined, Run, Study
from runners.protocol import layout, manifest
from tests.assay.archive.bundles import RUN_ID, packed_bytes_of, sealed_bundle

pytestmark = pytest.mark.django_db


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    sealed_bundle(tmp_path / "b")
    return tmp_path / "b"


@pytest.fixture
def exported(home: Home, bundle: Path, tmp_path: Path) -> Path:
    """A file that another installation wrote."""
    from assay.archive.export import export_bundle

    return export_bundle(bundle, tmp_path / "one.assay.zip").file


def every_file() -> list[str]:
    return [
        layout.SPEC,
        layout.SESSION,
        layout.PROMPTS,
        "wire/0-0.parquet",
        "trace/trace.json",
        layout.MANIFEST,
    ]


@pytest.mark.parametrize("name", every_file())
def test_one_flipped_byte_in_any_file_is_caught_and_named(
    bundle: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = bundle / name
    body = bytearray(path.read_bytes())
    body[len(body) // 2] ^= 1
    path.write_bytes(bytes(body))

    assert main(["verify", str(bundle)]) == 1
    assert f"error: {name}: " in capsys.readouterr().err


def test_a_flipped_byte_of_the_digest_file_is_caught(bundle: Path) -> None:
    path = bundle / layout.MANIFEST_DIGEST
    text = path.read_text()
    path.write_text(("0" if text[0] != "0" else "1") + text[1:])

    assert main(["verify", str(bundle)]) == 1


def test_verify_speaks_json(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(bundle), "--json"]) == 0

    found = json.loads(capsys.readouterr().out)
    assert (found["ok"], found["files"], found["problems"]) == (True, 5, [])
    assert found["bundle"] == str(bundle)


def test_verify_takes_an_exported_file(exported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(exported)]) == 0
    assert "ok " in capsys.readouterr().out


def test_an_imported_bundle_is_stored_interpreted_and_indexed(
    home: Home, exported: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", str(exported), "--json"]) == 0

    found = json.loads(capsys.readouterr().out)
    row, run = Bundle.objects.get(), Run.objects.get()
    assert found["imported"] is True
    assert (row.imported, row.level) == (True, "E1")
    assert (str(run.id), run.state) == (RUN_ID, "sealed")
    assert run.accepted_execution == row.execution_id
    assert row.interpretations.get().measures.exists()
    assert manifest.verify(home.bundle(row.digest)).ok


def test_importing_twice_is_the_same_as_once(
    home: Home, exported: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["import", str(exported)])
    capsys.readouterr()

    assert main(["import", str(exported), "--json"]) == 0

    assert json.loads(capsys.readouterr().out)["imported"] is False
    assert (Bundle.objects.count(), Run.objects.count(), Study.objects.count()) == (1, 1, 1)


def test_import_and_export_give_the_same_bytes_back(
    home: Home, exported: Path, tmp_path: Path
) -> None:
    main(["import", str(exported)])

    assert main(["export", RUN_ID, str(tmp_path / "back.assay.zip")]) == 0
    assert (tmp_path / "back.assay.zip").read_bytes() == exported.read_bytes()


def test_export_without_content_verifies_and_names_what_it_withholds(
    home: Home, exported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["import", str(exported)])
    out = tmp_path / "bare.assay.zip"
    capsys.readouterr()

    assert main(["export", RUN_ID, str(out), "--without-content", "--json"]) == 0
    withheld = json.loads(capsys.readouterr().out)["withheld"]
    assert main(["verify", str(out)]) == 0

    assert withheld == ["prompts.parquet", "wire/0-0.parquet"]
    assert "withheld prompts.parquet" in capsys.readouterr().out


def test_a_damaged_folder_is_quarantined_not_half_imported(
    home: Home, bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (bundle / layout.SESSION).write_text("changed")

    assert main(["import", str(bundle)]) == 1

    assert "error: session.jsonl: changed" in capsys.readouterr().err
    kept = Quarantined.objects.get()
    assert (Path(kept.folder) / "bundle" / layout.SPEC).exists()
    assert not Bundle.objects.exists()
    assert not Run.objects.exists()
    assert not home.store.exists()
    assert (bundle / layout.SESSION).exists()


def test_a_hostile_file_is_refused_and_leaves_nothing(
    home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import zipfile

    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as archive:
        archive.writestr("../../escaped.txt", "x")

    assert main(["import", str(tmp_path / "bad.zip")]) == 2
    assert "leaves or bends the folder" in capsys.readouterr().err
    assert not Quarantined.objects.exists()
    assert list(home.scratch.iterdir()) == []


def test_a_stored_bundle_that_was_swapped_for_another_is_caught(
    home: Home, exported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["import", str(exported)])
    folder = home.bundle(Bundle.objects.get().digest)
    shutil.rmtree(folder)
    sealed_bundle(folder, study="another study")

    assert main(["verify", RUN_ID]) == 1
    assert "the bundle is known as" in capsys.readouterr().err


def test_exporting_a_run_without_a_bundle_says_why(
    home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.assay.specs import queued_study

    run = queued_study().runs.get()

    assert main(["export", str(run.id), str(tmp_path / "x.zip")]) == 2
    assert "has no bundle" in capsys.readouterr().err


@pytest.mark.forbids
def test_a_folder_that_is_no_bundle_is_refused_before_it_is_copied(
    home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_arguments: object, **_options: object) -> None:
        raise AssertionError("a tree of unknown size was copied")

    monkeypatch.setattr(shutil, "copytree", never)
    (tmp_path / "downloads").mkdir()
    (tmp_path / "downloads" / "film.mkv").write_bytes(b"large")

    assert main(["import", str(tmp_path / "downloads")]) == 2

    assert "error: manifest.json: missing" in capsys.readouterr().err
    assert not Quarantined.objects.exists()
    assert list(home.scratch.iterdir()) == []


@pytest.mark.forbids
def test_an_empty_word_is_not_the_current_folder(
    bundle: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(bundle)

    assert main(["verify", ""]) == 2
    assert "error: bundle: " in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["verify", "import"])
def test_a_damaged_exported_file_ends_with_1_and_names_the_member(
    exported: Path, verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    data = bytearray(exported.read_bytes())
    data[packed_bytes_of(exported, layout.SESSION)[0]] ^= 0x10
    exported.write_bytes(bytes(data))

    assert main([verb, str(exported)]) == 1
    assert f"error: {layout.SESSION}: changed (" in capsys.readouterr().err
    assert not Bundle.objects.exists()
