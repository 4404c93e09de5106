"""Read what was derived from a bundle, and the bundle's own files, for pages.

A sealed bundle and an interpretation never change, so parsed documents are kept per process by path.
"""

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from django.conf import settings

from assay.analysis.documents import RunReading
from assay.archive.paths import Home
from assay.archive.remote import fetching
from assay.archive.stored_reading import INTERPRETATION, StoredReading
from assay.ledger.models import Bundle, Interpretation
from runners.protocol import layout
from runners.protocol.documents import (
    ClocksDocument,
    IdentityDocument,
    ObservationPoint,
    PredictionsDocument,
)


def home() -> Home:
    return Home(Path(settings.HOME))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One interpretation on disk. ``None`` from a reader means that the file is not there."""

    folder: Path

    @property
    def present(self) -> bool:
        return (self.folder / INTERPRETATION).is_file()

    def document(self) -> RunReading | None:
        """What is said of the run as a whole."""
        return cast(RunReading | None, _json(self.folder / INTERPRETATION))

    @property
    def stored(self) -> StoredReading:
        """What is said of its attempts."""
        return StoredReading(self.folder)

    def table(self, name: str) -> Path | None:
        path = self.folder / name
        return path if path.is_file() else None


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleFolder:
    """A stored bundle. ``None`` from a reader means that the file is not there."""

    folder: Path

    def manifest(self) -> dict[str, Any] | None:
        return cast(dict[str, Any] | None, _json(self.folder / layout.MANIFEST))

    def identity(self) -> IdentityDocument | None:
        return cast(IdentityDocument | None, _json(self.folder / layout.IDENTITY))

    def predictions(self) -> PredictionsDocument | None:
        return cast(PredictionsDocument | None, _json(self.folder / layout.PREDICTIONS))

    def clocks(self) -> ClocksDocument | None:
        return cast(ClocksDocument | None, _json(self.folder / layout.CLOCKS))

    def observation_points(self) -> list[ObservationPoint]:
        document = _json(self.folder / layout.OBSERVATION)
        points = document.get("points", []) if isinstance(document, dict) else document
        return cast(list[ObservationPoint], points or [])

    def file(self, name: str) -> Path | None:
        """A file of the bundle by its relative path; a path that leaves the folder is no file."""
        root = self.folder.resolve()
        path = (root / name).resolve()
        return path if path.is_relative_to(root) and path.is_file() else None


def reading_of(interpretation: Interpretation) -> Reading:
    folder = home().derived / interpretation.bundle_id / interpretation.definition_version
    return Reading(folder=folder)


def bundle_folder(bundle: Bundle) -> BundleFolder:
    return BundleFolder(folder=fetching.bundle_folder(home(), bundle.digest))


def _json(path: Path) -> Any:
    try:
        stamp = path.stat()
    except FileNotFoundError:
        return None
    return _parsed(path, stamp.st_mtime_ns, stamp.st_size)


@lru_cache(maxsize=24)
def _parsed(path: Path, _modified_ns: int, _bytes: int) -> Any:
    return json.loads(path.read_bytes())
