"""How long the client waits, what it tries again, and why a drive ended. Values in, values out."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from runners.protocol.errors import Finding, Refused
from runners.protocol.events import WireKind

# Answers by which a server says "not now" or "not me"; any other status would be the same again.
RETRYABLE_STATUS = frozenset({429, 500, 502, 503, 504})

_GIVE_UP_RULES = ("count",)


class Wait(StrEnum):
    """Which wait of the client ran out; the ``detail`` of an attempt that ended as timeout."""

    connect = "connect"  # from connect_start to connected, TLS handshake included
    first_byte = "first_byte"  # from sent to the first response byte
    total = "total"  # from created to the end of the response


class StopReason(StrEnum):
    """Why a drive ended."""

    plan_done = "plan_done"  # every request reached its end
    drain_expired = "drain_expired"  # open requests were left when the drain time was over
    stop_requested = "stop_requested"
    capture_ended = "capture_ended"  # a stream could not be written any more


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Client waits in seconds; None: the client never gives up by itself."""

    connect_s: float | None
    first_byte_s: float | None
    total_s: float | None

    @classmethod
    def from_load(cls, load: Mapping[str, Any]) -> "Timeouts":
        given = load["timeouts"]
        waits = {name: given[name] for name in ("connect_s", "first_byte_s", "total_s")}
        for name, value in waits.items():
            if value is not None and not value > 0:
                raise _refused(f"load.timeouts.{name}", value, "above 0, or null for no limit")
        return cls(**waits)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """``count`` further tries after a failed one; the wait before retry k is
    ``backoff_s * 2**(k - 1) * (1 + jitter * u)`` with u uniform in [-1, 1), drawn from seed, request and k.
    """

    count: int
    backoff_s: float
    jitter: float
    seed: int

    @classmethod
    def from_load(cls, load: Mapping[str, Any]) -> "RetryPolicy":
        given = load["retry"]
        if given["count"] < 0:
            raise _refused("load.retry.count", given["count"], "0 or more")
        if given["backoff_s"] < 0:
            raise _refused("load.retry.backoff_s", given["backoff_s"], "0 or more")
        if not 0 <= given["jitter"] <= 1:
            raise _refused("load.retry.jitter", given["jitter"], "0 to 1")
        if given["give_up"] not in _GIVE_UP_RULES:
            raise _refused("load.retry.give_up", given["give_up"], ", ".join(_GIVE_UP_RULES))
        return cls(
            count=given["count"],
            backoff_s=given["backoff_s"],
            jitter=given["jitter"],
            seed=load["seed"],
        )

    def wait_s(
        self, *, request_id: str, tries: int, end: str | None, status: int | None
    ) -> float | None:
        """Seconds until the next try after ``tries`` tries, or None: the request is not tried again.

        Tried again: a transport error, a client timeout, and the statuses in ``RETRYABLE_STATUS``. Never: a
        cancelled or unfinalised attempt, nor an error event inside HTTP 200 (the client parses no content).
        """
        failed = end in (WireKind.error, WireKind.timeout) or (
            end == WireKind.closed and status in RETRYABLE_STATUS
        )
        if not failed or tries > self.count:
            return None
        # A text seed goes through SHA-512, so that the draw is the same in any order and process.
        draw = random.Random(f"{self.seed}/{request_id}/{tries}").random()
        return float(self.backoff_s * 2 ** (tries - 1) * (1 + self.jitter * (2 * draw - 1)))


def send_lag_ns(
    *,
    scheduled_ns: int,
    created_ns: int,
    connect_start_ns: int | None,
    connected_ns: int | None,
    sent_ns: int | None,
) -> int:
    """How late the client itself was: sent minus scheduled, less the handshake, in ns.

    The handshake is the server's and the network's doing. An attempt that was never sent counts from its
    creation.
    """
    if sent_ns is None:
        return created_ns - scheduled_ns
    handshake_ns = (
        connected_ns - connect_start_ns
        if connected_ns is not None and connect_start_ns is not None
        else 0
    )
    return sent_ns - scheduled_ns - handshake_ns


def _refused(field: str, seen: object, allowed: str) -> Refused:
    return Refused(
        Finding(field=field, seen=str(seen), allowed=allowed, remedy="Change the load group.")
    )
