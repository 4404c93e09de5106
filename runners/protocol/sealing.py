"""Seal a bundle: segments become Parquet, the manifest is written, files become read-only.

Every step can be interrupted and done again. A stream's segments go only after its table is whole and a
note of the conversion is on disk; the manifest comes last, and with it the bundle is sealed.
"""

import errno
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runners.protocol import layout, manifest, tables, withholding
from runners.protocol.documents import Gap
from runners.protocol.segment_reader import Conversion, segment_files, to_parquet
from runners.protocol.session_log import mend
from runners.protocol.workspace import Workspace, read_json, write_json

UNCONVERTED_FOLDER = "unconverted"
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """One table of the bundle after its segments were rewritten."""

    name: str
    file: str
    rows: int
    gaps: tuple[Gap, ...]


def sealed_digest(bundle: Path) -> str | None:
    """The bundle digest of a sealed bundle; None while the manifest is not whole."""
    try:
        stated = (bundle / layout.MANIFEST_DIGEST).read_text(encoding="ascii").strip()
        body = (bundle / layout.MANIFEST).read_bytes()
    except OSError:
        return None
    return stated if hashlib.sha256(body).hexdigest() == stated else None


def convert_streams(workspace: Workspace, *, keep_content: bool) -> list[Stream]:
    """Rewrite every stream's segments as Parquet, smallest first, and remove the segments.

    When there is no room even for that, the segments themselves are moved into the bundle.
    """
    workspace.segments.mkdir(exist_ok=True)
    for part in workspace.bundle.rglob("*.part"):
        part.unlink()
    wanted = _conversions(workspace, keep_content=keep_content)
    return [_once(workspace, *one) for one in sorted(wanted, key=lambda w: _size(workspace, w))]


_Wanted = tuple[str, int | None, str, Callable[[Path], Conversion]]


def _conversions(workspace: Workspace, *, keep_content: bool) -> list[_Wanted]:
    segments = workspace.segments
    wanted: list[_Wanted] = [
        (name, None, f"{name}.parquet", _converter(segments, name, latest_by=key))
        for name, key in (("attempts", "attempt_id"), ("scrapes", None), ("telemetry", None))
    ]
    made_live = [
        *segments.glob("sent_inputs-*")
    ]  # segments, or the note of a sealing before this one
    if made_live:
        make_inputs = _converter(segments, "sent_inputs", latest_by="request_id")
        wanted.append(("sent_inputs", None, layout.SENT_INPUTS, make_inputs))
    noted = {int(p.name.split("-")[1]) for p in segments.glob("wire-*-done.json")}
    for worker in sorted({s.worker for s in segment_files(segments, "wire")} | noted):
        make = (
            _converter(segments, "wire", worker=worker, grouped_by="attempt_id")
            if keep_content
            else _digester(segments, worker, salt_of(workspace))
        )
        wanted.append(("wire", worker, f"{layout.WIRE_FOLDER}/{worker}-0.parquet", make))
    return wanted


def _converter(
    segments: Path,
    name: str,
    *,
    worker: int | None = None,
    latest_by: str | None = None,
    grouped_by: str | None = None,
) -> Callable[[Path], Conversion]:
    schema = tables.STREAMS[name]
    return lambda target: to_parquet(
        segments,
        name,
        target,
        schema,
        worker=worker,
        latest_by=latest_by,
        grouped_by=grouped_by,
    )


def _digester(segments: Path, worker: int, salt: bytes) -> Callable[[Path], Conversion]:
    return lambda target: withholding.wire_to_parquet(segments, target, worker=worker, salt=salt)


def salt_of(workspace: Workspace) -> bytes:
    """The salt of this bundle's hashes, made at its first use and kept for a resumed sealing."""
    path = workspace.root / "salt"
    if not path.exists():
        path.write_bytes(secrets.token_bytes(16))
    return path.read_bytes()


def _size(workspace: Workspace, wanted: _Wanted) -> int:
    return sum(
        s.path.stat().st_size for s in segment_files(workspace.segments, wanted[0], wanted[1])
    )


def _once(
    workspace: Workspace,
    name: str,
    worker: int | None,
    file: str,
    make: Callable[[Path], Conversion],
) -> Stream:
    """Convert one stream unless its note says that this was done already."""
    note = workspace.segments / f"{name}-{'all' if worker is None else worker}-done.json"
    known = read_json(note)
    if known is None:
        known = _convert(workspace, name, worker, file, make)
        write_json(note, known)
    for segment in segment_files(workspace.segments, name, worker):
        segment.path.unlink()
    return Stream(
        name=known["name"], file=known["file"], rows=known["rows"], gaps=tuple(known["gaps"])
    )


def _convert(
    workspace: Workspace,
    name: str,
    worker: int | None,
    file: str,
    make: Callable[[Path], Conversion],
) -> dict[str, Any]:
    target = workspace.bundle / file
    part = target.with_name(target.name + ".part")
    try:
        done = make(part)
        _sync(part)
    except OSError as error:
        part.unlink(missing_ok=True)
        if error.errno not in _FULL:
            raise
        return _keep_raw(workspace, name, worker)
    part.replace(target)
    return {"name": name, "file": file, "rows": done.rows, "gaps": list(done.gaps)}


def _keep_raw(workspace: Workspace, name: str, worker: int | None) -> dict[str, Any]:
    """Move the segments into the bundle: a rename needs no room."""
    folder = workspace.bundle / UNCONVERTED_FOLDER
    folder.mkdir(exist_ok=True)
    moved = segment_files(workspace.segments, name, worker)
    for segment in moved:
        segment.path.rename(folder / segment.path.name)
    gap = Gap(
        what=f"{name}: no disk space to rewrite {len(moved)} segments; they lie in "
        f"{UNCONVERTED_FOLDER}/ as Arrow IPC streams",
        affects=f"everything that is read from {name}",
        needed="an interpretation that reads the segments",
        state="open",
    )
    return {"name": name, "file": f"{UNCONVERTED_FOLDER}/", "rows": 0, "gaps": [gap]}


def bound_lines(path: Path, *, limit_bytes: int) -> list[Gap]:
    """Cut a torn last line of a JSONL file, and its middle if it is longer than the limit."""
    gaps: list[Gap] = []
    if torn := mend(path):
        gaps.append(
            Gap(
                what=f"{path.name}: its last line was cut in the middle ({torn} bytes removed)",
                affects="the last event of its writer",
                needed="a writer that ends by itself",
                state="open",
            )
        )
    if path.exists() and path.stat().st_size > limit_bytes:
        lost = _cut_middle(path, limit_bytes)
        gaps.append(
            Gap(
                what=f"{path.name}: {lost} bytes of its middle left out at the limit of {limit_bytes}",
                affects=f"everything read from {path.name} between its head and its tail",
                needed="a larger evidence.stream_limit_bytes",
                state="open",
            )
        )
    return gaps


def _cut_middle(path: Path, limit_bytes: int) -> int:
    size = path.stat().st_size
    part = path.with_name(path.name + ".part")
    with path.open("rb") as source, part.open("wb") as out:
        out.write(_whole_lines(source.read(limit_bytes // 2)))
        source.seek(size - limit_bytes // 2)
        source.readline()  # the rest of a line whose start is left out
        while block := source.read(1 << 20):
            out.write(block)
    kept = part.stat().st_size
    part.replace(path)
    return size - kept


def _whole_lines(data: bytes) -> bytes:
    return data[: data.rfind(b"\n") + 1]


def finish(workspace: Workspace, *, header: Mapping[str, Any]) -> str:
    """Write the manifest, make everything read-only, drop what was only needed on the way.

    Returns the bundle digest. A bundle that is sealed already keeps its digest.
    """
    bundle = workspace.bundle
    digest = sealed_digest(bundle)
    if digest is None:
        for name in (layout.MANIFEST, layout.MANIFEST_DIGEST):
            (bundle / name).unlink(missing_ok=True)
        for path in manifest.bundle_files(bundle):
            _sync(bundle / path)
        digest = manifest.build(bundle, header=dict(header))
    for file in bundle.rglob("*"):
        if file.is_file() and not file.is_symlink():
            file.chmod(0o444)
    workspace.release_reserve()
    for leftover in workspace.segments.glob("*"):
        leftover.unlink()
    return digest


def _sync(path: Path) -> None:
    if path.is_symlink() or not path.is_file():
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def copy(source: Path, target: Path) -> None:
    """A copy that is whole or not there."""
    part = target.with_name(target.name + ".part")
    shutil.copyfile(source, part)
    part.replace(target)


def write_document(path: Path, document: Any) -> None:
    """A bundle document in readable, stable form: sorted keys, no NaN."""
    part = path.with_name(path.name + ".part")
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, sort_keys=True, indent=1)
    part.write_text(text + "\n", encoding="utf-8")
    part.replace(path)
