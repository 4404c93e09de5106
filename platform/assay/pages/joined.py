"""Attempts with their four ledgers joined by id: one row an attempt, each ledger in a column of its own."""

from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from assay.analysis.documents import AttemptReading, GhostLoad, InterpretationDocument, LedgerRow
from assay.pages.reading import Reading

# What the server may have recorded when the client saw this; anything else is a disagreement.
AGREEING: dict[str, frozenset[str]] = {
    "completed": frozenset({"completed"}),
    "cancelled": frozenset({"cancelled"}),
    "timeout": frozenset({"cancelled"}),
    "failed": frozenset({"failed"}),
    "rejected": frozenset({"rejected"}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """The last state of a subject in one ledger; ``detail`` is the release level or the reason."""

    state: str
    detail: str
    from_ns: int | None
    evidence: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedAttempt:
    """One attempt. Durations in seconds, None beside a reason in ``absent``."""

    attempt_id: str
    segment: str
    case: str
    client: End
    server: End | None
    task: End | None
    resource: End | None
    ghost: GhostLoad | None
    sent_ns: int | None
    prompt_tokens: int | None
    output_tokens: int | None
    metrics: dict[str, float | None]
    absent: dict[str, str]

    @property
    def disagrees(self) -> bool:
        """Client and server recorded different ends. No server record is a gap, not a disagreement."""
        if self.server is None or self.server.state == "undetermined":
            return False
        return self.server.state not in AGREEING.get(self.client.state, frozenset())

    @property
    def has_ghost(self) -> bool:
        return self.ghost is not None and bool(self.ghost["total_ns"])

    @property
    def unfinalised(self) -> bool:
        return self.client.state == "unfinalised"

    @property
    def unknown(self) -> bool:
        """Some ledger of it holds no evidence."""
        ends = (self.server, self.task, self.resource)
        return any(end is None or end.state in ("undetermined", "unknown") for end in ends)


def joined_attempts(reading: Reading) -> tuple[JoinedAttempt, ...]:
    """All attempts in the order of the interpretation; empty when it is not on this machine."""
    if not reading.present:
        return ()
    return _joined(reading.folder, (reading.folder / "interpretation.json").stat().st_mtime_ns)


@lru_cache(maxsize=4)
def _joined(folder: Path, _modified_ns: int) -> tuple[JoinedAttempt, ...]:
    document = Reading(folder=folder).document()
    return join(document) if document else ()


def join(document: InterpretationDocument) -> tuple[JoinedAttempt, ...]:
    """Pure: the document's attempts with the last row of each of their ledgers."""
    ledgers = document["ledgers"]
    client, server = _ends(ledgers["client"]), _ends(ledgers["server"])
    task, resource = _ends(ledgers["task"]), _ends(ledgers["resource"])
    ghosts = {ghost["attempt_id"]: ghost for ghost in document["ghost_load"]}
    rows = []
    for attempt in document["attempts"]:
        name = attempt["attempt_id"]
        rows.append(
            JoinedAttempt(
                attempt_id=name,
                segment=attempt["segment"] or "",
                case=attempt["case"] or "",
                client=client.get(name) or _stated(attempt),
                server=server.get(name),
                task=task.get(attempt["task_id"] or "") or task.get(name),
                resource=resource.get(name),
                ghost=ghosts.get(name),
                sent_ns=attempt["timestamps_ns"].get("sent"),
                prompt_tokens=attempt["prompt_tokens"],
                output_tokens=output_tokens(attempt),
                metrics={rule: m.get("value") for rule, m in attempt["metrics"].items()},
                absent={
                    rule: m.get("absent") or m.get("special") or ""
                    for rule, m in attempt["metrics"].items()
                },
            )
        )
    return tuple(rows)


def output_tokens(attempt: AttemptReading) -> int | None:
    """Token ids where they were sent, else the server's usage; never the number of chunks."""
    counts = attempt["counts"]
    ids = counts.get("token_ids")
    return ids if ids is not None else counts.get("usage")


def ends_by_subject(rows: list[LedgerRow]) -> dict[str, list[LedgerRow]]:
    """Rows of each subject in time order; undated rows stand first, as earlier knowledge."""
    grouped: dict[str, list[LedgerRow]] = defaultdict(list)
    for row in rows:
        grouped[row["subject"]].append(row)
    for own in grouped.values():
        own.sort(key=lambda r: (r["from_ns"] is not None, r["from_ns"] or 0))
    return grouped


def _ends(rows: list[LedgerRow]) -> dict[str, End]:
    return {
        subject: End(
            state=own[-1]["state"],
            detail=own[-1]["detail"] or "",
            from_ns=own[-1]["from_ns"],
            evidence=own[-1]["evidence"],
        )
        for subject, own in ends_by_subject(rows).items()
    }


def _stated(attempt: AttemptReading) -> End:
    return End(
        state=attempt["client_state"], detail=attempt["failure"] or "", from_ns=None, evidence=None
    )
