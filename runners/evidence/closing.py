"""Close an execution: bring everything that was captured into the bundle, state what is missing, seal it.

The session calls it at its own end, the reaper for a session that died. Doing it again after an
interruption goes on where it stopped.
"""

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runners.evidence import (
    disturbance,
    engine_records,
    identity,
    load_workers,
    observation,
    registration,
    secrets,
    sent_inputs,
)
from runners.protocol import clocks, layout, manifest, sealing, withholding
from runners.protocol.documents import Anchor, Gap, IdentityItem
from runners.protocol.events import RunState, SessionEvent
from runners.protocol.session_log import SessionLog, read
from runners.protocol.workspace import Workspace, read_json

Identify = Callable[[Mapping[str, Any] | None], Sequence[IdentityItem]]
ReadPrinted = Callable[[Sequence[Anchor], str], Sequence[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How the execution ended. ``reason`` is null only for a sealed one."""

    state: RunState
    reason: str | None
    phase: str | None = None
    last_lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What only the live session knew; a reaper has none of it."""

    client_error: Mapping[str, Any] = field(
        default_factory=lambda: {"absent": "the session died before it measured its own error"}
    )
    self_calibration: Mapping[str, Any] = field(
        default_factory=lambda: {"absent": "the client was not calibrated before this run"}
    )
    client_streams: Sequence[Mapping[str, Any]] | None = None
    sampler: Mapping[str, Any] | None = None


def close(
    workspace: Workspace,
    log: SessionLog,
    ending: Ending,
    *,
    identify: Identify,
    read_printed: ReadPrinted = lambda anchors, clock_domain: (),
    observed: Observed | None = None,
) -> str:
    """Seal and return the bundle digest. ``identify`` gets the engine's echo of its configuration.

    ``read_printed`` makes events out of the log of an engine that wrote no event log of its own.
    """
    digest = sealing.sealed_digest(workspace.bundle)
    if digest is not None:
        return digest
    seen = observed or Observed()
    spec, context = workspace.spec(), workspace.context()
    keeps_content = spec["evidence"]["content"] == "keep"
    registration.withdraw_late(workspace, log)
    redactor = secrets.from_environment(context["secret_names"], os.environ)
    engine_records.bring_in(workspace, log, spec, redactor)
    _take_printed(workspace, read_printed)
    streams = sealing.convert_streams(workspace, keep_content=keeps_content)
    gaps = [gap for stream in streams for gap in stream.gaps]
    gaps += sent_inputs.count_sent_inputs(
        workspace.bundle,
        spec["artifact"],
        context.get("artifact_files", {}),
        keeps_content=keeps_content,
    )
    if not keeps_content:
        salt = sealing.salt_of(workspace)
        withholding.prompts_to_digest(workspace.bundle / layout.PROMPTS, salt=salt)
        gaps += withholding.gaps()
    gaps += _ended_early(seen)
    gaps += load_workers.gaps(workspace)
    gaps += _secret_gaps(redactor, context["secret_names"])
    for gap in gaps:
        log.gap(gap)
    _write_documents(workspace, ending, streams, spec, seen, identify)
    state = _decide(workspace, log, ending)
    return sealing.finish(workspace, header=_header(workspace, context, state))


def _take_printed(workspace: Workspace, read_printed: ReadPrinted) -> None:
    """Put events that were read out of the log among those that the engine wrote, in order of time.

    Once: rows out of a log name their ``source`` line, and a resumed sealing finds them there.
    """
    path = workspace.bundle / layout.ENGINE_EVENTS
    known = path.read_bytes().splitlines() if path.exists() else []
    if any(b'"source"' in line for line in known):
        return
    rows = read_printed(observation.anchors(workspace), observation.client_domain(workspace))
    if not rows:
        return
    lines = sorted([*known, *(json.dumps(row).encode() for row in rows)], key=_time_of)
    part = path.with_name(path.name + ".part")
    part.write_bytes(b"".join(line + b"\n" for line in lines))
    part.replace(path)


def _time_of(line: bytes) -> float:
    """A torn line, the last of a process that was killed, stays at the end."""
    try:
        return float(json.loads(line)["t_ns"])
    except (ValueError, KeyError, TypeError):
        return math.inf


def _ended_early(seen: Observed) -> list[Gap]:
    """Streams whose writer had to give up, and how much it could not write."""
    reports = [*(seen.client_streams or ()), *((seen.sampler or {}).get("reports", ()))]
    return [
        Gap(
            what=f"{report['stream']}: capture ended early ({report['ended']['reason']}), "
            f"{report['ended']['rows_dropped']} rows after that are not kept",
            affects=f"everything read from {report['stream']} after that moment",
            needed="room on the disk for the whole capture",
            state="open",
        )
        for report in reports
        if report["ended"]
    ]


def _secret_gaps(redactor: secrets.Redactor, names: Sequence[str]) -> list[Gap]:
    unset = sorted(n for n in names if not os.environ.get(n))
    gaps = []
    for what, which in (
        ("too short to be replaced", redactor.too_short),
        ("not set where this was sealed, so only known forms of secrets were replaced", unset),
    ):
        if which:
            gaps.append(
                Gap(
                    what=f"declared secrets {', '.join(which)}: {what}",
                    affects="the promise that no declared secret stands in this bundle",
                    needed="the variables set to their values, of at least "
                    f"{secrets.SHORTEST_VALUE} characters",
                    state="open",
                )
            )
    return gaps


def _write_documents(
    workspace: Workspace,
    ending: Ending,
    streams: Sequence[sealing.Stream],
    spec: Mapping[str, Any],
    seen: Observed,
    identify: Identify,
) -> None:
    bundle = workspace.bundle
    prepared = read_json(bundle / layout.IDENTITY) or {}
    items = identify(read_json(bundle / layout.SERVER_INFO))
    sealing.write_document(
        bundle / layout.IDENTITY,
        identity.compose(prepared.get("artifact"), items),
    )
    sealing.write_document(
        bundle / layout.OBSERVATION,
        observation.document(
            workspace,
            streams=streams,
            spec=spec,
            sampler=seen.sampler,
            client_streams=seen.client_streams,
        ),
    )
    sealing.write_document(
        bundle / layout.CLOCKS,
        observation.clocks_document(
            workspace,
            client_error={
                **seen.client_error,
                "self_calibration": dict(seen.self_calibration),
                "disturbance": disturbance.read_disturbance(bundle),
            },
        ),
    )
    if ending.state is not RunState.sealed:
        sealing.write_document(
            bundle / layout.ERROR,
            {
                "state": ending.state.value,
                "reason": ending.reason,
                "phase": ending.phase,
                "last_lines": list(ending.last_lines),
            },
        )


def _decide(workspace: Workspace, log: SessionLog, ending: Ending) -> str:
    """The state is what the first ``sealed`` row says; a sealing that is resumed does not change it."""
    if not log.has(SessionEvent.sealed):
        log.write(SessionEvent.sealed, state=ending.state.value, reason=ending.reason)
    rows = read(workspace.bundle / layout.SESSION)
    return str(next(r["state"] for r in rows if r["event"] == SessionEvent.sealed))


def _header(workspace: Workspace, context: Mapping[str, Any], state: str) -> dict[str, Any]:
    predictions = workspace.bundle / layout.PREDICTIONS
    return {
        "run_id": context["run_id"],
        "execution_id": context["execution_id"],
        "repetition": context["repetition"],
        "study": context["study"],
        "state": state,
        "spec_digest": context.get("spec_digest"),
        "plan_digest": context.get("plan_digest"),
        "predictions_digest": manifest.sha256_of(predictions) if predictions.exists() else None,
        "level": observation.level(workspace.bundle).value,
        "sealed_at": clocks.utc(),
    }
