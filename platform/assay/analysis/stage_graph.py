"""The stages of one request and of one task as graphs, from what was seen; their longest paths.

A request is a chain: each stage needs the one before it (a token is written only after it was computed, and
read only after it was written), whatever order a log prints. Client and server instants are joined only if
both lie in one clock domain; else the server's part is one stage that cannot be split. A task is a graph of
requests: a request waits for those it was declared to come after.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from assay.analysis.critical_path import (
    CriticalPath,
    PathRange,
    Stage,
    WhatIf,
    critical_path,
    path_range,
    what_if,
)
from assay.analysis.documents import Lane
from assay.analysis.errors import BadRecord
from assay.analysis.quantities import NS_PER_S

# Instants in the order of dependency, with the side that sees them and the stage that each one ends.
_CHAIN = (
    ("client", "created", ""),
    ("client", "connect_start", "wait for a connection"),
    ("client", "connected", "handshake"),
    ("client", "sent", "send"),
    ("server", "front_received", "to the server"),
    ("server", "queued", "front end"),
    ("server", "scheduled", "queue"),
    ("server", "first_token", "prefill"),
    ("server", "front_written", "first write"),
    ("client", "first_content", "to the client"),
    ("server", "last_token", "decode"),
    ("client", "last_content", "last token to the client"),
    ("client", "done", "end of reply"),
)
_NEEDED = {  # a path covers waiting, computing and transfer only with these instants
    "waiting": ("queued", "scheduled"),
    "computing": ("scheduled", "first_token"),
    "transfer": ("sent", "front_received"),
}
SERVER_AS_ONE = "server and transfer as one: no server record in the client's clock domain"


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRow:
    """One stage with what may be said of it; seconds. ``gain_limit_s``: the most its own removal can save."""

    name: str
    duration_s: float
    on_path: bool
    slack_s: float
    gain_limit_s: float
    range: PathRange
    if_removed: WhatIf


@dataclass(frozen=True, slots=True, kw_only=True)
class PathReading:
    """The longest path of a graph, and each stage's part in it."""

    path: CriticalPath
    rows: tuple[StageRow, ...]
    notes: tuple[str, ...]


def request_stages(lanes: Sequence[Lane]) -> tuple[dict[str, Stage], list[str], list[str]]:
    """(stages, what the graph does not cover, notes) of one attempt, from its lanes."""
    client = next((lane for lane in lanes if lane["perspective"] == "client"), None)
    if client is None:
        raise BadRecord(
            field="lanes of the request",
            seen="no client lane",
            allowed="a client lane with at least two instants",
            remedy="Read an attempt that was sent.",
        )
    domain = client["clock_domain"]
    own = {lane["perspective"]: lane for lane in lanes if lane["clock_domain"] == domain}
    seen = {
        (side, event): t_ns for side, lane in own.items() for event, t_ns in _instants(lane).items()
    }
    chain: list[tuple[str, str, int]] = []
    notes = [] if "server" in own else [SERVER_AS_ONE]
    for side, event, stage in _CHAIN:
        t_ns = seen.get((side, event))
        if t_ns is None:
            continue
        if chain and t_ns < chain[-1][2]:
            notes.append(f"{event} lies before {chain[-1][1]}: left out of the path")
            continue
        chain.append((stage, event, t_ns))
    known = {event for _, event, _ in chain}
    lacking = [part for part, events in _NEEDED.items() if not known.issuperset(events)]
    return _serial(chain), lacking, notes


def _instants(lane: Lane) -> dict[str, int]:
    found: dict[str, int] = {}
    for interval in lane["intervals"]:
        found.setdefault(interval["start_event"], interval["from_ns"])
        found[interval["end_event"]] = interval["to_ns"]
    return found


def _serial(chain: Sequence[tuple[str, str, int]]) -> dict[str, Stage]:
    stages: dict[str, Stage] = {}
    before: tuple[str, ...] = ()
    for (_, start_event, from_ns), (stage, end_event, to_ns) in pairwise(chain):
        # A stage whose first instant is missing is named by its two ends: it holds more than its word says.
        position = [event for _, event, _ in _CHAIN].index(end_event)
        whole = _CHAIN[position - 1][1] == start_event
        name = stage if whole else f"{start_event} to {end_event}"
        stages[name] = Stage(duration_s=(to_ns - from_ns) / NS_PER_S, after=before)
        before = (name,)
    return stages


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One request of a task: how long it took, after which others, and the declared wait before it."""

    name: str
    duration_s: float
    after: tuple[str, ...] = ()
    delay_s: float = 0.0
    delay_name: str = ""


def task_stages(steps: Sequence[Step]) -> dict[str, Stage]:
    """Requests and the waits before them as stages; edges are the declared dependencies."""
    stages: dict[str, Stage] = {}
    for step in steps:
        after = step.after
        if step.delay_s:
            wait = step.delay_name or f"wait before {step.name}"
            stages[wait] = Stage(duration_s=step.delay_s, after=after)
            after = (wait,)
        stages[step.name] = Stage(duration_s=step.duration_s, after=after)
    return stages


def read_path(
    stages: Mapping[str, Stage],
    *,
    not_covered: Sequence[str] = (),
    notes: Sequence[str] = (),
    overlap_evidence: Mapping[frozenset[str], str] | None = None,
) -> PathReading:
    """Longest path with slack, range, and what removing each stage alone could save at most."""
    path = critical_path(stages, not_covered=not_covered)
    rows = []
    for name, stage in stages.items():
        removed = what_if(stages, name, 0.0, overlap_evidence=overlap_evidence)
        rows.append(
            StageRow(
                name=name,
                duration_s=stage.duration_s,
                on_path=name in path.path,
                slack_s=path.slack_s[name],
                gain_limit_s=removed.gain_s,
                range=path_range(stages, name),
                if_removed=removed,
            )
        )
    return PathReading(path=path, rows=tuple(rows), notes=tuple(notes))
