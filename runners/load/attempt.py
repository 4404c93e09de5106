"""One attempt of a request, as the client lives it, and the row it leaves."""

import asyncio
from typing import Any

from runners.load.replies import KeptReads
from runners.load.requests import PreparedRequest


class Attempt:
    """Times are CLOCK_MONOTONIC ns, None until reached. ``end`` is a WireKind, None while open.

    ``is_final`` is set once, by the client, when the attempt reached its one final state; a final attempt
    whose ``end`` is None was left open when the run stopped (unfinalised).
    """

    __slots__ = (
        "attempt_id",
        "bytes_received",
        "connect_start_ns",
        "connected_ns",
        "connection",
        "connection_id",
        "connection_reused",
        "created_ns",
        "detail",
        "drained_ns",
        "due_ns",
        "end",
        "ended_ns",
        "first_byte_ns",
        "is_final",
        "kept",
        "last_read_ns",
        "number",
        "opening",
        "request",
        "retry_after",
        "retry_of",
        "scheduled_ns",
        "sent_ns",
        "status",
        "timers",
        "worker",
    )

    def __init__(
        self,
        request: PreparedRequest,
        *,
        number: int = 1,
        scheduled_ns: int | None = None,
        due_ns: int | None = None,
        worker: int = 0,
    ) -> None:
        self.request = request
        self.number = number
        self.attempt_id = attempt_id(request.request_id, number)
        self.retry_of = attempt_id(request.request_id, number - 1) if number > 1 else None
        self.scheduled_ns = scheduled_ns  # the plan's; a retry and a closed loop have none
        self.due_ns = (
            due_ns  # when the client wanted to send: from the schedule or the previous end
        )
        self.worker = worker
        self.created_ns: int | None = None
        self.connect_start_ns: int | None = None
        self.connected_ns: int | None = None
        self.sent_ns: int | None = None
        self.drained_ns: int | None = None
        self.first_byte_ns: int | None = None
        self.ended_ns: int | None = None
        self.end: str | None = None
        self.detail: str | None = None
        self.status: int | None = None
        self.retry_after: str | None = None
        self.connection_id: int | None = None
        self.connection_reused: bool | None = None
        self.last_read_ns = 0
        self.bytes_received = 0
        self.is_final = False
        self.kept: KeptReads | None = None  # its reads, where a later request needs the reply
        self.connection: Any = None
        self.opening: asyncio.Task[None] | None = None
        self.timers: list[asyncio.TimerHandle] = []

    def as_row(self) -> tuple[Any, ...]:
        """The row of ``tables.ATTEMPTS``, in its column order."""
        plan = self.request.row
        return (
            self.attempt_id,
            plan["request_id"],
            plan["task_id"],
            plan["session_id"],
            plan["model_call_id"],
            self.retry_of,
            plan["phase"],
            plan["segment"],
            plan["case"],
            plan["sequence"],
            self.worker,
            self.scheduled_ns,
            self.created_ns,
            self.connect_start_ns,
            self.connected_ns,
            self.sent_ns,
            self.drained_ns,
            self.first_byte_ns,
            self.ended_ns,
            self.end,
            self.detail,
            self.status,
            self.connection_id,
            self.connection_reused,
            self.bytes_received,
            plan["output_cap"],
        )


def attempt_id(request_id: str, number: int) -> str:
    return f"{request_id}.A{number}"
