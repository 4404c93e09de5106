"""Where the archive of a team lies: a folder that all machines reach, or S3. One setting says it.

``ASSAY_ARCHIVE`` is ``s3://bucket/prefix``, ``file:///folder`` or the path of a folder. Endpoint and keys of
S3 are the variables that every S3 client knows (``AWS_ENDPOINT_URL``, ``AWS_ACCESS_KEY_ID``, ...). Unset:
what lies in the store of this machine is all there is.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import fsspec

from assay.archive.errors import ArchiveError
from runners.protocol import layout

VARIABLE = "ASSAY_ARCHIVE"
# A server that is gone must be noticed while somebody waits; the upload above tries again by itself.
_S3_OPTIONS = {
    "config_kwargs": {
        "connect_timeout": 5,
        "read_timeout": 60,
        "retries": {"max_attempts": 2, "mode": "standard"},
    },
    "use_listings_cache": False,
    "skip_instance_cache": True,
}


class RefusedLocation(ArchiveError):
    """A setting that names no archive."""

    def __init__(self, seen: str) -> None:
        super().__init__(
            f"{VARIABLE}: {seen} (allowed: s3://bucket/prefix, file:///folder, or the absolute path of a "
            "folder). Unset it to keep bundles on this machine only"
        )


class OutOfReach(ArchiveError):
    """The archive does not answer, or refuses us."""

    def __init__(self, url: str, problem: str) -> None:
        super().__init__(
            f"archive: {url}: {problem} (allowed: an archive that answers). Check {VARIABLE}, and for S3 "
            "AWS_ENDPOINT_URL and the keys"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """An archive: ``root/<first two>/<digest>/`` holds a bundle's files, as in the store of a machine."""

    url: str
    root: str
    files: Any  # fsspec.AbstractFileSystem, which is not typed

    @property
    def is_folder(self) -> bool:
        return urlsplit(self.url).scheme == "file"

    @property
    def failures(self) -> tuple[type[Exception], ...]:
        """What its client raises when it cannot be reached; a file that is not there is no such failure."""
        if self.is_folder:
            return (OSError,)
        from botocore.exceptions import BotoCoreError

        return (OSError, BotoCoreError)

    def bundle(self, digest: str) -> str:
        return f"{self.root}/{digest[:2]}/{digest}"

    def marker(self, digest: str) -> str:
        """The file that is written last: where it is, the bundle is whole."""
        return f"{self.bundle(digest)}/{layout.MANIFEST_DIGEST}"


def remote_from_environment(environment: Mapping[str, str] = os.environ) -> Remote | None:
    """The archive that the environment names; None where none is named. Opens no connection."""
    named = environment.get(VARIABLE, "").strip()
    return remote_at(named) if named else None


def remote_at(named: str) -> Remote:
    """Raises RefusedLocation for what is neither S3 nor a folder."""
    url = Path(named).as_uri() if named.startswith("/") else named.rstrip("/")
    parts = urlsplit(url)
    if parts.scheme == "file" and not parts.netloc and len(parts.path) > 1:
        return Remote(url=url, root=parts.path, files=fsspec.filesystem("file"))
    if parts.scheme == "s3" and parts.netloc and not parts.username:
        root = f"{parts.netloc}{parts.path}"
        return Remote(url=url, root=root, files=fsspec.filesystem("s3", **_S3_OPTIONS))
    raise RefusedLocation(named)
