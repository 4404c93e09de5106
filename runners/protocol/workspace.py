"""The working folder of one execution: where everything lies while it runs and until it is archived."""

import contextlib
import fcntl
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runners.protocol import layout
from runners.protocol.errors import Finding, Refused

RESERVE_BYTES = 32 * 2**20
_RESERVE_SHARE = 0.05  # of the free space, on a small file system


_locks: dict[Path, int] = {}  # held until this process ends, however it ends


@dataclass(frozen=True, slots=True)
class Workspace:
    """Paths below ``root``. Only ``bundle`` outlives the execution."""

    root: Path

    def lock(self) -> bool:
        """Claim the folder for this process until it ends; False while another process has it."""
        if self.root in _locks:
            return True
        descriptor = os.open(self.root / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        _locks[self.root] = descriptor
        return True

    @property
    def bundle(self) -> Path:
        return self.root / layout.BUNDLE_FOLDER

    @property
    def segments(self) -> Path:
        return self.root / layout.SEGMENTS_FOLDER

    @property
    def keeper(self) -> Path:
        return self.root / layout.KEEPER_FOLDER

    @property
    def scratch(self) -> Path:
        return self.root / "scratch"

    @property
    def progress(self) -> Path:
        return self.root / layout.PROGRESS

    @property
    def runner(self) -> Path:
        """Who runs this execution: pid, start time, boot id."""
        return self.root / "runner.json"

    @property
    def launch(self) -> Path:
        """How the engine was started; what the reaper needs of it."""
        return self.root / "launch.json"

    @property
    def registered_predictions(self) -> Path:
        """The predictions as they were before the launch."""
        return self.root / "registered" / layout.PREDICTIONS

    @property
    def reserve(self) -> Path:
        return self.root / "reserve"

    def context(self) -> dict[str, Any]:
        """``context.json``. Raises Refused where the folder was not prepared."""
        return self._document(self.root / layout.CONTEXT)

    def spec(self) -> dict[str, Any]:
        """The frozen RunSpec of the bundle. Raises Refused where the folder was not prepared."""
        return self._document(self.bundle / layout.SPEC)

    def _document(self, path: Path) -> dict[str, Any]:
        try:
            document = json.loads(path.read_bytes())
        except (OSError, ValueError) as error:
            raise Refused(
                Finding(
                    field=str(path),
                    seen=str(error),
                    allowed="a folder that `python -m runners prepare REQUEST OUT` made",
                    remedy="Prepare the run first.",
                )
            ) from error
        if not isinstance(document, dict):
            raise Refused(
                Finding(
                    field=str(path),
                    seen=type(document).__name__,
                    allowed="a JSON object",
                    remedy="Prepare the run again.",
                )
            )
        return document

    def take_reserve(self) -> int:
        """Hold back disk space, so that a run that fills the disk can still be sealed. Returns its bytes."""
        free = os.statvfs(self.root)
        size = int(min(RESERVE_BYTES, free.f_bavail * free.f_frsize * _RESERVE_SHARE))
        with contextlib.suppress(OSError), self.reserve.open("wb") as stream:
            os.posix_fallocate(stream.fileno(), 0, max(size, 4096))
            return size
        self.reserve.unlink(missing_ok=True)
        return 0

    def release_reserve(self) -> None:
        self.reserve.unlink(missing_ok=True)

    def free_bytes(self) -> int:
        free = os.statvfs(self.root)
        return free.f_bavail * free.f_frsize


def read_json(path: Path) -> Any | None:
    """The document, or None when it is not there or not whole."""
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None


def write_json(path: Path, document: Any) -> None:
    """Write and rename, so that nobody reads half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_bytes(json.dumps(document, ensure_ascii=False, allow_nan=False).encode())
    part.replace(path)


def json_lines(path: Path) -> list[dict[str, Any]]:
    """Every whole object of a file of JSON lines; a torn line is left out, no file gives none."""
    rows: list[dict[str, Any]] = []
    for line in path.read_bytes().splitlines() if path.exists() else []:
        with contextlib.suppress(ValueError):
            row = json.loads(line)
            if isinstance(row, dict):
                rows.append(row)
    return rows
