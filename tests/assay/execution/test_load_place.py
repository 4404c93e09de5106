"""Files of a shared load between two machines: what arrives is what was sent, or nothing."""

from pathlib import Path

import pytest

from assay.execution.load_place import NotShared, Place
from tests.assay.archive.remote.conftest import bucket_on
from tests.assay.archive.remote.s3_server import s3_server


def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.delenv("ASSAY_ARCHIVE", raising=False)
    return Place.of_execution("an-execution", tmp_path / "lead")


def written(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def test_what_was_put_is_got_elsewhere_and_cleared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = place(tmp_path, monkeypatch)
    source = written(tmp_path / "source", plan="the plan", prompts="the prompts")
    files = here.put(source, ["plan", "prompts"], under="plan")

    there = Place.named(here.remote.url, here.folder)
    there.get(files, tmp_path / "target", under="plan")

    assert (tmp_path / "target" / "plan").read_text() == "the plan"
    assert [f["bytes"] for f in files] == [8, 11]
    here.clear()
    assert not Path(here.folder).exists()
    here.clear()


def test_the_archive_is_the_place_where_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_ARCHIVE", str(tmp_path / "archive"))

    found = Place.of_execution("an-execution", tmp_path / "lead")

    assert found.folder == str(tmp_path / "archive" / "shared_loads" / "an-execution")


@pytest.mark.forbids
def test_changed_bytes_and_paths_out_of_the_folder_are_no_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = place(tmp_path, monkeypatch)
    [file] = here.put(written(tmp_path / "source", plan="the plan"), ["plan"], under="plan")
    (Path(here.folder) / "plan" / "plan").write_text("another plan")

    with pytest.raises(NotShared, match="plan: came as sha256"):
        here.get([file], tmp_path / "target", under="plan")
    with pytest.raises(NotShared, match="outside"):
        here.get([{**file, "name": "../plan"}], tmp_path / "target", under="plan")
    with pytest.raises(NotShared, match="gone"):
        here.get([{**file, "name": "gone"}], tmp_path / "target", under="plan")
    assert not list((tmp_path / "target").glob("*"))


@pytest.mark.slow
def test_an_archive_on_s3_carries_them_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with s3_server() as server:
        monkeypatch.setenv("ASSAY_ARCHIVE", bucket_on(server, monkeypatch).url)
        here = Place.of_execution("an-execution", tmp_path / "lead")
        files = here.put(written(tmp_path / "source", plan="the plan"), ["plan"], under="plan")

        Place.named(here.remote.url, here.folder).get(files, tmp_path / "target", under="plan")
        here.clear()

        assert (tmp_path / "target" / "plan").read_text() == "the plan"
        with pytest.raises(NotShared):
            here.get(files, tmp_path / "again", under="plan")
        here.clear()
