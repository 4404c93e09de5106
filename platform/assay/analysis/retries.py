"""Retries: how many attempts a request costs, expected and observed.

Request amplification is no resource amplification: what a retry costs in resources comes from the run's own
data, never from a universal multiplier.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.analysis.columns import where
from assay.analysis.errors import BadRecord
from assay.analysis.tries import tries_of
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
    """``retried_after_success`` counts tries that were made although the one before had completed."""

    requests: int
    attempts: int
    rounds: tuple[Round, ...]
    retried_after_success: int = 0

    @property
    def attempts_per_request(self) -> float | None:
        return self.attempts / self.requests if self.requests else None


def observed_retries(attempts: Sequence[Attempt]) -> ObservedRetries:
    """Attempts and the failure rate of each round, from the tries as they were made.

    Counts stand on the stored mapping request -> attempt; every failed attempt is in them.
    """
    tries = tries_of(attempts)
    completed = where(attempts, "state", lambda state: state is ClientState.completed)[tries.order]
    tried_again = np.ones_like(completed)
    tried_again[tries.last] = False
    made = np.bincount(tries.number)
    failed = np.bincount(tries.number[~completed], minlength=len(made))
    return ObservedRetries(
        requests=len(tries.first),
        attempts=len(attempts),
        retried_after_success=int(np.count_nonzero(completed & tried_again)),
        rounds=tuple(
            Round(number=number, attempts=attempts_made, failed=attempts_failed)
            for number, (attempts_made, attempts_failed) in enumerate(
                zip(made.tolist(), failed.tolist(), strict=True)
            )
        ),
    )


def retries_document(seen: ObservedRetries) -> dict[str, Any]:
    """What was observed, round by round, beside what the formula expects under its two preconditions."""
    return {
        "requests": seen.requests,
        "attempts": seen.attempts,
        "attempts_per_request": seen.attempts_per_request,
        "rounds": [
            {
                "round": r.number,
                "attempts": r.attempts,
                "failed": r.failed,
                "failure_rate": r.failure_rate,
            }
            for r in seen.rounds
        ],
        "expected": _expected(seen),
    }


def _expected(seen: ObservedRetries) -> dict[str, Any]:
    """The formula at the failure rate of the first tries; null where it says nothing."""
    if not seen.rounds:
        return {"attempts_per_request": None, "absent": "no attempt was made"}
    p, last = seen.rounds[0].failure_rate, seen.rounds[-1].number
    rates = ", ".join(f"{r.failed} of {r.attempts}" for r in seen.rounds)
    needless = seen.retried_after_success
    return {
        "p": p,
        "retries": last,
        "attempts_per_request": expected_attempts(p, last).attempts_per_request if p < 1 else None,
        "absent": None if p < 1 else "every first try failed: the series does not describe that",
        "preconditions": [
            {"text": PRECONDITIONS[0], "observed": f"failed per round: {rates}"},
            {
                "text": PRECONDITIONS[1],
                "observed": "every retry followed a failure"
                if not needless
                else f"{needless} retries followed a completed attempt",
            },
        ],
    }
