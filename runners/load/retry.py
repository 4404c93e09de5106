"""What the client tries again, after which wait, and when it gives up. Values in, values out."""

import math
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from runners.load.attempt import Attempt
from runners.protocol.errors import Finding, Refused
from runners.protocol.events import WireKind

# Answers by which a server says "not now" or "not me"; any other status would be the same again.
RETRYABLE_STATUS = frozenset({429, 500, 502, 503, 504})

_COUNT, _DEADLINE, _BUDGET = GIVE_UP_RULES = ("count", "deadline", "budget")
_IGNORE, _HONOUR = RETRY_AFTER = ("ignore", "honour")
_SECONDS = re.compile(r"\d{1,9}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A try that has ended, and what the policy needs to know around it.

    ``elapsed_s`` counts from the first try's creation to this end; ``first_tries`` and ``retries`` are those
    of the whole segment so far; ``retry_after`` is the header's text as it came.
    """

    request_id: str
    tries: int
    end: str | None
    status: int | None
    elapsed_s: float = 0.0
    first_tries: int = 1
    retries: int = 0
    retry_after: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """``count`` further tries after a failed one; the wait before retry k is
    ``min(backoff_s * 2**(k - 1), backoff_max_s) * (1 + jitter * u)`` with u uniform in [-1, 1), drawn from
    seed, request and k. A Retry-After that is honoured makes it longer, never shorter.

    Gives up also when the next try could not begin within ``deadline_s`` of the first (deadline), or when
    it would make the segment's retries more than ``budget_ratio`` of its first tries (budget).
    """

    count: int
    backoff_s: float
    jitter: float
    seed: int
    backoff_max_s: float | None = None
    give_up: str = _COUNT
    deadline_s: float | None = None
    budget_ratio: float | None = None
    retry_after: str = _IGNORE

    @classmethod
    def from_load(cls, load: Mapping[str, Any]) -> "RetryPolicy":
        given = load["retry"]
        policy = cls(
            count=given["count"],
            backoff_s=given["backoff_s"],
            backoff_max_s=given.get("backoff_max_s"),
            jitter=given["jitter"],
            seed=load["seed"],
            give_up=str(given["give_up"]),
            deadline_s=given.get("deadline_s"),
            budget_ratio=given.get("budget_ratio"),
            retry_after=str(given.get("retry_after") or _IGNORE),
        )
        policy.check()
        return policy

    def check(self) -> None:
        """Raises Refused for the first value that makes no sense."""
        rules = (
            ("count", self.count, self.count >= 0, "0 or more"),
            ("backoff_s", self.backoff_s, self.backoff_s >= 0, "0 or more"),
            ("backoff_max_s", *_at_least(self.backoff_max_s, self.backoff_s, "backoff_s")),
            ("jitter", self.jitter, 0 <= self.jitter <= 1, "0 to 1"),
            ("give_up", self.give_up, self.give_up in GIVE_UP_RULES, ", ".join(GIVE_UP_RULES)),
            ("deadline_s", *_goes_with(self.deadline_s, self.give_up, _DEADLINE)),
            ("budget_ratio", *_goes_with(self.budget_ratio, self.give_up, _BUDGET)),
            (
                "retry_after",
                self.retry_after,
                self.retry_after in RETRY_AFTER,
                ", ".join(RETRY_AFTER),
            ),
        )
        for name, seen, holds, allowed in rules:
            if not holds:
                raise Refused(
                    Finding(
                        field=f"load.retry.{name}",
                        seen=str(seen),
                        allowed=allowed,
                        remedy="Change the load group.",
                    )
                )

    @property
    def never_retries(self) -> bool:
        return self.count == 0

    @property
    def reads_retry_after(self) -> bool:
        return self.retry_after == _HONOUR

    def wait_s(self, failure: Failure) -> float | None:
        """Seconds until the next try, or None: the request is not tried again.

        Tried again: a transport error, a client timeout, and the statuses in ``RETRYABLE_STATUS``. Never: a
        cancelled or unfinalised attempt, nor an error event inside HTTP 200 (the client parses no content).
        """
        failed = failure.end in (WireKind.error, WireKind.timeout) or (
            failure.end == WireKind.closed and failure.status in RETRYABLE_STATUS
        )
        if not failed or failure.tries > self.count:
            return None
        wait_s = self._backoff_s(failure)
        if self.deadline_s is not None and failure.elapsed_s + wait_s > self.deadline_s:
            return None
        if (
            self.budget_ratio is not None
            and failure.retries + 1 > self.budget_ratio * failure.first_tries
        ):
            return None
        return wait_s

    def _backoff_s(self, failure: Failure) -> float:
        tries = failure.tries
        # The exponent is bounded, so that a thousand retries do not overflow a float.
        base_s = min(
            self.backoff_s * 2.0 ** min(tries - 1, 500),
            math.inf if self.backoff_max_s is None else self.backoff_max_s,
        )
        # A text seed goes through SHA-512, so that the draw is the same in any order and process.
        draw = random.Random(f"{self.seed}/{failure.request_id}/{tries}").random()
        wait_s = base_s * (1 + self.jitter * (2 * draw - 1))
        asked_s = retry_after_s(failure.retry_after) if self.reads_retry_after else None
        return max(wait_s, asked_s or 0.0)


class Retries:
    """The tries of one segment's requests as they go, for the rules that look further than one try."""

    def __init__(self, policy: RetryPolicy) -> None:
        self._policy = policy
        self._made = 0
        self._first_created_ns: dict[str, int] = {}  # of requests that may be tried again

    def wait_s(self, failed: Attempt, *, ended_ns: int, first_tries: int) -> float | None:
        """Seconds until the next try of this request, or None if it is not tried again."""
        if self._policy.never_retries:
            return None
        request_id = failed.request.request_id
        if failed.number == 1:
            self._first_created_ns[request_id] = failed.created_ns or ended_ns
        wait_s = self._policy.wait_s(
            Failure(
                request_id=request_id,
                tries=failed.number,
                end=failed.end,
                status=failed.status,
                elapsed_s=(ended_ns - self._first_created_ns[request_id]) / 1e9,
                first_tries=first_tries,
                retries=self._made,
                retry_after=failed.retry_after,
            )
        )
        if wait_s is None:
            del self._first_created_ns[request_id]
        else:
            self._made += 1
        return wait_s


def retry_after_s(text: str | None, *, now: datetime | None = None) -> float | None:
    """Seconds that a Retry-After header asks for in one of its two forms (RFC 9110, 10.2.3), else None."""
    if text is None:
        return None
    if _SECONDS.fullmatch(text.strip()):
        return float(text)
    try:
        at = parsedate_to_datetime(text)
        left = (at if at.tzinfo else at.replace(tzinfo=UTC)) - (now or datetime.now(UTC))
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return max(left.total_seconds(), 0.0)


def _at_least(value: float | None, floor: float, name: str) -> tuple[float | None, bool, str]:
    return value, value is None or value >= floor, f"null, or at least {name} ({floor:g})"


def _goes_with(value: float | None, give_up: str, rule: str) -> tuple[float | None, bool, str]:
    if give_up == rule:
        return value, value is not None and value > 0, f"above 0 with give_up: {rule}"
    return value, value is None, f"null with give_up: {give_up}"
