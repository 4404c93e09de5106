"""Config group ``study``: the question asked, and how its runs are ordered."""

from dataclasses import dataclass
from enum import StrEnum

from experiments.schema.roles import context_field, key_field


class SweepOrder(StrEnum):
    seeded = "seeded"
    declared = "declared"


@dataclass
class StudyConfig:
    name: str = context_field()
    title: str = context_field("")
    question: str = context_field("")
    notes: str = context_field("")
    tags: list[str] = context_field(list)
    seed: int = key_field(0)
    repetitions: int = context_field(1)
    order: SweepOrder = context_field(SweepOrder.seeded)
