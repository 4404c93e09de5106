"""Aggregates: one number over many attempts, with everything that it needs to be read.

Each names its rule, statistic, unit, population, denominator, perspective, clock domain and the resource
level that limits it. ``n`` are the samples used and ``of`` the ones offered, so that failures, rejections and
cancellations stay in sight. A figure that too few samples carry is absent, with the reason.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.analysis.absence import Absent
from assay.analysis.clusters import Clusters
from assay.analysis.columns import NO_PLACES, KeptSome, by_start, values, where
from assay.analysis.documents import Aggregate
from assay.analysis.errors import ClaimRefused
from assay.analysis.figures import Figures, Floats, Places
from assay.analysis.kept import KeptAttempts
from assay.analysis.metrics.registry import ATTEMPT_RULES
from assay.analysis.metrics.rule import Rule
from assay.analysis.ordered import Ordered
from assay.analysis.percentiles import (
    PERCENTILE_RULE,
    Interval,
    clustered_mean_interval,
    clustered_percentile_interval,
    mean_interval,
    percentile,
    percentile_interval,
    samples_needed,
)
from assay.analysis.shelf import Shelf
from assay.analysis.wire.attempt import Attempt
from runners.protocol.events import ClientState

QUANTILES = {"p50": 0.50, "p95": 0.95, "p99": 0.99}
# What a figure may be over. A session is a container of context and completes nothing.
COUNTED = ("attempts", "requests", "offered requests", "tasks", "samples", "iterations", "window")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What an aggregate is over, in words, and which level limits it."""

    population: str
    denominator: str
    perspective: str
    clock_domain: str
    limited_by: str


def of_samples(
    rule: str,
    unit: str,
    samples: Sequence[float] | Floats | Clusters,
    *,
    offered: int,
    scope: Scope,
    seed: int,
) -> list[Aggregate]:
    """mean, min, p50, p95, p99 and max of samples in time order. NaN and infinities never enter.

    Where each request gave several, intervals take the request as the unit. With samples that are not finite
    there is then none.
    """
    if not scope.population:
        raise ClaimRefused(
            field=f"population of {rule}",
            seen="none",
            allowed="the attempts or events that were counted, in words",
            remedy="A percentile without a population says nothing; name it.",
        )
    finite = samples if isinstance(samples, Clusters) else _finite(samples)
    ordered = finite.ordered if isinstance(finite, Clusters) else np.sort(finite)
    n = len(ordered)
    if not n:
        return [
            aggregate(rule, name, unit, Absent("no sample"), n=0, of=offered, scope=scope)
            for name in ("mean", *QUANTILES)
        ]
    mean, interval = _mean(finite, seed=seed)
    found = [
        aggregate(rule, "mean", unit, mean, n=n, of=offered, scope=scope, interval=interval),
        aggregate(rule, "min", unit, float(ordered[0]), n=n, of=offered, scope=scope),
    ]
    for name, q in QUANTILES.items():
        needed = samples_needed(q)
        is_carried = n >= needed
        value: float | Absent = (
            percentile(ordered, q)
            if is_carried
            else Absent(f"too few samples for {name}: {n}, at least {needed} are needed")
        )
        found.append(
            aggregate(
                rule,
                name,
                unit,
                value,
                n=n,
                of=offered,
                scope=scope,
                interval=_percentile_interval(finite, ordered, q) if is_carried else None,
                percentile_rule=PERCENTILE_RULE,
            )
        )
    found.append(aggregate(rule, "max", unit, float(ordered[-1]), n=n, of=offered, scope=scope))
    return found


def _finite(samples: Sequence[float] | Floats) -> Floats:
    values = np.asarray(samples, dtype=np.float64)
    finite: Floats = values[np.isfinite(values)]
    return finite


def _mean(finite: Floats | Clusters, *, seed: int) -> tuple[float, Interval | None]:
    if not isinstance(finite, Clusters):
        return math.fsum(finite.data) / len(finite), mean_interval(finite, seed=seed)
    interval = clustered_mean_interval(finite, seed=seed) if finite.all_finite else None
    return finite.mean(), interval


def _percentile_interval(
    finite: Floats | Clusters, ordered: Floats | Ordered, q: float
) -> Interval | None:
    if not isinstance(finite, Clusters):
        return percentile_interval(ordered, q)
    return clustered_percentile_interval(finite, q) if finite.all_finite else None


def aggregate(
    rule: str,
    statistic: str,
    unit: str,
    value: float | Absent,
    *,
    n: int,
    of: int,
    scope: Scope,
    interval: Interval | None = None,
    percentile_rule: str | None = None,
) -> Aggregate:
    """One aggregate; a value that is not finite becomes null with ``special``.

    Raises ClaimRefused where the denominator is none of ``COUNTED`` (words may follow it).
    """
    if not scope.denominator.startswith(COUNTED):
        raise ClaimRefused(
            field=f"denominator of {rule}",
            seen=repr(scope.denominator),
            allowed=", ".join(COUNTED),
            remedy="Count what is completed: tasks, requests or attempts; a session completes nothing.",
        )
    found = Aggregate(
        rule=rule,
        statistic=statistic,
        value=None,
        unit=unit,
        interval=[interval.low, interval.high] if interval is not None else None,
        interval_kind=interval.kind if interval is not None else None,
        percentile_rule=percentile_rule,
        n=n,
        of=of,
        population=scope.population,
        denominator=scope.denominator,
        perspective=scope.perspective,
        clock_domain=scope.clock_domain,
        limited_by=scope.limited_by,
        absent=None,
    )
    if isinstance(value, Absent):
        found["absent"] = value.reason
    elif math.isfinite(value):
        found["value"] = float(value)
    else:
        found["special"] = special(value)
    return found


def special(value: float) -> str:
    """The word for a value that is not finite."""
    if math.isnan(value):
        return "nan"
    return "inf" if value > 0 else "-inf"


def of_attempts(
    attempts: Sequence[Attempt],
    figures: Figures,
    *,
    segment: str,
    levels: Mapping[str, str],
    seed: int,
    shelf: Shelf | None = None,
) -> list[Aggregate]:
    """Every attempt rule over one group of kept attempts, in order of their start.

    ``of`` counts all attempts of the group (for rules sampled per event: all their samples), also of those
    that did not complete and are therefore not in the population.
    """
    ordered = by_start(attempts) if len(attempts) else KeptSome(KeptAttempts(), NO_PLACES)
    places = ordered.places
    completed = where(ordered, "state", lambda state: state is ClientState.completed)
    found: list[Aggregate] = []
    for rule in ATTEMPT_RULES.values():
        used, offered = _samples(rule, figures, places, completed, shelf)
        if not offered and not len(used):
            continue
        population = f"{rule.population}, {segment}" if segment else rule.population
        scope = Scope(
            population=population,
            denominator="samples" if rule.samples is not None else "attempts",
            perspective=rule.perspective,
            clock_domain=_domain(rule, figures, ordered),
            limited_by=levels["server" if rule.perspective != "client" else "client"],
        )
        found += of_samples(rule.id, rule.unit, used, offered=offered, scope=scope, seed=seed)
    return found


def _samples(
    rule: Rule,
    figures: Figures,
    places: Places,
    completed: NDArray[np.bool_],
    shelf: Shelf | None,
) -> tuple[Floats | Clusters, int]:
    """Samples of the population, and how many were offered in all (0: no such rule here)."""
    values = figures.values_at(rule.id, places)
    known = ~np.isnan(values)
    counted = np.ones_like(completed) if rule.population.startswith("sent") else completed
    if rule.samples is None:
        return values[known & counted], len(values) if known.any() else 0
    own = places[counted]
    used = Clusters(
        lambda: figures.samples_at(rule.id, own), figures.counts_at(rule.id, own), shelf
    )
    offered = int(figures.counts_at(rule.id, places).sum())
    return used, offered if known.any() else 0


def _domain(rule: Rule, figures: Figures, attempts: KeptSome) -> str:
    if rule.perspective == "both":
        return "differences of local durations; no common clock"
    if rule.perspective == "client":
        domains = set(values(attempts, "clock_domain"))
    else:
        domains = figures.server_domains_at(attempts.places)
    return min(domains) if len(domains) == 1 else "several"
