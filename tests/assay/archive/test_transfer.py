"""An exported file is untrusted: whatever no export writes is refused, and nothing of it stays."""

import shutil
import stat
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from assay.archive import export, transfer
from assay.archive.errors import DamagedArchive, DamagedBundle, RefusedArchive
from runners.protocol import layout
from tests.assay.archive.bundles import packed_bytes_of, sealed_bundle


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    sealed_bundle(tmp_path / "b")
    export.export_bundle(tmp_path / "b", tmp_path / "good.zip")
    return tmp_path / "good.zip"


def with_member(exported: Path, name: str, body: bytes = b"x", *, mode: int = 0o100644) -> Path:
    """The export with one more member, named and typed at will."""
    bad = exported.with_name("bad.zip")
    bad.write_bytes(exported.read_bytes())
    member = zipfile.ZipInfo(name)
    member.external_attr = mode << 16
    with zipfile.ZipFile(bad, "a") as archive:
        archive.writestr(member, body)
    return bad


def refused(file: Path, **limits: int) -> str:
    target = file.parent / "out"
    with pytest.raises(RefusedArchive) as error:
        transfer.unpack(file, target, limits=replace(transfer.DEFAULT_LIMITS, **limits))
    assert not target.exists()
    return str(error.value)


@pytest.mark.forbids
@pytest.mark.parametrize(
    "name",
    [
        "../escaped.txt",
        "trace/../../escaped.txt",
        "/etc/escaped.txt",
        "C:escaped.txt",
        "trace\\escaped.txt",
        "./spec.json",
        "trace//x.json",
        "a/b/c/d/e.json",
        "bad\nname",
        "n" * 300,
    ],
)
def test_a_path_that_leaves_or_bends_the_folder_is_refused(exported: Path, name: str) -> None:
    words = refused(with_member(exported, name))

    assert "a path that leaves or bends the folder" in words
    assert not (exported.parent / "escaped.txt").exists()


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFDIR])
def test_only_plain_files_come_in(exported: Path, kind: int) -> None:
    words = refused(with_member(exported, "link", b"/etc/passwd", mode=kind | 0o777))

    assert "a folder, link or special file" in words


@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
@pytest.mark.parametrize("name", ["spec.json", "SPEC.json", "Manifest.JSON"])
def test_a_name_that_occurs_twice_is_refused(exported: Path, name: str) -> None:
    assert "occurs twice" in refused(with_member(exported, name))


def test_a_bomb_is_refused_before_it_is_unpacked(exported: Path) -> None:
    bomb = with_member(exported, "zeros", b"\0" * 1000)
    with zipfile.ZipFile(bomb, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb", b"\0" * 40 * 2**20)

    assert "an expansion of at most 200" in refused(bomb)


def test_a_member_that_is_larger_than_it_states_is_refused(exported: Path) -> None:
    bad = with_member(exported, "liar", b"A" * 5000)
    body = bytearray(bad.read_bytes())
    # both headers of "liar" hold its size as 4 little-endian bytes; say 8 instead of 5000
    stated = (5000).to_bytes(4, "little")
    assert body.count(stated) >= 2
    bad.write_bytes(bytes(body.replace(stated * 2, (8).to_bytes(4, "little") * 2)))

    target = exported.parent / "out"
    with pytest.raises((RefusedArchive, DamagedBundle)):
        transfer.unpack(bad, target)
    assert not (target / "liar").exists() or (target / "liar").stat().st_size <= 8


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"members": 3}, "at most 3"),
        ({"member_bytes": 10}, "at most 10 bytes"),
        ({"total_bytes": 100}, "at most 100 bytes"),
    ],
)
def test_limits_hold(exported: Path, limits: dict[str, int], words: str) -> None:
    assert words in refused(exported, **limits)


def test_a_file_that_is_no_zip_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(b"not a zip at all")

    assert "a zip written by `assay export`" in refused(tmp_path / "x.zip")


def test_a_zip_without_a_manifest_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("spec.json", "{}")

    assert "manifest.json: missing" in refused(tmp_path / "x.zip")


@pytest.mark.forbids
def test_one_flipped_byte_anywhere_in_the_packed_bytes_is_caught_and_its_member_named(
    exported: Path,
) -> None:
    whole, bad = exported.read_bytes(), exported.with_name("bad.zip")
    start, size = packed_bytes_of(exported, layout.MANIFEST)
    sound = (exported.parent / "b" / layout.MANIFEST).read_bytes()
    told: list[str] = []
    for place in range(start, start + size):
        bad.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])

        out = exported.parent / "out"
        try:
            transfer.unpack(bad, out)
        except DamagedArchive as damage:
            told.append(str(damage))
            assert not out.exists()
        else:  # another packing of the very same bytes, such as an equal match further back
            assert (out / layout.MANIFEST).read_bytes() == sound
            shutil.rmtree(out)
    assert len(told) > 0.9 * size
    assert all(words.startswith("manifest.json: changed (") for words in told)


@pytest.mark.parametrize("change", [lambda b: b[:-1] + b"?", lambda b: b + b"more"])
def test_a_changed_member_is_named(exported: Path, change: Callable[[bytes], bytes]) -> None:
    bad = exported.with_name("bad.zip")
    with zipfile.ZipFile(exported) as source, zipfile.ZipFile(bad, "w") as target:
        for name in source.namelist():
            body = source.read(name)
            target.writestr(name, change(body) if name == layout.SESSION else body)

    with pytest.raises(DamagedBundle, match=r"session\.jsonl: changed"):
        transfer.unpack(bad, exported.parent / "out")
