"""Where files of a shared load lie between two machines: in the archive, or in the run's own folder.

The second is for load workers on the run's own machine. Every file is sent with its sha256 and compared when
it is fetched; what arrived otherwise is no file.
"""

import logging
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from assay.archive.remote.location import Remote, remote_at, remote_from_environment
from assay.archive.remote.resuming import send_file
from runners.protocol import manifest

log = logging.getLogger(__name__)

PLAN = "plan"  # below a place; what a client process captured lies below its number


class SharedFile(TypedDict):
    """``name`` is a path below the folder it came from, and goes to."""

    name: str
    sha256: str
    bytes: int


class NotShared(Exception):
    """A file that could not be brought, or is not what was sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A folder of the shared load of one execution."""

    remote: Remote
    folder: str

    @classmethod
    def of_execution(cls, execution_id: str, folder: Path) -> "Place":
        """In the archive that the environment names, else below ``folder`` of this machine."""
        remote = remote_from_environment()
        if remote is None:
            return cls(remote=remote_at(str(folder / "shared")), folder=str(folder / "shared"))
        return cls(remote=remote, folder=f"{remote.root}/shared_loads/{execution_id}")

    @classmethod
    def named(cls, url: str, folder: str) -> "Place":
        return cls(remote=remote_at(url), folder=folder)

    def put(self, source: Path, names: Iterable[str], *, under: str) -> list[SharedFile]:
        """Bring these files of folder ``source``. Raises NotShared."""
        found = []
        for name in names:
            path = source / name
            sha256, size = manifest.sha256_of(path), path.stat().st_size
            try:
                send_file(self.remote, path, f"{self.folder}/{under}/{name}", sha256=sha256)
            except self.remote.failures as error:
                raise NotShared(f"{self.remote.url}: {name}: {error}") from error
            found.append(SharedFile(name=name, sha256=sha256, bytes=size))
        return found

    def get(self, files: Iterable[SharedFile], target: Path, *, under: str) -> None:
        """Fetch these files into folder ``target``. Raises NotShared."""
        for file in files:
            path = target / file["name"]
            if not path.resolve().is_relative_to(target.resolve()):
                raise NotShared(f"{file['name']}: a path outside the folder")
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_name(f"{path.name}.part")
            try:
                self.remote.files.get_file(f"{self.folder}/{under}/{file['name']}", str(part))
            except self.remote.failures as error:
                raise NotShared(f"{self.remote.url}: {file['name']}: {error}") from error
            if (seen := manifest.sha256_of(part)) != file["sha256"]:
                part.unlink()
                raise NotShared(f"{file['name']}: came as sha256 {seen}, sent was {file['sha256']}")
            part.replace(path)

    def clear(self) -> None:
        """Nothing of it is needed any more. What cannot be removed now does no harm."""
        with suppress(FileNotFoundError):
            try:
                self.remote.files.rm(self.folder, recursive=True)
            except FileNotFoundError:
                raise
            except self.remote.failures as error:
                log.warning("%s is left in the archive: %s", self.folder, error)
