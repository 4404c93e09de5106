"""Sealing: segments become tables, interruptions are survived, a full disk loses nothing."""

import errno
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from runners.protocol import layout, manifest, sealing, tables, withholding
from runners.protocol.segment_writer import SegmentWriter
from runners.protocol.segments import segment_name
from runners.protocol.workspace import Workspace
from tests.runners import prepared

SALT = b"0123456789abcdef"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A prepared execution with two attempts, five reads and a scrape in its segments."""
    workspace = Workspace(prepared.prepare(tmp_path / "run"))
    writer = SegmentWriter(workspace.segments, limit_bytes=2**20)
    streams = {name: writer.open(name, schema) for name, schema in tables.STREAMS.items()}
    for end in (None, "closed"):  # the attempt as it was sent, then as it ended
        for number in (1, 2):
            streams["attempts"].append(attempt(f"load-000{number}.A1", end))
    for number in range(5):
        streams["wire"].append(("load-0001.A1", number, b"data: %d\n\n" % number))
    streams["scrapes"].append((1, 2, "/metrics", 200, "x 1\n", None))
    streams["telemetry"].append((1, "host", None, "cpu_user_s", 1.5, "s"))
    writer.close()
    return workspace


def attempt(attempt_id: str, end: str | None) -> tuple[Any, ...]:
    known = {"attempt_id": attempt_id, "end": end, "sequence": 1}
    return tuple(known.get(field.name) for field in tables.ATTEMPTS)


def seal(workspace: Workspace) -> str:
    sealing.convert_streams(workspace, keep_content=True)
    return sealing.finish(workspace, header={"run_id": "r", "state": "sealed"})


def test_streams_become_tables_and_segments_go(workspace: Workspace) -> None:
    streams = {s.file: s.rows for s in sealing.convert_streams(workspace, keep_content=True)}

    assert streams == {
        "attempts.parquet": 2,
        "scrapes.parquet": 1,
        "sent_inputs.parquet": 0,  # the stream was opened, and nothing had to be made
        "telemetry.parquet": 1,
        "wire/0-0.parquet": 5,
    }
    attempts = pq.read_table(workspace.bundle / layout.ATTEMPTS).to_pylist()
    assert [row["end"] for row in attempts] == ["closed", "closed"]  # the last state of each
    assert list(workspace.segments.glob("*.arrows")) == []


def test_a_sealed_bundle_is_read_only_and_verifies(workspace: Workspace) -> None:
    workspace.take_reserve()

    digest = seal(workspace)

    assert manifest.verify(workspace.bundle).bundle_digest == digest
    modes = {p.stat().st_mode & 0o777 for p in workspace.bundle.rglob("*") if p.is_file()}
    assert modes == {0o444}
    assert not workspace.reserve.exists()


def test_sealing_twice_gives_the_same_bundle(workspace: Workspace) -> None:
    first = seal(workspace)

    assert seal(workspace) == first
    assert sealing.finish(workspace, header={"run_id": "another", "state": "lost"}) == first


def points(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Die once at each step of the sealing; after each death the same sealing is asked for again."""
    steps = [
        (sealing, "to_parquet"),
        (sealing, "write_json"),
        (Path, "unlink"),
        (manifest, "build"),
        (Path, "chmod"),
    ]
    for owner, name in steps:
        real = getattr(owner, name)
        calls: list[int] = []

        at = 1 if name == "build" else 2

        def dies(
            *args: Any, real: Any = real, calls: list[int] = calls, at: int = at, **more: Any
        ) -> Any:
            calls.append(1)
            if len(calls) == at:
                raise KeyboardInterrupt
            return real(*args, **more)

        with monkeypatch.context() as patch:
            patch.setattr(owner, name, dies)
            with pytest.raises(KeyboardInterrupt):
                seal(workspace)
        yield name


def test_an_interrupted_sealing_goes_on_where_it_stopped(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    died_at = list(points(workspace, monkeypatch))

    seal(workspace)

    assert len(died_at) == 5
    assert manifest.verify(workspace.bundle).ok
    counts = {
        name: pq.read_metadata(workspace.bundle / name).num_rows
        for name in ("attempts.parquet", "wire/0-0.parquet", "scrapes.parquet")
    }
    assert counts == {"attempts.parquet": 2, "wire/0-0.parquet": 5, "scrapes.parquet": 1}


def test_a_torn_segment_gives_what_it_has_and_the_cut_is_a_gap(workspace: Workspace) -> None:
    path = workspace.segments / segment_name("wire", 0, 0)
    path.write_bytes(path.read_bytes()[:-20])  # into the last message, as a death would leave it

    streams = {s.name: s for s in sealing.convert_streams(workspace, keep_content=True)}

    [gap] = streams["wire"].gaps
    assert "ends without its end mark" in gap["what"]


def test_without_room_to_rewrite_the_segments_move_into_the_bundle(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(sealing, "to_parquet", full)
    streams = sealing.convert_streams(workspace, keep_content=True)
    sealing.finish(workspace, header={})

    assert all("no disk space" in s.gaps[0]["what"] for s in streams)
    kept = [p.name for p in (workspace.bundle / sealing.UNCONVERTED_FOLDER).iterdir()]
    assert sorted(kept) == [segment_name(name, 0, 0) for name in sorted(tables.STREAMS)]
    assert manifest.verify(workspace.bundle).ok


def test_with_digest_no_text_stays_but_times_sizes_and_hashes_do(workspace: Workspace) -> None:
    sealing.convert_streams(workspace, keep_content=False)
    salt = sealing.salt_of(workspace)
    withholding.prompts_to_digest(workspace.bundle / layout.PROMPTS, salt=salt)
    withholding.prompts_to_digest(workspace.bundle / layout.PROMPTS, salt=salt)  # again: no change

    reads = pq.read_table(workspace.bundle / "wire" / "0-0.parquet").to_pylist()
    [prompt] = pq.read_table(workspace.bundle / layout.PROMPTS).to_pylist()
    assert [row["t_ns"] for row in reads] == [0, 1, 2, 3, 4]
    assert {row["data"] for row in reads} == {None}
    assert reads[3]["bytes"] == 9  # "data: 3\n\n"
    assert reads[3]["sha256"] == withholding.salted(salt, b"data: 3\n\n")
    assert (prompt["messages"], prompt["expanded"], prompt["token_ids"]) == (None, None, None)
    assert prompt["tokens"] == 3
    # ids 1, 2, 3 as little-endian int32
    ids = b"\x01\0\0\0\x02\0\0\0\x03\0\0\0"
    assert prompt["token_ids_sha256"] == withholding.salted(salt, ids)
    everything = b"".join(p.read_bytes() for p in workspace.bundle.rglob("*") if p.is_file())
    assert b"data: 3" not in everything


def test_the_salt_is_of_this_bundle_and_stays(workspace: Workspace, tmp_path: Path) -> None:
    other = Workspace(prepared.prepare(tmp_path / "other"))

    assert sealing.salt_of(workspace) == sealing.salt_of(workspace)
    assert sealing.salt_of(workspace) != sealing.salt_of(other)


def test_a_long_file_of_lines_keeps_whole_lines_of_head_and_tail(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    lines = [b'{"n": "%03d"}\n' % n for n in range(100)]  # 13 bytes each
    path.write_bytes(b"".join(lines) + b'{"n"')

    torn, cut = sealing.bound_lines(path, limit_bytes=260)

    # Head: 130 bytes = 10 lines. Tail: the last 130 bytes begin at a line, which is skipped as if it were
    # cut: 9 lines. Of 1,300 bytes 1,300 - 130 - 117 = 1,053 are left out.
    assert path.read_bytes() == b"".join(lines[:10] + lines[91:])
    assert "4 bytes removed" in torn["what"]
    assert "1053 bytes" in cut["what"]


def test_a_bundle_without_a_whole_manifest_is_not_sealed(workspace: Workspace) -> None:
    assert sealing.sealed_digest(workspace.bundle) is None
    (workspace.bundle / layout.MANIFEST).write_text("{}")
    (workspace.bundle / layout.MANIFEST_DIGEST).write_text("0" * 64)

    assert sealing.sealed_digest(workspace.bundle) is None
