"""A bundle's way to the archive and back: cut, resumed, truncated, damaged; in a folder and in S3."""

import os
from pathlib import Path
from typing import Any

import pytest

from assay.archive import store
from assay.archive.errors import DamagedBundle, UnknownBundle
from assay.archive.paths import Home
from assay.archive.remote import resuming, sending
from assay.archive.remote.fetching import bundle_folder, digests, fetch, forget
from assay.archive.remote.location import OutOfReach, RefusedLocation, Remote, remote_at
from assay.archive.remote.resuming import PART_BYTES, partial_name
from assay.archive.remote.sending import NotSent, holds, remote_digest, send
from runners.protocol import layout, manifest
from tests.assay.archive.bundles import sealed_bundle
from tests.assay.archive.remote.conftest import bucket_on
from tests.assay.archive.remote.s3_server import s3_server

BIG = f"{layout.TRACE_FOLDER}/big.bin"


@pytest.fixture
def stored(assay_home: Home, tmp_path: Path) -> Path:
    sealed_bundle(tmp_path / "sealed")
    return store.put(assay_home, tmp_path / "sealed").folder


def big_bundle(folder: Path) -> Path:
    """With one file of two parts and a half."""
    sealed_bundle(folder)
    (folder / BIG).write_bytes(os.urandom(PART_BYTES * 5 // 2))
    manifest.build(folder, header={})
    return folder


def at_once(_seconds: float) -> None:
    """In place of a pause."""


def test_a_bundle_is_read_back_from_where_it_was_sent(
    remote: Remote, stored: Path, tmp_path: Path
) -> None:
    sent = send(remote, stored)

    fetched = fetch(remote, Home(tmp_path / "elsewhere"), stored.name)

    assert sent.new
    assert holds(remote, stored.name)
    assert manifest.verify(fetched).ok
    assert {p.name: p.read_bytes() for p in fetched.rglob("*") if p.is_file()} == {
        p.name: p.read_bytes() for p in stored.rglob("*") if p.is_file()
    }
    assert dict(digests(remote)) == {stored.name: True}


def test_a_bundle_that_is_there_is_not_sent_again(remote: Remote, stored: Path) -> None:
    send(remote, stored)

    again = send(remote, stored)

    assert (again.new, again.bytes_sent) == (False, 0)


def test_a_truncated_upload_is_found_and_sent_anew(
    remote: Remote, stored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut: list[str] = []
    whole = resuming.send_file

    def send_short(remote: Remote, source: Path, key: str, *, sha256: str) -> int:
        sent = whole(remote, source, key, sha256=sha256)
        if source.name == layout.SESSION and not cut:
            cut.append(key)
            remote.files.pipe_file(key, source.read_bytes()[:-5])
        return sent

    monkeypatch.setattr(sending, "send_file", send_short)

    send(remote, stored, pause=at_once)

    key = f"{remote.bundle(stored.name)}/{layout.SESSION}"
    assert cut == [key]
    assert remote_digest(remote, key) == manifest.sha256_of(stored / layout.SESSION)


def test_what_never_arrives_whole_is_said_and_leaves_no_bundle(
    remote: Remote, stored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose(remote: Remote, _source: Path, key: str, *, sha256: str) -> int:
        remote.files.pipe_file(key, sha256[:7].encode())
        return 7

    monkeypatch.setattr(sending, "send_file", lose)
    if remote.is_folder:
        Path(remote.bundle(stored.name), layout.WIRE_FOLDER).mkdir(parents=True)
        Path(remote.bundle(stored.name), layout.TRACE_FOLDER).mkdir(parents=True)

    with pytest.raises(NotSent, match="it arrived as sha256"):
        send(remote, stored, pause=at_once)

    assert not holds(remote, stored.name)


def test_a_folder_upload_goes_on_where_it_was_cut(tmp_path: Path) -> None:
    folder, remote = big_bundle(tmp_path / "big"), remote_at(str(tmp_path / "archive"))
    digest, source = manifest.verify(folder).bundle_digest, folder / BIG
    target = Path(remote.bundle(str(digest))) / BIG
    partial = partial_name(target, manifest.sha256_of(source))
    partial.parent.mkdir(parents=True)
    partial.write_bytes(source.read_bytes()[:PART_BYTES])

    sent = send(remote, folder)

    total = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())
    assert sent.bytes_sent == total - PART_BYTES
    assert not partial.exists()


def test_a_partial_file_of_other_bytes_is_not_gone_on_with(tmp_path: Path) -> None:
    folder, remote = big_bundle(tmp_path / "big"), remote_at(str(tmp_path / "archive"))
    digest, source = manifest.verify(folder).bundle_digest, folder / BIG
    partial = partial_name(Path(remote.bundle(str(digest))) / BIG, manifest.sha256_of(source))
    partial.parent.mkdir(parents=True)
    partial.write_bytes(b"?" * (2 * PART_BYTES))

    send(remote, folder)

    assert remote_digest(remote, f"{remote.bundle(str(digest))}/{BIG}") == manifest.sha256_of(
        source
    )


@pytest.mark.slow
def test_parts_that_s3_has_are_not_sent_again(
    server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote, folder = bucket_on(server, monkeypatch), big_bundle(tmp_path / "big")
    call = remote.files.call_s3

    def die_at_the_last_part(name: str, **asked: Any) -> Any:
        if name == "upload_part" and asked["PartNumber"] == 3:
            raise OSError("the uploader was killed")
        return call(name, **asked)

    monkeypatch.setattr(remote.files, "call_s3", die_at_the_last_part, raising=False)
    monkeypatch.setattr(sending, "TRIES", 1)
    with pytest.raises(NotSent, match="killed"):
        send(remote, folder)
    monkeypatch.undo()
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    again = remote_at(remote.url)

    sent = send(again, folder)

    # Two parts of 8 MiB are there already; the files before the big one too. Its last half part is left.
    assert PART_BYTES // 2 <= sent.bytes_sent < PART_BYTES
    assert holds(again, sent.digest)


@pytest.mark.fault
@pytest.mark.slow
def test_a_server_killed_in_the_middle_gets_everything_from_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with s3_server() as server:
        remote, folder = bucket_on(server, monkeypatch), big_bundle(tmp_path / "big")
        bucket, call, killed = remote.root.split("/")[0], remote.files.call_s3, list[int]()

        def kill_at_the_second_part(name: str, **asked: Any) -> Any:
            if name == "upload_part" and asked["PartNumber"] == 2 and not killed:
                server.kill()
                killed.append(server.port)
            return call(name, **asked)

        def start_again(_seconds: float) -> None:
            if server.process is None:
                server.start()
                remote.files.mkdir(bucket)

        monkeypatch.setattr(remote.files, "call_s3", kill_at_the_second_part, raising=False)
        sent = send(remote, folder, pause=start_again)

        # It lost the files before the big one too; no marker was set before all were back.
        assert killed
        assert sent.new
        assert fetch(remote_at(remote.url), Home(tmp_path / "elsewhere"), sent.digest)


def test_a_damaged_bundle_is_not_sent(remote: Remote, stored: Path) -> None:
    (stored / layout.SESSION).chmod(0o644)
    (stored / layout.SESSION).write_text("other")

    with pytest.raises(DamagedBundle):
        send(remote, stored)

    assert list(digests(remote)) == []


def test_a_damaged_copy_goes_to_quarantine_and_is_never_stored(
    remote: Remote, stored: Path, tmp_path: Path
) -> None:
    send(remote, stored)
    remote.files.pipe_file(f"{remote.bundle(stored.name)}/{layout.SESSION}", b"other")
    elsewhere = Home(tmp_path / "elsewhere")

    with pytest.raises(DamagedBundle, match="session"):
        fetch(remote, elsewhere, stored.name)

    assert not elsewhere.bundle(stored.name).exists()
    assert [p.name for p in elsewhere.quarantine.iterdir()] == [stored.name]


def test_a_bundle_without_its_last_file_is_not_there(
    remote: Remote, stored: Path, tmp_path: Path
) -> None:
    send(remote, stored)
    remote.files.rm_file(remote.marker(stored.name))

    with pytest.raises(UnknownBundle):
        fetch(remote, Home(tmp_path / "elsewhere"), stored.name)
    assert dict(digests(remote)) == {stored.name: False}


def test_what_is_forgotten_is_gone(remote: Remote, stored: Path) -> None:
    send(remote, stored)

    went = forget(remote, stored.name)

    assert went > 0
    assert list(digests(remote)) == []
    assert forget(remote, stored.name) == 0


def test_pages_read_a_bundle_of_the_archive_from_a_verified_copy(
    stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = remote_at(str(tmp_path / "archive"))
    send(remote, stored)
    elsewhere = Home(tmp_path / "elsewhere")
    monkeypatch.setenv("ASSAY_ARCHIVE", remote.url)

    folder = bundle_folder(elsewhere, stored.name)

    assert folder == elsewhere.bundle(stored.name)
    assert manifest.verify(folder).ok
    assert not bundle_folder(elsewhere, "0" * 64).exists()


@pytest.mark.slow
def test_an_archive_out_of_reach_leaves_a_page_without_the_bundle(
    assay_home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_ARCHIVE", "s3://team/archive")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")

    assert not bundle_folder(assay_home, "0" * 64).exists()
    with pytest.raises(OutOfReach, match="AWS_ENDPOINT_URL"):
        list(digests(remote_at("s3://team/archive")))


@pytest.mark.forbids
@pytest.mark.parametrize(
    "named",
    ["ftp://host/x", "archive", "s3://", "s3://key:secret@bucket/x", "file:///", "file://host/x"],
)
def test_only_s3_and_folders_are_archives(named: str) -> None:
    with pytest.raises(RefusedLocation, match="ASSAY_ARCHIVE"):
        remote_at(named)


@pytest.mark.forbids
def test_a_name_in_the_archive_cannot_lead_out_of_the_store(
    tmp_path: Path, stored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = remote_at(str(tmp_path / "archive"))
    send(remote, stored)
    root, find = remote.bundle(stored.name), remote.files.find

    def with_a_stranger(path: str, **asked: Any) -> Any:
        return {**find(path, **asked), f"{root}/../../evil": {"size": 1}}

    monkeypatch.setattr(remote.files, "find", with_a_stranger)

    with pytest.raises(DamagedBundle, match="outside the bundle"):
        fetch(remote, Home(tmp_path / "elsewhere"), stored.name)
