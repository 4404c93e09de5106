"""Config group ``device``: what the run asks for, which cores do what, and what its use is said to cost."""

from dataclasses import dataclass
from enum import StrEnum

from experiments.schema.roles import context_field, key_field


@dataclass
class Placement:
    """Core numbers by affinity; empty means not pinned, which is recorded too."""

    client_cores: list[int] = key_field(list)
    engine_cores: list[int] = key_field(list)


class PricedBy(StrEnum):
    device_hour = "device_hour"
    kilowatt_hour = "kilowatt_hour"


@dataclass
class Price:
    """What somebody states a device costs. There is no default: without one no cost is given.

    ``amount`` of ``currency`` (three letters, ISO 4217) for one ``per``, as of the day ``as_of``; ``source``
    says whose price it is.
    """

    amount: float = context_field()
    currency: str = context_field()
    per: PricedBy = context_field()
    as_of: str = context_field()
    source: str = context_field()


@dataclass
class DeviceConfig:
    name: str = key_field()
    kind: str = key_field()  # cpu | cuda; torch calls AMD's devices cuda too
    count: int = key_field(1)
    interconnect: str | None = key_field(None)  # what ties several devices; null: there is one
    # Of the machine, for the host's own side (weights before they move, offloaded blocks); null: any.
    host_memory_bytes: int | None = context_field(None)
    placement: Placement = key_field(Placement)
    price: Price | None = context_field(None)
