"""Verification names every changed, missing and extra file of a bundle, and never leaves its folder."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from runners.protocol import layout, manifest

# Every file that a run of the echo engine leaves; the test below holds the list to the real bundle.
FILES = (
    "attempts.parquet",
    "clocks.json",
    "engine.log",
    "engine_events.jsonl",
    "engine_log_times.jsonl",
    "host.json",
    "identity.json",
    "keeper.jsonl",
    "observation.json",
    "packages.json",
    "plan.parquet",
    "predictions.json",
    "prompts.parquet",
    "redactions.json",
    "scrapes.parquet",
    "series.json",
    "server_info.json",
    "session.jsonl",
    "spec.json",
    "telemetry.parquet",
    "trace/trace.json",
    "wire/0-0.parquet",
)
OWN = (layout.MANIFEST, layout.MANIFEST_DIGEST)


def test_the_list_of_files_is_that_of_a_real_bundle(sealed_once: Path) -> None:
    assert tuple(manifest.bundle_files(sealed_once / "bundle")) == FILES


def test_an_untouched_bundle_verifies(sealed_once: Path) -> None:
    found = manifest.verify(sealed_once / "bundle")

    assert found.ok
    assert found.checked == len(FILES)
    stated = (sealed_once / "bundle" / layout.MANIFEST_DIGEST).read_text().strip()
    assert found.bundle_digest == stated


@pytest.mark.parametrize("place", [0, 40, 63, 64], ids=["first", "middle", "last", "line end"])
def test_every_byte_of_the_digest_file_counts(sealed_bundle: Path, place: int) -> None:
    path = sealed_bundle / layout.MANIFEST_DIGEST
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(bytes(data))

    assert not manifest.verify(sealed_bundle).ok


@pytest.mark.parametrize("name", [*FILES, *OWN])
def test_one_flipped_bit_is_found_and_its_file_is_named(sealed_bundle: Path, name: str) -> None:
    path = sealed_bundle / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))

    found = manifest.verify(sealed_bundle)

    assert not found.ok
    # the digest file can only disagree with the manifest, which is then the file that is named
    assert found.problems[0].startswith((name, layout.MANIFEST))


@pytest.mark.parametrize("name", [*FILES, *OWN])
def test_a_missing_file_is_named(sealed_bundle: Path, name: str) -> None:
    (sealed_bundle / name).unlink()

    found = manifest.verify(sealed_bundle)

    assert not found.ok
    assert any(p.startswith(name) or layout.MANIFEST in p for p in found.problems)


def test_a_shortened_and_a_lengthened_file_are_found(sealed_bundle: Path) -> None:
    with (sealed_bundle / "engine_events.jsonl").open("ab") as stream:
        stream.write(b"\n")
    (sealed_bundle / "spec.json").write_bytes(b"")

    problems = manifest.verify(sealed_bundle).problems

    assert [p.split(":")[0] for p in problems] == ["engine_events.jsonl", "spec.json"]


@pytest.mark.parametrize("name", ["note.txt", "wire/1-0.parquet", ".hidden"])
def test_an_extra_file_is_named(sealed_bundle: Path, name: str) -> None:
    (sealed_bundle / name).write_text("more")

    assert manifest.verify(sealed_bundle).problems == (f"{name}: extra (not in the manifest)",)


@pytest.mark.forbids
def test_a_link_is_no_file_even_with_the_right_bytes(sealed_bundle: Path, tmp_path: Path) -> None:
    path = sealed_bundle / "spec.json"
    elsewhere = tmp_path / "spec.json"
    elsewhere.write_bytes(path.read_bytes())
    path.unlink()
    path.symlink_to(elsewhere)

    [problem] = manifest.verify(sealed_bundle).problems

    assert problem.startswith("spec.json: a link")


@pytest.mark.forbids
def test_a_linked_folder_is_not_followed(sealed_bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "wire").mkdir()
    (tmp_path / "wire" / "0-0.parquet").write_bytes(
        (sealed_bundle / "wire" / "0-0.parquet").read_bytes()
    )
    (sealed_bundle / "wire" / "0-0.parquet").unlink()
    (sealed_bundle / "wire").rmdir()
    (sealed_bundle / "wire").symlink_to(tmp_path / "wire")

    assert not manifest.verify(sealed_bundle).ok


@pytest.mark.forbids
@pytest.mark.parametrize("path", ["../outside.txt", "/etc/hostname", "wire/../../outside.txt"])
def test_a_path_outside_the_bundle_is_refused_and_not_read(
    sealed_bundle: Path, tmp_path: Path, path: str
) -> None:
    (tmp_path / "outside.txt").write_text("secret")
    _forge(sealed_bundle, lambda files: files[0].update(path=path))

    problems = manifest.verify(sealed_bundle).problems

    assert f"{path}: a path outside the bundle" in problems
    assert not any(hashlib.sha256(b"secret").hexdigest() in p for p in problems)


def test_a_manifest_that_is_no_manifest_is_named(sealed_bundle: Path) -> None:
    (sealed_bundle / layout.MANIFEST).write_text("[]")

    [problem] = manifest.verify(sealed_bundle).problems

    assert problem.startswith("manifest.json: unreadable")


def test_building_again_gives_the_same_bytes(sealed_bundle: Path) -> None:
    stated = manifest.read(sealed_bundle)
    header = {k: v for k, v in stated.items() if k not in ("format", "kind", "files")}
    body = (sealed_bundle / layout.MANIFEST).read_bytes()

    digest = manifest.build(sealed_bundle, header=header)

    assert (sealed_bundle / layout.MANIFEST).read_bytes() == body
    assert digest == hashlib.sha256(body).hexdigest()


def _forge(bundle: Path, change: Any) -> None:
    """Rewrite the manifest and its digest file, as somebody would who means harm."""
    document = json.loads((bundle / layout.MANIFEST).read_bytes())
    change(document["files"])
    body = manifest.canonical(document)
    (bundle / layout.MANIFEST).write_bytes(body)
    (bundle / layout.MANIFEST_DIGEST).write_text(hashlib.sha256(body).hexdigest() + "\n")
