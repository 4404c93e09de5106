"""Where an installer or a cache put the files, and what it wrote down about them."""

import hashlib
import importlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from runners.evidence.artifact_sources import folder_revision, hub_cache, locate
from runners.protocol.errors import EnvironmentLacks, Refused
from runners.protocol.manifest import canonical

WHEEL = "a" * 64
SOURCE: Mapping[str, Any] = {
    "kind": "package",
    "package": "carrier",
    "version": "1.0",
    "wheel_sha256": WHEEL,
    "path": "carrier",
}


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package installed by hand: one data file, METADATA and RECORD."""
    site = tmp_path / "site"
    (site / "carrier").mkdir(parents=True)
    (site / "carrier" / "weights.gguf").write_bytes(b"weights")
    info = site / "carrier-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: carrier\nVersion: 1.0\n", "utf-8")
    # sha256 of b"weights", base64 without padding, as RECORD writes it
    (info / "RECORD").write_text(
        "carrier/weights.gguf,sha256=mhKQONmgCu0M9qfqBZylCoE0SQYauHhIzxoT6v3zOyw,7\n", "utf-8"
    )
    monkeypatch.syspath_prepend(str(site))
    importlib.invalidate_caches()
    return info


def test_the_installers_own_hash_of_a_file_is_read(installed: Path) -> None:
    located = locate(SOURCE, "unused", roots=[])

    assert located.base == installed.parent / "carrier"
    assert located.recorded_sha256["weights.gguf"] == (
        "9a129038d9a00aed0cf6a7ea059ca50a813449061ab87848cf1a13eafdf33b2c"
    )


def test_a_wheel_digest_that_nobody_recomputed_is_a_gap(installed: Path) -> None:
    gaps = locate(SOURCE, "unused", roots=[]).gaps

    assert len(gaps) == 1
    assert "declared and was not recomputed" in gaps[0]["what"]


def test_a_wheel_digest_that_the_installer_recorded_closes_the_gap(installed: Path) -> None:
    note = {"url": "file:///w.whl", "archive_info": {"hashes": {"sha256": WHEEL}}}
    (installed / "direct_url.json").write_text(json.dumps(note), "utf-8")

    assert locate(SOURCE, "unused", roots=[]).gaps == ()


@pytest.mark.forbids
def test_a_package_from_another_wheel_is_refused(installed: Path) -> None:
    note = {"url": "file:///w.whl", "archive_info": {"hashes": {"sha256": "b" * 64}}}
    (installed / "direct_url.json").write_text(json.dumps(note), "utf-8")

    with pytest.raises(Refused, match=r"artifact\.source\.wheel_sha256: installed from a wheel"):
        locate(SOURCE, "unused", roots=[])


@pytest.mark.parametrize("note", ["", "{", "{}", '{"archive_info": {}}', '{"dir_info": {}}'])
def test_a_note_without_a_digest_leaves_the_gap(installed: Path, note: str) -> None:
    (installed / "direct_url.json").write_text(note, "utf-8")

    assert len(locate(SOURCE, "unused", roots=[]).gaps) == 1


def test_a_relative_folder_is_looked_for_below_each_allowed_root(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    (second / "made").mkdir(parents=True)
    (second / "made" / "a.txt").write_bytes(b"1")
    source = {"kind": "folder", "path": "made"}
    revision = folder_revision(second / "made")

    found = locate(source, revision, roots=[first, second])

    assert found.base == second / "made"
    with pytest.raises(Refused, match="below an allowed root"):
        locate({**source, "path": "../second/made"}, revision, roots=[first])


def test_the_hash_of_a_folder_is_over_its_sorted_file_list(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "two.txt").write_bytes(b"2")
    (tmp_path / "a.txt").write_bytes(b"1")
    listed = [
        {"path": "a.txt", "bytes": 1, "sha256": hashlib.sha256(b"1").hexdigest()},
        {"path": "b/two.txt", "bytes": 1, "sha256": hashlib.sha256(b"2").hexdigest()},
    ]

    expected = hashlib.sha256(canonical(listed)).hexdigest()
    assert folder_revision(tmp_path) == f"sha256:{expected}"


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"HF_HUB_CACHE": "/cache/hub"}, "/cache/hub"),
        ({"HF_HOME": "/cache/hf"}, "/cache/hf/hub"),
        ({"XDG_CACHE_HOME": "/cache"}, "/cache/huggingface/hub"),
    ],
)
def test_the_hub_cache_is_found_as_its_client_finds_it(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: str
) -> None:
    for name in ("HF_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert hub_cache() == Path(expected)


def test_a_snapshot_that_was_not_downloaded_is_something_the_machine_lacks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    source = {"kind": "hf", "repository": "org/model"}

    with pytest.raises(EnvironmentLacks, match=f"hf download org/model --revision {'1' * 40}"):
        locate(source, "1" * 40, roots=[])
