"""How long the client waits, and why a drive ended. Values in, values out."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from runners.protocol.errors import Finding, Refused


class Wait(StrEnum):
    """Which wait of the client ran out; the ``detail`` of an attempt that ended as timeout."""

    connect = "connect"  # from connect_start to connected, TLS handshake included
    first_byte = "first_byte"  # from sent to the first response byte
    between_reads = "between_reads"  # from one read of the response to the next
    total = "total"  # from created to the end of the response


class StopReason(StrEnum):
    """Why a drive ended."""

    plan_done = "plan_done"  # every request reached its end
    drain_expired = "drain_expired"  # open requests were left when the drain time was over
    stop_requested = "stop_requested"
    capture_ended = "capture_ended"  # a stream could not be written any more
    profile_done = "profile_done"  # the last stage of a closed loop was over
    max_duration = "max_duration"
    max_requests = "max_requests"
    max_errors = "max_errors"
    max_error_share = "max_error_share"
    saturation = "saturation"  # an open loop whose backlog grew


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Client waits in seconds; None: the client never gives up by itself."""

    connect_s: float | None
    first_byte_s: float | None
    total_s: float | None
    between_reads_s: float | None = None

    @classmethod
    def from_load(cls, load: Mapping[str, Any]) -> "Timeouts":
        given = load["timeouts"]
        waits = {name: given.get(name) for name in cls.__dataclass_fields__}
        for name, value in waits.items():
            if value is not None and not value > 0:
                raise _refused(f"load.timeouts.{name}", value, "above 0, or null for no limit")
        return cls(**waits)


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
