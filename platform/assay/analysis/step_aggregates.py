"""Aggregates of the engine's iterations: step times by phase and batch sizes, as distributions.

Under continuous batching the batch changes with every step, so it is a distribution, never one number.
"""

from collections.abc import Sequence

from assay.analysis.aggregates import Scope, of_samples
from assay.analysis.documents import Aggregate
from assay.analysis.observed import CountedStep, ObservedStep, StepPhase
from assay.analysis.quantities import NS_PER_S


def step_aggregates(
    steps: Sequence[ObservedStep | CountedStep],
    *,
    segment: str,
    clock_domain: str,
    level: str,
    seed: int,
) -> list[Aggregate]:
    """``step.server.<phase>`` in s and ``batch.server`` in requests, over the steps of one segment."""
    found: list[Aggregate] = []
    for phase in StepPhase:
        chosen = [s.duration_ns / NS_PER_S for s in steps if s.phase is phase]
        if chosen:
            found += of_samples(
                f"step.server.{phase.value}",
                "s",
                chosen,
                offered=len(steps),
                scope=_scope(f"{phase.value} iterations, {segment}", clock_domain, level),
                seed=seed,
            )
    if steps:
        found += of_samples(
            "batch.server",
            "request",
            [float(s.batch) for s in steps],
            offered=len(steps),
            scope=_scope(f"iterations, {segment}", clock_domain, level),
            seed=seed,
        )
    return found


def _scope(population: str, clock_domain: str, level: str) -> Scope:
    return Scope(
        population=population,
        denominator="iterations",
        perspective="server",
        clock_domain=clock_domain,
        limited_by=level,
    )
