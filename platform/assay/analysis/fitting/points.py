"""Measured steps as points of a fit: like steps of one cell together, by their median.

A cell is what a scan declares: one combination of the variables it moves. Steps with others beside them, with
recomputed tokens or of several prompts at once have no place in a fit of single phases and are left out.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from assay.analysis.forecast.terms import Executed, step_terms
from assay.analysis.observed import ObservedStep, StepPhase
from assay.analysis.perfmodel.operators import SequenceStep, decode_sequences
from assay.analysis.quantities import NS_PER_S
from assay.analysis.step_spread import DECODE, PROMPT

CONTEXT_STEP = 64  # decode steps within so many stored tokens are like steps


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """``batch`` sequences, each with ``new`` tokens over ``stored`` ones, ``sampled`` rows in all."""

    phase: str
    batch: int
    new: int
    stored: int
    sampled: int

    def sequences(self) -> list[SequenceStep]:
        if self.phase == DECODE:
            return decode_sequences(batch=self.batch, context=self.stored)
        return [SequenceStep(new=self.new, stored=self.stored)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One measured step; ``id`` names its run and its number in the engine's record."""

    id: str
    cell: str
    shape: Shape
    measured_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Like steps of one cell: the amounts of their middle shape, and the median of what they took."""

    cell: str
    phase: str
    amounts: Mapping[str, float]
    measured_s: float
    n: int


def steps_of(observed: Iterable[ObservedStep], *, cell: str, run: str) -> list[Step]:
    """The steps of a run that a fit can use."""
    found = []
    for step in observed:
        shape = _shape(step)
        if shape is not None and step.segment is not None:
            found.append(
                Step(
                    id=f"{run} step {step.number}",
                    cell=cell,
                    shape=shape,
                    measured_s=step.duration_ns / NS_PER_S,
                )
            )
    return found


def grouped(steps: Sequence[Step], executed: Executed, *, knots: Sequence[int]) -> list[Group]:
    """Like steps together: same cell, phase, batch, chunk and sampled rows, about the same stored tokens."""
    alike: dict[tuple[object, ...], list[Step]] = {}
    for step in steps:
        s = step.shape
        near = s.stored // CONTEXT_STEP if s.phase == DECODE else s.stored
        alike.setdefault((step.cell, s.phase, s.batch, s.new, s.sampled, near), []).append(step)
    groups = []
    for members in alike.values():
        middle = sorted(members, key=lambda m: m.shape.stored)[len(members) // 2].shape
        groups.append(
            Group(
                cell=members[0].cell,
                phase=middle.phase,
                amounts=amounts_of(middle, executed, knots=knots),
                measured_s=median(m.measured_s for m in members),
                n=len(members),
            )
        )
    return groups


def amounts_of(shape: Shape, executed: Executed, *, knots: Sequence[int]) -> dict[str, float]:
    return step_terms(executed, shape.sequences(), sampled=shape.sampled, knots=knots)


def _shape(step: ObservedStep) -> Shape | None:
    """What is stored before the step runs; the record's context counts its new tokens too."""
    if step.recomputed_tokens:
        return None
    if step.phase is StepPhase.decode:
        stored = round((step.context_tokens - step.batch) / step.batch)
        return Shape(phase=DECODE, batch=step.batch, new=1, stored=stored, sampled=step.tokens_out)
    if step.phase is StepPhase.prefill and step.batch == 1:
        new = step.prefill_tokens
        return Shape(
            phase=PROMPT
            if new > 1
            else DECODE,  # the last token of a prompt alone is a step of one row
            batch=1,
            new=new,
            stored=step.context_tokens - new,
            sampled=step.tokens_out,
        )
    return None
