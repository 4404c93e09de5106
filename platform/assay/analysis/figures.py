"""Every rule's values over many attempts as plain columns of numbers: what aggregates are made of.

Eight bytes a value, and none for a rule that has no value anywhere. What a rule gives per event lies on a
shelf, once for all rules that give the same samples. An attempt's own document is written once and let go.
"""

import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from assay.analysis.absence import Absent
from assay.analysis.compact import Coded
from assay.analysis.documents import MetricValue
from assay.analysis.metrics.registry import ATTEMPT_RULES
from assay.analysis.metrics.rule import Rule
from assay.analysis.server_record import ServerRecord
from assay.analysis.shelf import Column, HeldShelf, copied
from assay.analysis.stretches import StretchColumns, blocks, gathered
from assay.analysis.wire.attempt import Attempt

# What a column holds where a rule has no value. One that is not finite is held as infinity: neither enters
# an aggregate, but the second shows that the rule applies.
_ABSENT = math.nan
_SAMPLED = tuple(rule for rule in ATTEMPT_RULES.values() if rule.samples is not None)
Floats = NDArray[np.float64]
Places = NDArray[np.int64]


def _stretches() -> dict[str, StretchColumns]:
    return {rule.id: StretchColumns() for rule in _SAMPLED}


def _held() -> Column:
    return HeldShelf().column("d")


@dataclass(slots=True)
class Figures:
    """Values by rule, and samples by rule sampled per event, in the order in which attempts were taken."""

    samples: Column = field(default_factory=_held)
    taken: int = 0
    values: dict[str, "array[float]"] = field(default_factory=dict)
    stretches: dict[str, StretchColumns] = field(default_factory=_stretches)
    server_domains: Coded = field(default_factory=Coded)

    def take(
        self, attempt: Attempt, record: ServerRecord | None, metrics: Mapping[str, MetricValue]
    ) -> None:
        """Enter one attempt, whose values were computed for its document."""
        self.server_domains.append(record.clock_domain if record is not None else None)
        for name, metric in metrics.items():
            value, column = metric["value"], self.values.get(name)
            if value is None:
                value = math.inf if "special" in metric else _ABSENT
            if column is not None:
                column.append(value)
            elif value is not _ABSENT:
                self._column(name, self.taken).append(value)
        self.taken += 1
        known: list[tuple[Sequence[float], int]] = []
        for rule in _SAMPLED:
            found = _samples_of(rule, attempt, record)
            start = next((start for seen, start in known if seen is found), None)
            if start is None:
                start = len(self.samples)
                known.append((found, start))
                self.samples.extend(np.asarray(found, dtype=np.float64))
            self.stretches[rule.id].append(start, len(found))

    def extend(self, other: "Figures") -> None:
        """Enter the attempts of another batch after one's own."""
        moved = len(self.samples)
        copied(other.samples, self.samples)
        self.server_domains.extend(other.server_domains)
        for rule in other.values.keys() | self.values.keys():
            column, more = self._column(rule, self.taken), other.values.get(rule)
            column.extend(more if more is not None else _absent(other.taken))
        for rule, stretches in self.stretches.items():
            stretches.extend(other.stretches[rule], moved=moved)
        self.taken += other.taken

    def _column(self, rule: str, length: int) -> "array[float]":
        column = self.values.get(rule)
        if column is None:
            column = self.values[rule] = _absent(length)
        return column

    def values_at(self, rule: str, places: Places) -> Floats:
        """The rule's value of each attempt: nan where absent, infinite where not finite."""
        if rule not in self.values:
            return np.full(len(places), _ABSENT)
        column: Floats = np.frombuffer(self.values[rule], dtype=np.float64)
        return column[places]

    def counts_at(self, rule: str, places: Places) -> Places:
        """How many samples of the rule each attempt gave."""
        return self.stretches[rule].at(places).counts

    def samples_at(self, rule: str, places: Places) -> Iterator[Floats]:
        """Samples of these attempts in their order, some attempts at a time."""
        stretches = self.stretches[rule].at(places)
        for first, last in blocks(stretches.counts):
            yield gathered(self.samples, stretches.part(first, last))

    def server_domains_at(self, places: Places) -> set[str]:
        codes = np.frombuffer(self.server_domains.codes, dtype=np.intc)[places]
        known = (self.server_domains.values[code] for code in np.unique(codes).tolist())
        return {domain for domain in known if domain is not None}


def _absent(length: int) -> "array[float]":
    return array("d", [_ABSENT]) * length


def _samples_of(rule: Rule, attempt: Attempt, record: ServerRecord | None) -> Sequence[float]:
    found = rule.samples(attempt, record) if rule.samples is not None else ()
    return () if isinstance(found, Absent) else found
