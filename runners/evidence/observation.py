"""What was seen where: the observation points of a run, and the clocks their times belong to."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runners.catalogue import ENGINES
from runners.evidence import load_workers
from runners.evidence.sampler import ANCHORS
from runners.protocol import clocks, layout
from runners.protocol.documents import Anchor, ClockDomain, ClocksDocument, ObservationPoint
from runners.protocol.events import EngineEvent, ResourceLimit
from runners.protocol.sealing import Stream, salt_of
from runners.protocol.workspace import Workspace, json_lines

_EVENT_LAYERS = {"front": "engine_front", "loop": "engine_loop"}


def level(bundle: Path) -> ResourceLimit:
    """E2 where the engine itself left a record of its inside, E1 where only the caller's view exists.

    E0 where no model ran at all: a replay's times are those of another run.
    """
    if not _computed(bundle):
        return ResourceLimit.E0
    events = bundle / layout.ENGINE_EVENTS
    inside = events.exists() and events.stat().st_size > 0
    return ResourceLimit.E2 if inside else ResourceLimit.E1


def _computed(bundle: Path) -> bool:
    spec = bundle / layout.SPEC
    if not spec.exists():  # a failure before the declaration was written
        return True
    entry = ENGINES.get(str(json.loads(spec.read_bytes())["engine"]["key"]))
    return entry is None or entry.computes


def document(
    workspace: Workspace,
    *,
    streams: Sequence[Stream],
    spec: Mapping[str, Any],
    sampler: Mapping[str, Any] | None,
    client_streams: Sequence[Mapping[str, Any]] | None,
) -> dict[str, Any]:
    """``observation.json``: the points in order of capture, the rows of each stream, and what was kept.

    The two ends come first, the client's socket and the engine's front end; then the interior.

    ``dropped`` counts what a point lost; null where nobody was left to count.
    """
    evidence = spec["evidence"]
    domain = client_domain(workspace)
    missed = None if sampler is None else sampler.get("missed_turns", {})
    scraped = any(s.rows for s in streams if s.name == "scrapes")
    log = workspace.bundle / layout.ENGINE_LOG
    limit = level(workspace.bundle)
    printed = log.exists() and log.stat().st_size > 0
    points = [
        _point(
            "client_socket",
            "every read of the client's sockets and its time",
            layer="client_socket",
            perspective="client",
            domain=domain,
            dropped=_lost(client_streams, "wire"),
            level=min(limit, ResourceLimit.E1),
        ),
        *load_workers.points(
            workspace,
            level=min(limit, ResourceLimit.E1),
            lost=lambda worker: _lost(client_streams, "wire", worker),
        ),
        *_engine_points(workspace.bundle),
        *_sampled_points(evidence, domain, missed, scraped=scraped),
    ]
    if printed:
        points.append(
            _point(
                "engine_log",
                "what the engine printed; times are those of our read",
                layer="engine_log",
                perspective="server",
                domain=domain,
                level=limit if limit is ResourceLimit.E0 else ResourceLimit.E2,
            )
        )
    return {
        "points": points,
        "level": limit.value,
        "streams": {s.file: {"rows": s.rows, "complete": not s.gaps} for s in streams},
        "content": {
            "kept": evidence["content"],
            "salt": None if evidence["content"] == "keep" else salt_of(workspace).hex(),
        },
    }


def _sampled_points(
    evidence: Mapping[str, Any],
    domain: str,
    missed: Mapping[str, int] | None,
    *,
    scraped: bool,
) -> list[ObservationPoint]:
    """What the sampler sees. ``missed`` are its missed turns, None where it left no account."""
    points = [
        _point(
            "host",
            "processor, memory, faults and throttling of host, engine, client and observers",
            layer="host",
            perspective="server",
            domain=domain,
            rate_hz=1 / evidence["telemetry_interval_s"],
            dropped=None if missed is None else missed.get("telemetry", 0),
            level=ResourceLimit.E2,
        ),
    ]
    if scraped:
        points.append(
            _point(
                "engine_metrics",
                "the engine's own counters, as text",
                layer="engine_metrics",
                perspective="server",
                domain=domain,
                rate_hz=1 / evidence["scrape_interval_s"],
                dropped=None if missed is None else missed.get("scrapes", 0),
                level=ResourceLimit.E2,
            )
        )
    return points


def _point(
    point: str,
    sees: str,
    *,
    layer: str,
    perspective: str,
    domain: str,
    level: ResourceLimit,
    rate_hz: float | None = None,
    dropped: int | None = None,
) -> ObservationPoint:
    return ObservationPoint(
        point=point,
        sees=sees,
        layer=layer,
        perspective=perspective,
        clock_domain=domain,
        rate_hz=rate_hz,
        dropped=dropped,
        level=level.value,
    )


def _engine_points(bundle: Path) -> list[ObservationPoint]:
    """One point for each process that opened its part of the engine's event log with a clock line."""
    return [
        _point(
            f"engine_{row.get('process', 'process')}",
            "the engine's own events, stamped by the process that sees them",
            layer=_EVENT_LAYERS.get(str(row.get("process")), f"engine_{row.get('process')}"),
            perspective="server",
            domain=str(row.get("clock_domain")),
            level=ResourceLimit.E2,
        )
        for row in sorted(_clock_lines(bundle), key=lambda row: row.get("process") != "front")
    ]


def _lost(
    streams: Sequence[Mapping[str, Any]] | None, name: str, worker: int | None = None
) -> int | None:
    """Of all client processes, or of one."""
    if streams is None:
        return None
    lost = 0
    for report in streams:
        if report["stream"] == name and worker in (None, report["worker"]):
            ended = report.get("ended") or {}
            lost += report["rows_given_up"] + ended.get("rows_dropped", 0)
    return lost


def client_domain(workspace: Workspace) -> str:
    """Of the process that ran the client; the reaper may live in another boot."""
    first = next(iter(json_lines(workspace.bundle / layout.SESSION)), {})
    return str(first.get("clock_domain") or clocks.clock_domain())


def clocks_document(workspace: Workspace, *, client_error: Mapping[str, Any]) -> ClocksDocument:
    """``clocks.json``: origin, domains and their calibration, anchors, sync state, client error."""
    first = next(iter(json_lines(workspace.bundle / layout.SESSION)), {})
    reference = client_domain(workspace)
    here = clocks.domain_document(calibration="reference", error_ns=0)
    boot, namespace, _ = reference.split("/")
    domains: list[ClockDomain] = [
        {**here, "id": reference, "boot_id": boot, "time_namespace": namespace}
    ]
    domains += load_workers.domains(workspace)
    for row in _clock_lines(workspace.bundle):
        if all(d["id"] != row.get("clock_domain") for d in domains):
            domains.append(_foreign(str(row.get("clock_domain")), here["host"]))
    return ClocksDocument(
        origin_ns=int(first.get("t_ns", 0)),
        client_domain=reference,
        domains=domains,
        anchors=anchors(workspace),
        sync=dict(clocks.clock_sync()),
        client_error=dict(client_error),
    )


def anchors(workspace: Workspace) -> list[Anchor]:
    """The clocks of this machine read together, once a second through the run."""
    return [_anchor(row) for row in json_lines(workspace.segments / ANCHORS)]


def _foreign(domain: str, host: str) -> ClockDomain:
    """A domain other than the client's, to which nothing here ties it."""
    boot, _, rest = domain.partition("/")
    namespace, _, clock = rest.partition("/")
    return ClockDomain(
        id=domain,
        host=host if boot == clocks.boot_id() else "unknown",
        boot_id=boot,
        time_namespace=namespace,
        clock=clock,
        calibration="uncalibrated",
        error_ns=None,
    )


def _anchor(row: Mapping[str, Any]) -> Anchor:
    return Anchor(
        monotonic_ns=row["monotonic_ns"],
        wall_ns=row["wall_ns"],
        boottime_ns=row["boottime_ns"],
        spread_ns=row["spread_ns"],
    )


def _clock_lines(bundle: Path) -> list[dict[str, Any]]:
    """The clock event of each engine process, its own members on top."""
    found = []
    path = bundle / layout.ENGINE_EVENTS
    if path.exists():
        with path.open("rb") as stream:
            for line in stream:
                if b'"clock"' in line and (row := _row(line)) is not None:
                    found.append(row)
    return [
        {**row, **(row.get("value") or {})} for row in found if row["event"] == EngineEvent.clock
    ]


def _row(line: bytes) -> dict[str, Any] | None:
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) else None
