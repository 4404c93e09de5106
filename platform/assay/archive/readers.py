"""A sealed bundle's tables and documents as inputs of the analysis, read in bounded memory.

Times leave here as ns from the run's origin (of their own clock domain), so that every published number stays
below 2**53. Wire rows are read by ``attempt_batches``, some attempts at a time; they are never held together.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from assay.analysis.engine_events import EngineEventReader
from assay.analysis.events import EventRecord
from assay.archive.declared_reading import DeclaredReading
from assay.archive.parquet_columns import read_columns
from runners.protocol import layout, manifest
from runners.protocol.events import Phase, Segment

UNSPECIFIED = "unspecified"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientClock:
    """The clock that stamped one client process: its domain, and the run's origin on it to ``error_ns``."""

    domain: str
    origin_ns: int
    error_ns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """One row of ``session.jsonl`` and where it stands."""

    event: str
    t_ns: int
    fields: dict[str, Any]
    evidence: str


class Bundle:
    """Reads one bundle folder. A bundle that was cut short lacks files; each reader then yields nothing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.events_reader = EngineEventReader(
            file=layout.ENGINE_EVENTS,
            client_domain=self.client_domain,
            origin_ns=self.origin_ns,
        )

    @cached_property
    def digest(self) -> str:
        return (self.folder / layout.MANIFEST_DIGEST).read_text(encoding="ascii").strip()

    @property
    def seed(self) -> int:
        """Random parts of a reading are seeded from the bundle digest."""
        return int(self.digest[:16], 16)

    @cached_property
    def header(self) -> dict[str, Any]:
        return manifest.read(self.folder)

    @cached_property
    def clocks(self) -> dict[str, Any]:
        return self.document(layout.CLOCKS) or {}

    @cached_property
    def declared(self) -> DeclaredReading:
        return DeclaredReading(self.folder)

    @property
    def client_domain(self) -> str:
        return str(self.clocks.get("client_domain") or UNSPECIFIED)

    @property
    def origin_ns(self) -> int:
        return int(self.clocks.get("origin_ns") or 0)

    @cached_property
    def load_worker_clocks(self) -> dict[int, ClientClock]:
        """Of client processes on other machines, by their mark in attempts and wire."""
        found = {}
        for domain in self.clocks.get("domains") or ():
            if "worker" in domain:
                low_ns, high_ns = map(int, domain["offset_ns"])
                found[int(domain["worker"])] = ClientClock(
                    domain=domain["id"],
                    origin_ns=self.origin_ns + (low_ns + high_ns) // 2,
                    error_ns=int(domain["error_ns"]),
                )
        return found

    def document(self, name: str) -> dict[str, Any] | None:
        """A JSON object of the bundle, or None if the file is not there."""
        path = self.folder / name
        if not path.is_file():
            return None
        found = json.loads(path.read_bytes())
        return found if isinstance(found, dict) else None

    def missing(self, name: str) -> bool:
        """Whether a file of the manifest is withheld from this copy."""
        listed = any(entry["path"] == name for entry in self.header["files"])
        return listed and not (self.folder / name).exists()

    @property
    def withheld(self) -> list[str]:
        return [e["path"] for e in self.header["files"] if self.missing(e["path"])]

    def session(self) -> list[SessionRow]:
        """Rows of the runner's own log; a torn last line is left out."""
        rows = []
        for number, row in self._json_lines(layout.SESSION):
            rows.append(
                SessionRow(
                    event=str(row.get("event")),
                    t_ns=int(row.get("t_ns", self.origin_ns)) - self.origin_ns,
                    fields=row,
                    evidence=f"{layout.SESSION}:{number}",
                )
            )
        return rows

    def offered(self) -> tuple[int | None, int | None]:
        """Planned requests of the measured phase, and of its load segment; None without a plan."""
        path = self.folder / layout.PLAN
        if not path.is_file():
            return None, None
        plan = read_columns(path, ("phase", "segment"))
        measured = plan.filter(pc.equal(plan["phase"], Phase.measure.value))["segment"]
        load = pc.sum(pc.equal(measured, Segment.load.value)).as_py()
        return len(measured), load or 0

    def attempt_ids(self) -> list[str]:
        """Attempts of all phases."""
        path = self.folder / layout.ATTEMPTS
        if not path.is_file():
            return []
        found: list[str] = read_columns(path, ("attempt_id",))["attempt_id"].to_pylist()
        return found

    def wire_files(self) -> list[Path]:
        folder = self.folder / layout.WIRE_FOLDER
        return sorted(folder.glob("*.parquet")) if folder.is_dir() else []

    @property
    def wire_withheld(self) -> bool:
        return any(name.startswith(layout.WIRE_FOLDER) for name in self.withheld)

    @property
    def has_events(self) -> bool:
        return (self.folder / layout.ENGINE_EVENTS).is_file()

    def events(self) -> Iterator[EventRecord]:
        """The engine's own events, normalised and counted from the run's origin."""
        if not self.has_events:
            return
        with (self.folder / layout.ENGINE_EVENTS).open("rb") as stream:
            yield from self.events_reader.records(stream)

    def _json_lines(self, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
        path = self.folder / name
        if not path.is_file():
            return
        with path.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                try:
                    row = json.loads(line)
                except ValueError:
                    continue
                if isinstance(row, dict):
                    yield number, row
