"""Events beside the wire: one record shape for whatever an engine, a gateway or a client says of itself.

A record holds event name, time, clock domain, error bound, ids and observation layer. Engines use many names
for few facts: ``FACT_OF`` is the only place that knows them. A name that is not listed stays in the record
and enters no ledger.
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any


class Fact(StrEnum):
    """What an event says of its attempt, in the vocabulary of the ledgers and lanes."""

    received = "received"
    queued = "queued"
    scheduled = "scheduled"
    prefill_done = "prefill_done"
    first_token = "first_token"
    token = "token"
    last_token = "last_token"
    written = "written"
    preempted = "preempted"
    disconnected = "disconnected"  # the server saw the client go
    stream_ended = "stream_ended"  # the front end wrote the last byte
    completed = "completed"
    cancelled = "cancelled"
    failed = "failed"
    rejected = "rejected"
    state = "state"  # value names a server state seen at that instant
    kv_taken = "kv_taken"
    kv_released = "kv_released"
    released = "released"  # value names a release level
    iteration = "iteration"
    memory = "memory"
    config = "config"
    clock = "clock"
    contract = "contract"
    client_mark = "client_mark"


FACT_OF: dict[str, Fact] = {
    # The engine vocabulary of runners.protocol.events.
    "clock": Fact.clock,
    "config": Fact.config,
    "front_received": Fact.received,
    "front_written": Fact.written,
    "front_disconnected": Fact.disconnected,
    "front_finished": Fact.stream_ended,
    "queued": Fact.queued,
    "scheduled": Fact.scheduled,
    "iteration": Fact.iteration,
    "first_token": Fact.first_token,
    "token": Fact.token,
    "preempted": Fact.preempted,
    "finished": Fact.completed,
    "cancelled": Fact.cancelled,
    "failed": Fact.failed,
    "rejected": Fact.rejected,
    "kv_taken": Fact.kv_taken,
    "kv_released": Fact.kv_released,
    "memory": Fact.memory,
    # Names in recorded event lists (with and without their component before the dot).
    "received": Fact.received,
    "enqueued": Fact.queued,
    "running": Fact.scheduled,
    "prefill_done": Fact.prefill_done,
    "last_token": Fact.last_token,
    "first_write": Fact.written,
    "write": Fact.written,
    "written": Fact.written,
    "last_write": Fact.written,
    "done_event": Fact.completed,
    "disconnected": Fact.disconnected,
    "completed": Fact.completed,
    "aborted": Fact.cancelled,
    "canceled": Fact.cancelled,
    "error": Fact.failed,
    "timeout": Fact.failed,
    "state": Fact.state,
    "released": Fact.released,
    "contract": Fact.contract,
}
_SERVER_SIDES = ("server", "engine", "scheduler", "gateway", "front")


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRecord:
    """One event. ``error_ns`` bounds the mapping onto the input's axis; None: not calibrated to it."""

    event: str
    t_ns: int
    clock_domain: str
    error_ns: int | None
    layer: str
    perspective: str
    attempt_id: str | None = None
    request_id: str | None = None
    task_id: str | None = None
    session_id: str | None = None
    model_call_id: str | None = None
    value: Any = None
    evidence: str | None = None  # file:line

    @property
    def fact(self) -> Fact | None:
        return fact_of(self.event, self.perspective)


@lru_cache(maxsize=4096)
def fact_of(event: str, perspective: str) -> Fact | None:
    """The fact behind an event name, or None. A client's own instants are lane marks and nothing more.

    ``server.state_at_2000`` style names are states seen at an instant.
    """
    side, _, name = event.rpartition(".")
    name = name.lower()
    if name == "contract":
        return Fact.contract
    if perspective == "client" or side.lower().endswith("client"):
        return Fact.client_mark
    if name.startswith("state_at"):
        return Fact.state
    return FACT_OF.get(name)


def perspective_of(event: str) -> str:
    """``server`` or ``client`` by the component named before the dot; server when it names none."""
    side = event.rpartition(".")[0].lower().rpartition(".")[2]
    if side == "client" or (side and side not in _SERVER_SIDES and side.startswith("client")):
        return "client"
    return "server"
