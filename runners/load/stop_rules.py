"""Rules by which a drive stops sending before its plan is done, and what each of them saw.

An error is a request whose last try ended as error or time-out, or with a status of 400 or more. (An error
event inside HTTP 200 is none here: the client parses no content while it measures.)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runners.load.limits import StopReason
from runners.load.saturation import Backlog
from runners.protocol.events import WireKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """Why the sending stopped, and the sentence that says what was seen."""

    reason: StopReason
    seen: str


class StopRules:
    """Told of every creation, end and tick; answers with a Stop as soon as a rule holds."""

    def __init__(self, declared: Mapping[str, Any] | None) -> None:
        rules = declared or {}
        self.max_duration_s: float | None = rules.get("max_duration_s")
        self._max_requests: int | None = rules.get("max_requests")
        self._max_errors: int | None = rules.get("max_errors")
        self._max_share: float | None = rules.get("max_error_share")
        self._share_after = int(rules.get("error_share_after") or 1)
        saturation = rules.get("saturation")
        self._backlog = Backlog(**saturation) if saturation else None
        self._errors = self._ended = 0

    def created(self, count: int) -> Stop | None:
        """After a request was created; ``count`` of them so far. The one that reaches the most is sent."""
        if self._max_requests is None or count < self._max_requests:
            return None
        return Stop(reason=StopReason.max_requests, seen=f"{count} requests were created")

    def ended(self, end: str | None, status: int | None) -> Stop | None:
        """After a request reached its end, retries included."""
        self._ended += 1
        self._errors += is_error(end, status)
        if self._max_errors is not None and self._errors > self._max_errors:
            return Stop(
                reason=StopReason.max_errors,
                seen=f"{self._failed()}, more than {self._max_errors} allowed",
            )
        share = self._errors / self._ended
        if (
            self._max_share is not None
            and self._ended >= self._share_after
            and share > self._max_share
        ):
            return Stop(
                reason=StopReason.max_error_share,
                seen=f"{self._failed()}: {share:.1%}, more than {self._max_share:.1%} allowed",
            )
        return None

    def _failed(self) -> str:
        return f"{self._errors} of {self._ended} ended requests failed"

    def tick(self, now_ns: int, *, due: int) -> Stop | None:
        """A look at an open loop: ``due`` requests have come due by now."""
        if self._backlog is None:
            return None
        seen = self._backlog.look(now_ns, due=due, ended=self._ended)
        return Stop(reason=StopReason.saturation, seen=seen) if seen else None

    def time_is_up(self) -> Stop:
        return Stop(
            reason=StopReason.max_duration,
            seen=f"{self.max_duration_s:g} s had passed since the segment began",
        )


def is_error(end: str | None, status: int | None) -> bool:
    if end == WireKind.closed:
        return status is not None and status >= 400
    return end in (WireKind.error, WireKind.timeout)
