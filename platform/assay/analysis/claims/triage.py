"""Where to look first, by responsibility: a pointer to waiting, decision or execution, never a cause.

Each rule compares a run with a reference of the same workload. "Long" and "slow" are the declared factor
above it; between the two nothing is said.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from experiments.changes.components import ComponentMap
from experiments.changes.vocabulary import Responsibility

DEFAULT_FACTOR = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """Medians over one population. Seconds; ``waiting`` is requests in the queue. None is not observed."""

    queue_s: float | None
    first_byte_s: float | None  # at the client, from the send
    engine_first_token_s: float | None  # in the engine, from its receipt
    inter_token_s: float | None
    waiting: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """``parts`` are the engine's names for the responsibilities, by the map of its version."""

    rule: str
    look_at: tuple[Responsibility, ...]
    because: str
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Triage:
    """``unsaid`` names what kept a rule from being applied."""

    leads: tuple[Lead, ...]
    unsaid: tuple[str, ...]


def triage(
    run: Observed,
    reference: Observed,
    *,
    components: ComponentMap | None = None,
    factor: float = DEFAULT_FACTOR,
) -> Triage:
    slower = {
        name: _slower(getattr(run, name), getattr(reference, name), factor)
        for name in ("queue_s", "first_byte_s", "engine_first_token_s", "inter_token_s")
    }
    empty_queue = None if run.waiting is None else run.waiting < 1
    leads = []
    if slower["queue_s"]:
        leads.append(_queueing(run, reference, components))
    outside = _outside(run, reference, factor)
    if outside and slower["inter_token_s"] is False:
        leads.append(_output(run, reference, components))
    if slower["inter_token_s"] and empty_queue:
        leads.append(_execution(run, reference, components))
    observed: Mapping[str, bool | None] = {
        "queue time": slower["queue_s"],
        "first byte against the engine's own first token": outside,
        "inter-token time": slower["inter_token_s"],
        "requests waiting": empty_queue,
    }
    unsaid = tuple(f"{name} is not observed" for name, value in observed.items() if value is None)
    return Triage(leads=tuple(leads), unsaid=unsaid)


def _slower(value: float | None, reference: float | None, factor: float) -> bool | None:
    if value is None or reference is None:
        return None
    return value > factor * reference


def _outside(run: Observed, reference: Observed, factor: float) -> bool | None:
    """Whether the first byte lost its time after the engine had its first token."""
    times = (
        run.first_byte_s,
        run.engine_first_token_s,
        reference.first_byte_s,
        reference.engine_first_token_s,
    )
    if any(t is None for t in times):
        return None
    byte, token, was_byte, was_token = (t for t in times if t is not None)
    return byte > factor * was_byte and (byte - token) - (was_byte - was_token) > token - was_token


def _queueing(run: Observed, reference: Observed, parts: ComponentMap | None) -> Lead:
    return _lead(
        "long queueing",
        (Responsibility.admission, Responsibility.scheduler),
        f"queue {run.queue_s} s against {reference.queue_s} s",
        parts,
    )


def _output(run: Observed, reference: Observed, parts: ComponentMap | None) -> Lead:
    return _lead(
        "slow first byte with fast generation",
        (Responsibility.output, Responsibility.front_end),
        f"first byte {run.first_byte_s} s against {reference.first_byte_s} s, most of it after the engine's "
        "own first token",
        parts,
    )


def _execution(run: Observed, reference: Observed, parts: ComponentMap | None) -> Lead:
    return _lead(
        "slow generation with an empty queue",
        (Responsibility.runner, Responsibility.back_end),
        f"inter-token time {run.inter_token_s} s against {reference.inter_token_s} s, nothing waiting",
        parts,
    )


def _lead(
    rule: str, look_at: tuple[Responsibility, ...], because: str, parts: ComponentMap | None
) -> Lead:
    named = [c.name for r in look_at for c in parts.by_responsibility[r]] if parts else []
    return Lead(rule=rule, look_at=look_at, because=because, parts=tuple(named))
