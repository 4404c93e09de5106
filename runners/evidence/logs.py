"""The engine's own output within a byte limit: its head and its tail are kept, the loss is counted.

The head is written to ``engine.log``; after that, two files of the tail take turns, each named for its place
in the whole stream, so that head, tail and loss are known even when the writer was killed.
Every chunk is anchored in time by a line {"offset", "t_ns"}; offsets count the whole redacted stream.
Standard library only: the keeper imports this.
"""

import errno
import json
import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

from runners.evidence.secrets import Redactor

TIMES = "log_times.jsonl"
REDACTIONS = "log_redactions.jsonl"
_TAIL = "tail-"
_LONGEST_LINE = 2**20
_MARK = "\n[assay: {lost} bytes left out here]\n"


class BoundedLog:
    """Writes a stream as it comes. Never raises for a full disk: it counts what was lost."""

    def __init__(self, head: Path, folder: Path, *, limit_bytes: int, redactor: Redactor) -> None:
        self._folder = folder
        self._head_limit = limit_bytes // 2
        self._tail_limit = max(limit_bytes // 4, 1)
        self._redactor = redactor
        self._out: BinaryIO = head.open("ab", buffering=0)
        self._times = (folder / TIMES).open("ab", buffering=0)
        self._redactions = (folder / REDACTIONS).open("ab", buffering=0)
        self._in_head = True
        self._in_file = 0
        self._tails: list[Path] = []
        self._pending = b""
        self._pending_ns = 0
        self.written = 0  # length of the whole redacted stream
        self.disk_full_bytes = 0

    def write(self, chunk: bytes, t_ns: int) -> None:
        if not self._pending:
            self._pending_ns = t_ns
        self._pending += chunk
        end = self._pending.rfind(b"\n") + 1
        if end == 0 and len(self._pending) > _LONGEST_LINE:
            # a secret may lie across the cut, so as much as the longest one is held back
            end = len(self._pending) - max(self._redactor.longest, 256)
        if end > 0:
            self._emit(self._pending[:end], self._pending_ns)
            self._pending, self._pending_ns = self._pending[end:], t_ns

    def flush(self) -> None:
        """Write the unfinished last line too."""
        if self._pending:
            self._emit(self._pending, self._pending_ns)
            self._pending = b""

    def close(self) -> None:
        self.flush()
        for stream in (self._out, self._times, self._redactions):
            stream.close()

    def _emit(self, data: bytes, t_ns: int) -> None:
        clean, found = self._redactor.redact(data, base=self.written)
        self._append(self._times, _line({"offset": self.written, "t_ns": t_ns}))
        for item in found:
            self._append(self._redactions, _line({"offset": item.offset, "rule": item.rule}))
        if self._in_file >= (self._head_limit if self._in_head else self._tail_limit):
            self._turn()
        self.written += len(clean)
        self._in_file += len(clean)
        if not self._append(self._out, clean):
            self.disk_full_bytes += len(clean)

    def _turn(self) -> None:
        """Start the next tail file and forget the one before the last."""
        self._out.close()
        path = self._folder / f"{_TAIL}{self.written:020d}"
        self._out = path.open("ab", buffering=0)
        self._in_head, self._in_file = False, 0
        self._tails.append(path)
        while len(self._tails) > 2:
            self._tails.pop(0).unlink(missing_ok=True)

    def _append(self, stream: BinaryIO, data: bytes) -> bool:
        try:
            return stream.write(data) == len(data)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise
            return False


def _line(row: dict[str, int | str]) -> bytes:
    return json.dumps(row, separators=(",", ":")).encode() + b"\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembled:
    """Where the kept log has its cut, if any. ``lost_bytes`` were left out at ``cut_at``."""

    bytes: int
    lost_bytes: int
    cut_at: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Join:
    """How head and tail become one file: the tail's first byte has the offset ``start`` in the stream."""

    size: int
    start: int

    @property
    def lost(self) -> int:
        return max(self.start - self.size, 0)

    @property
    def mark(self) -> bytes:
        return _MARK.format(lost=self.lost).encode() if self.lost else b""

    def place(self, offset: int) -> int | None:
        if offset < self.size:
            return offset
        return None if offset < self.start else offset - self.lost + len(self.mark)


def assemble(head: Path, folder: Path, *, times: Path, redactions: Path) -> Assembled:
    """Append the tail to ``head``; write time anchors and redactions with offsets of the joined file.

    Safe to do again after an interruption: the plan is written first, and the tail goes last.
    """
    head.touch()
    plan_file, done = folder / "join.json", folder / "joined"
    if not plan_file.exists():
        plan_file.write_text(json.dumps(asdict(_plan(head, folder))), encoding="ascii")
    plan = _Join(**json.loads(plan_file.read_text(encoding="ascii")))
    if not done.exists():
        _append_tail(head, folder, plan)
        _rewrite(folder / TIMES, times, plan)
        _rewrite(folder / REDACTIONS, redactions, plan)
        done.touch()
    for tail in _tails(folder):
        tail.unlink()
    lost = plan.lost
    return Assembled(bytes=head.stat().st_size, lost_bytes=lost, cut_at=plan.size if lost else None)


def _tails(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"{_TAIL}*"))[-2:]


def _plan(head: Path, folder: Path) -> _Join:
    size, tails = head.stat().st_size, _tails(folder)
    return _Join(size=size, start=int(tails[0].name.removeprefix(_TAIL)) if tails else size)


def _append_tail(head: Path, folder: Path, plan: _Join) -> None:
    if not (tails := _tails(folder)):
        return
    with head.open("r+b") as out:
        out.truncate(plan.size)
        out.seek(plan.size)
        out.write(plan.mark)
        for tail in tails:
            with tail.open("rb") as source:
                shutil.copyfileobj(source, out)
        out.flush()
        os.fsync(out.fileno())


def _rewrite(source: Path, target: Path, plan: _Join) -> None:
    rows = []
    for line in source.read_bytes().splitlines() if source.exists() else []:
        try:
            row = json.loads(line)
        except ValueError:
            continue  # the last line of a killed writer
        offset = plan.place(row["offset"])
        if offset is not None:
            rows.append(_line({**row, "offset": offset}))
    target.write_bytes(b"".join(rows))


def last_lines(head: Path, folder: Path, *, count: int = 12, limit_bytes: int = 8192) -> list[str]:
    """The last lines that the stream has so far, for a message; joined or not."""
    data = b""
    for path in (head, *_tails(folder)):
        if path.exists():
            with path.open("rb") as stream:
                stream.seek(max(path.stat().st_size - limit_bytes, 0))
                data = (data + stream.read())[-limit_bytes:]
    return [line.rstrip() for line in data.decode("utf-8", "replace").splitlines()][-count:]
