"""A short run is read by whoever sealed it, to the same bytes; what it cannot read it leaves."""

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.archive import reading_map, short_reading
from assay.archive.interpretation import interpret
from tests.assay.archive import interpretable


@pytest.fixture(autouse=True)
def _collections_as_before() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_short_run_is_read_to_the_bytes_of_the_interpreter(tmp_path: Path) -> None:
    interpretable.build(tmp_path / "bundle")

    short_reading.main([str(tmp_path / "bundle"), str(tmp_path / "short")])
    interpret(tmp_path / "bundle", tmp_path / "own")

    assert files(tmp_path / "short") == files(tmp_path / "own")
    assert files(tmp_path / "own")


def test_a_long_run_is_left_for_a_process_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading_map, "WORTH_WORKERS_BYTES", 1)
    interpretable.build(tmp_path / "bundle")

    short_reading.main([str(tmp_path / "bundle"), str(tmp_path / "derived")])

    assert files(tmp_path / "derived") == {}


def test_a_run_that_cannot_be_read_is_left_without_a_word(tmp_path: Path) -> None:
    backwards = list(reversed(interpretable.wire()))
    interpretable.build(tmp_path / "bundle", wire=backwards)

    short_reading.main([str(tmp_path / "bundle"), str(tmp_path / "derived")])

    assert files(tmp_path / "derived") == {}
