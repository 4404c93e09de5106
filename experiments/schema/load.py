"""Config group ``load``: when requests are sent, how long they are waited for, what is retried."""

from dataclasses import dataclass
from enum import StrEnum

from experiments.schema.roles import key_field, variable_field


class LoadKind(StrEnum):
    closed = "closed"
    constant = "constant"
    poisson = "poisson"


@dataclass
class Timeouts:
    """Client waits in seconds; null means the client never gives up by itself."""

    connect_s: float | None = key_field(5.0)
    first_byte_s: float | None = key_field(60.0)
    total_s: float | None = key_field(120.0)


@dataclass
class Retry:
    count: int = key_field(0)
    backoff_s: float = key_field(0.0)
    jitter: float = key_field(0.0)
    give_up: str = key_field("count")


@dataclass
class LoadConfig:
    """``concurrency`` applies to closed, ``rate_per_s`` to open loads; the other one must stay null."""

    kind: LoadKind = key_field()
    concurrency: int | None = variable_field(None)
    rate_per_s: float | None = variable_field(None)
    think_time_s: float = variable_field(0.0)
    max_send_lag_s: float = key_field(0.05)
    connection_reuse: bool = key_field(True)
    drain_s: float = key_field(30.0)
    timeouts: Timeouts = key_field(Timeouts)
    retry: Retry = key_field(Retry)
    seed: int = key_field(0)
