"""Config group ``prediction``: what is stated before launch, and with which nominal coverage."""

from dataclasses import dataclass

from experiments.schema.roles import context_field, key_field


@dataclass
class PredictionConfig:
    enabled: bool = context_field(True)
    coverage: float = key_field(0.9)
    # take a micro-benchmark when none is stored for this host
    measure_device: bool = context_field(True)
