"""Config group ``study``: the question asked, and how its runs are ordered.

All of it is context: it says why and in which order runs are made, not what one of them is.
"""

from dataclasses import dataclass
from enum import StrEnum

from experiments.schema.roles import context_field


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
    seed: int = context_field(0)  # of the run order
    repetitions: int = context_field(1)
    order: SweepOrder = context_field(SweepOrder.seeded)
