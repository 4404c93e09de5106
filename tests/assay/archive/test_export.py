"""One bundle as one file, and back."""

import zipfile
from pathlib import Path

import pytest

from assay.archive import export, transfer
from assay.archive.errors import DamagedBundle
from runners.protocol import layout, manifest
from tests.assay.archive.bundles import sealed_bundle


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    sealed_bundle(tmp_path / "b")
    return tmp_path / "b"


def test_the_same_bundle_gives_the_same_bytes(bundle: Path, tmp_path: Path) -> None:
    export.export_bundle(bundle, tmp_path / "one.zip")
    for path in bundle.rglob("*"):
        path.touch()

    export.export_bundle(bundle, tmp_path / "two.zip")

    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()


def test_what_is_exported_unpacks_to_the_same_bundle(bundle: Path, tmp_path: Path) -> None:
    done = export.export_bundle(bundle, tmp_path / "one.zip")

    checked = transfer.unpack(tmp_path / "one.zip", tmp_path / "out")

    assert (checked.ok, checked.bundle_digest) == (True, done.bundle_digest)
    assert manifest.bundle_files(tmp_path / "out") == manifest.bundle_files(bundle)


def test_without_content_the_bundle_still_verifies_and_says_what_is_withheld(
    bundle: Path, tmp_path: Path
) -> None:
    whole = manifest.verify(bundle)

    done = export.export_without_content(bundle, tmp_path / "one.zip", scratch=tmp_path / "tmp")

    checked = transfer.unpack(tmp_path / "one.zip", tmp_path / "out")
    assert done.withheld == ("prompts.parquet", "wire/0-0.parquet")
    assert (checked.ok, checked.withheld) == (True, done.withheld)
    assert checked.bundle_digest == whole.bundle_digest
    with zipfile.ZipFile(tmp_path / "one.zip") as archive:
        assert b"the prompt" not in b"".join(archive.read(n) for n in archive.namelist())
    assert manifest.verify(bundle).withheld == ()
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_damaged_bundle_is_not_exported(bundle: Path, tmp_path: Path) -> None:
    (bundle / layout.PROMPTS).write_bytes(b"other")

    with pytest.raises(DamagedBundle, match=r"prompts\.parquet: changed"):
        export.export_bundle(bundle, tmp_path / "one.zip")

    assert not (tmp_path / "one.zip").exists()


def test_an_existing_file_is_never_overwritten(bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "one.zip").write_text("mine")

    with pytest.raises(FileExistsError):
        export.export_bundle(bundle, tmp_path / "one.zip")

    assert (tmp_path / "one.zip").read_text() == "mine"
