"""The content-addressed store takes only what verifies, and keeps it as it came."""

import shutil
from pathlib import Path

import pytest

from assay.archive import store
from assay.archive.errors import DamagedBundle, UnknownBundle
from assay.archive.paths import Home
from runners.protocol import layout, manifest
from tests.assay.archive.bundles import sealed_bundle


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def test_a_bundle_lies_under_its_digest_and_is_read_only(home: Home, tmp_path: Path) -> None:
    digest = sealed_bundle(tmp_path / "b")

    stored = store.put(home, tmp_path / "b")

    assert stored.folder == home.root / "store" / digest[:2] / digest
    assert (stored.new, stored.files) == (True, 5)
    assert not (tmp_path / "b").exists()
    assert all(p.stat().st_mode & 0o222 == 0 for p in stored.folder.rglob("*") if p.is_file())
    assert store.get(home, digest[:8]) == stored.folder


def test_storing_the_same_bundle_twice_changes_nothing(home: Home, tmp_path: Path) -> None:
    sealed_bundle(tmp_path / "b")
    shutil.copytree(tmp_path / "b", tmp_path / "again")
    first = store.put(home, tmp_path / "b")

    second = store.put(home, tmp_path / "again")

    assert (second.digest, second.new) == (first.digest, False)
    assert not (tmp_path / "again").exists()


@pytest.mark.forbids
def test_a_changed_bundle_is_not_stored_and_its_file_is_named(home: Home, tmp_path: Path) -> None:
    sealed_bundle(tmp_path / "b")
    (tmp_path / "b" / layout.SESSION).write_text('{"event": "other"}\n', encoding="utf-8")

    with pytest.raises(DamagedBundle) as refused:
        store.put(home, tmp_path / "b")

    assert refused.value.problems[0].startswith("session.jsonl: changed")
    assert (tmp_path / "b").exists()
    assert not home.store.exists()


def test_a_stored_copy_that_was_damaged_is_replaced_by_a_sound_one(
    home: Home, tmp_path: Path
) -> None:
    sealed_bundle(tmp_path / "b")
    shutil.copytree(tmp_path / "b", tmp_path / "again")
    folder = store.put(home, tmp_path / "b").folder
    (folder / layout.SESSION).chmod(0o644)
    (folder / layout.SESSION).write_text("bit rot", encoding="utf-8")

    stored = store.put(home, tmp_path / "again")

    assert manifest.verify(stored.folder).ok
    assert [p.name for p in home.quarantine.iterdir()] == [stored.digest]


def test_a_withheld_blob_is_filled_in_when_it_arrives_later(home: Home, tmp_path: Path) -> None:
    sealed_bundle(tmp_path / "whole")
    shutil.copytree(tmp_path / "whole", tmp_path / "b")
    manifest.withhold(
        tmp_path / "b", classes=frozenset({layout.FileClass.content}), reason="private"
    )
    first = store.put(home, tmp_path / "b")

    second = store.put(home, tmp_path / "whole")

    assert first.withheld == ("prompts.parquet",)
    assert second.withheld == ()
    assert not (second.folder / layout.WITHHELD).exists()


@pytest.mark.parametrize("text", ["", "abc", "zzzzzzzz", "../../etc", "0" * 64])
def test_an_unknown_digest_is_refused_with_a_remedy(home: Home, text: str) -> None:
    with pytest.raises(UnknownBundle, match="assay show RUN"):
        store.get(home, text)
