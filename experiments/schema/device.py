"""Config group ``device``: what the run asks for, and which cores do what."""

from dataclasses import dataclass

from experiments.schema.roles import key_field


@dataclass
class Placement:
    """Core numbers by affinity; empty means not pinned, which is recorded too."""

    client_cores: list[int] = key_field(list)
    engine_cores: list[int] = key_field(list)


@dataclass
class DeviceConfig:
    name: str = key_field()
    kind: str = key_field()  # cpu | cuda
    count: int = key_field(1)
    interconnect: str | None = key_field(None)  # what ties several devices; null: there is one
    placement: Placement = key_field(Placement)
