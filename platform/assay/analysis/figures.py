"""Every rule's values over many attempts as plain columns of numbers: what aggregates are made of.

Eight bytes a value. An attempt's own document is written once and let go; only these columns stay.
"""

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from assay.analysis.absence import Absent
from assay.analysis.documents import MetricValue
from assay.analysis.metrics.registry import ATTEMPT_RULES
from assay.analysis.metrics.rule import Rule
from assay.analysis.server_record import ServerRecord
from assay.analysis.wire.attempt import Attempt

# What a column holds where a rule has no value. One that is not finite is held as infinity: neither enters
# an aggregate, but the second shows that the rule applies.
_ABSENT = math.nan
Floats = NDArray[np.float64]
Places = NDArray[np.int64]


def _columns() -> dict[str, "array[float]"]:
    return {rule: array("d") for rule in ATTEMPT_RULES}


def _sampled() -> dict[str, "array[float]"]:
    return {name: array("d") for name, rule in ATTEMPT_RULES.items() if rule.samples is not None}


def _counted() -> dict[str, "array[int]"]:
    return {name: array("q") for name in _sampled()}


@dataclass(slots=True)
class Figures:
    """Values by rule, and samples by rule sampled per event, in the order in which attempts were taken."""

    values: dict[str, "array[float]"] = field(default_factory=_columns)
    samples: dict[str, "array[float]"] = field(default_factory=_sampled)
    counts: dict[str, "array[int]"] = field(default_factory=_counted)  # samples of each attempt
    attempt_ids: list[str] = field(default_factory=list)
    client_domains: list[str] = field(default_factory=list)
    server_domains: list[str | None] = field(default_factory=list)

    def take(
        self, attempt: Attempt, record: ServerRecord | None, metrics: Mapping[str, MetricValue]
    ) -> None:
        """Enter one attempt, whose values were computed for its document."""
        self.attempt_ids.append(attempt.attempt_id)
        self.client_domains.append(attempt.clock_domain)
        self.server_domains.append(record.clock_domain if record is not None else None)
        for rule, column in self.values.items():
            column.append(_stored(metrics[rule]))
        for name, samples in self.samples.items():
            found = _samples_of(ATTEMPT_RULES[name], attempt, record)
            samples.extend(found)
            self.counts[name].append(len(found))

    def extend(self, other: "Figures") -> None:
        """Enter the attempts of another batch after one's own."""
        self.attempt_ids += other.attempt_ids
        self.client_domains += other.client_domains
        self.server_domains += other.server_domains
        for rule in self.values:
            self.values[rule].extend(other.values[rule])
        for rule in self.samples:
            self.samples[rule].extend(other.samples[rule])
            self.counts[rule].extend(other.counts[rule])

    def places(self, attempt_ids: Iterable[str]) -> Places:
        """Where these attempts stand, in the order given."""
        place = {name: number for number, name in enumerate(self.attempt_ids)}
        return np.fromiter((place[name] for name in attempt_ids), dtype=np.int64)

    def values_at(self, rule: str, places: Places) -> Floats:
        """The rule's value of each attempt: nan where absent, infinite where not finite."""
        column: Floats = np.frombuffer(self.values[rule], dtype=np.float64)
        return column[places]

    def counts_at(self, rule: str, places: Places) -> Places:
        column: Places = np.frombuffer(self.counts[rule], dtype=np.int64)
        return column[places]

    def samples_at(self, rule: str, places: Places) -> Floats:
        """All samples of these attempts, one attempt after the other."""
        counts = np.frombuffer(self.counts[rule], dtype=np.int64)
        starts = np.cumsum(counts) - counts
        chosen = counts[places]
        # The k-th sample of a chosen attempt lies k after that attempt's first one.
        firsts = np.repeat(starts[places] - (np.cumsum(chosen) - chosen), chosen)
        column: Floats = np.frombuffer(self.samples[rule], dtype=np.float64)
        return column[firsts + np.arange(len(firsts))]

    def domains_at(self, rule: Rule, places: Places) -> set[str]:
        known = self.client_domains if rule.perspective == "client" else self.server_domains
        return {domain for place in places if (domain := known[place]) is not None}


def _stored(metric: MetricValue) -> float:
    value = metric["value"]
    if value is not None:
        return value
    return math.inf if "special" in metric else _ABSENT


def _samples_of(rule: Rule, attempt: Attempt, record: ServerRecord | None) -> Sequence[float]:
    found = rule.samples(attempt, record) if rule.samples is not None else ()
    return () if isinstance(found, Absent) else found
