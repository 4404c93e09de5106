"""Retries: how many attempts a request costs, expected and observed.

Request amplification is no resource amplification: what a retry costs in resources comes from the run's own
data, never from a universal multiplier.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.analysis.errors import BadRecord
from assay.analysis.wire.attempt import Attempt
from runners.protocol.events import ClientState

PRECONDITIONS = (
    "every round fails with the same conditional probability",
    "a retry is issued only after a failure",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Amplification:
    """Expected physical attempts per request; true only while both preconditions hold."""

    attempts_per_request: float
    added: float
    preconditions: tuple[str, ...] = PRECONDITIONS


def expected_attempts(p: float, retries: int) -> Amplification:
    """E[N] = (1 - p^(r+1)) / (1 - p): attempts per request at failure probability p and at most r retries.

    ``p`` outside [0, 1) and a negative ``retries`` are refused. Unit: attempt/request. Source: section 1.6.4.
    """
    if not 0 <= p < 1:
        raise BadRecord(
            field="failure probability p",
            seen=str(p),
            allowed="0 <= p < 1",
            remedy="At p = 1 every retry fails; the series does not describe that.",
        )
    if retries < 0:
        raise BadRecord(
            field="retries r",
            seen=str(retries),
            allowed="0 or more",
            remedy="Give the retry limit.",
        )
    expected = (1 - p ** (retries + 1)) / (1 - p)
    return Amplification(attempts_per_request=expected, added=expected - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """Round 0 holds the first tries, round k the k-th retries."""

    number: int
    attempts: int
    failed: int

    @property
    def failure_rate(self) -> float:
        return self.failed / self.attempts


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedRetries:
    requests: int
    attempts: int
    rounds: tuple[Round, ...]

    @property
    def attempts_per_request(self) -> float | None:
        return self.attempts / self.requests if self.requests else None


def observed_retries(attempts: Sequence[Attempt]) -> ObservedRetries:
    """Attempts and the failure rate of each round, from the tries as they were made.

    Counts stand on the stored mapping request -> attempt; every failed attempt is in them.
    """
    tries: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        tries.setdefault(attempt.ids.request_id or attempt.attempt_id, []).append(attempt)
    totals: dict[int, list[int]] = {}
    for made in tries.values():
        ordered = sorted(made, key=lambda a: (a.start_ns is None, a.start_ns))
        for number, attempt in enumerate(ordered):
            entry = totals.setdefault(number, [0, 0])
            entry[0] += 1
            entry[1] += attempt.state is not ClientState.completed
    return ObservedRetries(
        requests=len(tries),
        attempts=len(attempts),
        rounds=tuple(
            Round(number=number, attempts=made, failed=failed)
            for number, (made, failed) in sorted(totals.items())
        ),
    )
