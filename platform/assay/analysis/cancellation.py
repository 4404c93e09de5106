"""The five checks of a cancellation, each with a result or ``not evidenced``.

1. when and where the cancel was received; 2. no new work was scheduled for it (the first thing to hold;
immediate interruption of a shared forward is not required); 3. submitted work ended safely, shared batch
included; 4. output was suppressed; 5. when and to which level resources were recycled. A framework's own
cancel is not taken for the application's clean-up: each check needs the engine's record of that very thing.
"""

from collections.abc import Mapping
from enum import StrEnum

from assay.analysis.documents import CancelCheck
from assay.analysis.events import Fact
from assay.analysis.ledgers.resource import ORDER, Reached
from assay.analysis.server_record import ServerRecord
from assay.analysis.wire.attempt import Attempt
from runners.protocol.events import ClientState, ReleaseLevel, ServerState


class Check(StrEnum):
    cancel_received = "cancel_received"
    no_new_work = "no_new_work"
    submitted_work_ended = "submitted_work_ended"
    output_suppressed = "output_suppressed"
    resources_recycled = "resources_recycled"


HELD = "held"
NOT_HELD = "not held"
NOT_EVIDENCED = "not evidenced"
_NS_PER_MS = 1_000_000


def cancel_checks(
    attempt: Attempt, record: ServerRecord | None, reached: Mapping[ReleaseLevel, Reached]
) -> list[CancelCheck]:
    """All five checks of an attempt that the client cancelled; an empty list for any other attempt.

    Times in the words of a check count from the client's cancel.
    """
    if attempt.state is not ClientState.cancelled:
        return []
    if record is None:
        return [
            _result(attempt, check, NOT_EVIDENCED, "no server record of this attempt", None)
            for check in Check
        ]
    return [
        _received(attempt, record),
        _no_new_work(attempt, record),
        _work_ended(attempt, record),
        _suppressed(attempt, record),
        _recycled(attempt, record, reached),
    ]


def _received(attempt: Attempt, record: ServerRecord) -> CancelCheck:
    front = record.marks.get(Fact.disconnected)
    loop = record.marks.get(Fact.cancelled)
    places = []
    if front is not None:
        places.append(f"front end {_since(attempt, record, front.t_ns)}")
    if loop is not None:
        places.append(f"model loop {_since(attempt, record, loop.t_ns)}")
    if not places:
        return _result(
            attempt, Check.cancel_received, NOT_EVIDENCED, "no event names a cancel", None
        )
    mark = loop or front
    return _result(
        attempt, Check.cancel_received, HELD, ", ".join(places), mark.evidence if mark else None
    )


def _no_new_work(attempt: Attempt, record: ServerRecord) -> CancelCheck:
    loop = record.marks.get(Fact.cancelled)
    if loop is None or not _has_iterations(record):
        return _result(
            attempt,
            Check.no_new_work,
            NOT_EVIDENCED,
            "needs the loop's cancel and its iteration record",
            None,
        )
    late = [t for t in record.step_starts_ns if t > loop.t_ns]
    front = record.marks.get(Fact.disconnected)
    between = (
        sum(front.t_ns < t <= loop.t_ns for t in record.step_starts_ns) if front is not None else 0
    )
    words = f"{len(late)} iteration(s) began after the loop took the cancel"
    if between:
        words += f"; {between} between the front end's notice and that"
    return _result(attempt, Check.no_new_work, NOT_HELD if late else HELD, words, loop.evidence)


def _work_ended(attempt: Attempt, record: ServerRecord) -> CancelCheck:
    terminal = record.terminal
    if terminal is None or not _has_iterations(record):
        return _result(
            attempt,
            Check.submitted_work_ended,
            NOT_EVIDENCED,
            "needs the iteration record and a terminal event",
            None,
        )
    if terminal.state is ServerState.failed:
        return _result(
            attempt,
            Check.submitted_work_ended,
            NOT_HELD,
            f"the attempt ended as failed ({terminal.detail})",
            terminal.evidence,
        )
    if not record.step_starts_ns:
        return _result(
            attempt, Check.submitted_work_ended, HELD, "no iteration carried it", terminal.evidence
        )
    end = record.step_starts_ns[-1] + record.step_durations_ns[-1]
    return _result(
        attempt,
        Check.submitted_work_ended,
        HELD,
        f"its last iteration ended {_since(attempt, record, end)}, {terminal.state.value}",
        terminal.evidence,
    )


def _suppressed(attempt: Attempt, record: ServerRecord) -> CancelCheck:
    front = record.marks.get(Fact.disconnected)
    if front is None:
        return _result(
            attempt,
            Check.output_suppressed,
            NOT_EVIDENCED,
            "needs the front end's notice of the disconnect",
            None,
        )
    late = sum(t > front.t_ns for t in record.write_times_ns)
    return _result(
        attempt,
        Check.output_suppressed,
        NOT_HELD if late else HELD,
        f"{late} write(s) after the front end saw the disconnect",
        front.evidence,
    )


def _recycled(
    attempt: Attempt, record: ServerRecord, reached: Mapping[ReleaseLevel, Reached]
) -> CancelCheck:
    own = [r for r in reached.values() if r.level is not ReleaseLevel.process_returned]
    if not own:
        return _result(
            attempt, Check.resources_recycled, NOT_EVIDENCED, "no release was recorded", None
        )
    words = ", ".join(
        f"{r.level.value} {_since(attempt, record, r.t_ns)}"
        if r.t_ns is not None
        else r.level.value
        for r in sorted(reached.values(), key=lambda r: ORDER.index(r.level))
    )
    missing = [level.value for level in ORDER if level not in reached]
    if missing:
        words += f"; unknown: {', '.join(missing)}"
    # The engine's own word on this attempt; that its process ended later is the session's.
    highest = max(own, key=lambda r: ORDER.index(r.level))
    return _result(attempt, Check.resources_recycled, HELD, words, highest.evidence)


def _has_iterations(record: ServerRecord) -> bool:
    """An engine that logs blocks or iterations logs all of them; a bare event list does not."""
    return len(record.step_starts_ns) > 0 or bool(record.kv) or Fact.queued in record.marks


def _since(attempt: Attempt, record: ServerRecord, t_ns: int) -> str:
    """How long after the client's cancel an instant lies, if both clocks allow that to be said."""
    start = attempt.decided_ns
    if start is None or record.clock_domain != attempt.clock_domain:
        return "(another clock domain)"
    return f"{(t_ns - start) / _NS_PER_MS:+.3f} ms"


def _result(
    attempt: Attempt, check: Check, result: str, value: str | None, evidence: str | None
) -> CancelCheck:
    return CancelCheck(
        attempt_id=attempt.attempt_id,
        check=check.value,
        result=result,
        value=value,
        evidence=evidence,
    )
