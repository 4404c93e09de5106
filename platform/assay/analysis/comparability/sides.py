"""Runs grouped into sides: the same declaration, and as far as is known the same things ran.

Only fresh starts of one configuration are samples of one thing. A run whose host, engine build or artifact
differs is a side of its own, even under the same declaration.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from assay.analysis.comparability.facts import facts
from assay.analysis.comparability.record import RunRecord
from experiments.errors import Refusal
from experiments.identity import spec_digest
from experiments.migrations import migrate

LETTERS = "ABCDEFGH"
MOST_RUNS = len(LETTERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """``letter`` names it in every table and chart; the first side is what the others are compared with."""

    letter: str
    name: str
    digest: str  # of the declaration at the present schema version
    runs: tuple[RunRecord, ...]

    @property
    def first(self) -> RunRecord:
        return self.runs[0]

    @property
    def starts(self) -> int:
        """Fresh starts of an engine; 0 where the runs started none."""
        return sum(run.starts_engine for run in self.runs)


def sides_of(runs: Sequence[RunRecord]) -> tuple[Side, ...]:
    """Sides in the order in which their first runs come."""
    grouped: dict[tuple[str, str], list[RunRecord]] = {}
    for run in runs:
        grouped.setdefault((_digest(run), _ran(run)), []).append(run)
    return tuple(
        Side(letter=letter, name=own[0].name, digest=digest, runs=tuple(own))
        for letter, ((digest, _), own) in zip(LETTERS, grouped.items(), strict=False)
    )


def _digest(run: RunRecord) -> str:
    """A declaration that cannot be read equals no other one."""
    try:
        return spec_digest(migrate(run.spec))
    except Refusal:
        return f"unreadable declaration of {run.run}"


def _ran(run: RunRecord) -> str:
    known = {path: fact.value for path, fact in facts(run.observed).items()}
    return json.dumps(known, sort_keys=True, default=str)
