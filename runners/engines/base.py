"""What every engine adapter provides. Adapters are strangers to each other and know no platform."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from runners.protocol.documents import Anchor, Gap, IdentityItem
from runners.protocol.series import SeriesMap


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchPlan:
    """How to start the engine process. ``command`` is a list, never a shell line."""

    command: Sequence[str]
    environment: Mapping[str, str]
    base_url: str  # http://127.0.0.1:PORT
    events_file: Path | None  # the engine's own event log, if it writes one
    clock_domain: str | None  # of the engine's own stamps; null if unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Elsewhere:
    """An engine that somebody else runs: reached at ``base_url``, never started and never stopped.

    ``authorization_env`` names the variable whose value is sent as the bearer token.
    """

    base_url: str
    authorization_env: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchContext:
    """Folders and ports a launch may use. All paths are absolute."""

    spec: Mapping[str, Any]  # the frozen RunSpec
    artifact_files: Mapping[str, Path]  # declared path -> verified file on disk
    bundle: Path
    scratch: Path
    port: int
    execution_id: str
    roots: Sequence[Path] = ()  # folders that a declaration may name files of


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceContext:
    """What an adapter may read to state the run's identity, after the engine has stopped or while it runs."""

    spec: Mapping[str, Any]
    bundle: Path
    base_url: str
    server_info: Mapping[str, Any] | None
    version: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedContext:
    """What an engine printed, once it has stopped. ``anchors`` tie its wall times to ``clock_domain``."""

    spec: Mapping[str, Any]
    bundle: Path
    server_info: Mapping[str, Any] | None
    anchors: Sequence[Anchor]
    clock_domain: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """Rows of ``engine_events.jsonl`` that were read out of the log, and what its lines did not give.

    A line that changed its form gives a gap here and no row.
    """

    rows: Sequence[Mapping[str, Any]] = ()
    gaps: Sequence[Gap] = ()


class EngineAdapter(Protocol):
    """One engine. All methods are synchronous and quick, but for the network calls of ``profile_*``."""

    key: str

    def environment_problem(self, spec: Mapping[str, Any]) -> str | None:
        """What this machine lacks to start the pinned engine, with the command to get it; None if nothing."""

    def launch(self, context: LaunchContext) -> LaunchPlan | Elsewhere:
        """The command line and environment, from typed settings alone; or where it runs already."""

    def health_path(self) -> str:
        """A path that answers 200 when ready and generates nothing."""

    def version_path(self) -> str:
        """A path whose JSON body holds ``version``."""

    def info_path(self) -> str | None:
        """A path with the resolved configuration as JSON, or None."""

    def metrics_path(self) -> str | None:
        """A Prometheus text path, or None."""

    def series(self) -> SeriesMap:
        """Which series of these metrics says what; empty where there are none."""

    def profile_start(self) -> tuple[str, str, Mapping[str, Any]] | None:
        """Method, path and JSON body that start a trace, or None if the engine offers none."""

    def profile_stop(self) -> tuple[str, str, Mapping[str, Any]] | None:
        """Method, path and JSON body that stop it; the trace is then in the bundle's trace folder."""

    def printed(self, context: PrintedContext) -> Printed:
        """The engine's events out of its log; nothing for one that writes its own event log."""

    def identity(self, context: EvidenceContext) -> list[IdentityItem]:
        """The eight items with their evidence; an item without evidence keeps ``ran`` null and says why."""
