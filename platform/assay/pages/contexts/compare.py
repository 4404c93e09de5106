"""Compared runs as a page: which they are, what their difference may be put down to, then the rest of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from assay.accounts.access import Access
from assay.analysis.comparability.comparison import (
    FEWEST_RUNS,
    Comparison,
    Standing,
    compare_runs,
)
from assay.analysis.comparability.populations import Lengths, lengths, pooled
from assay.analysis.comparability.sides import MOST_RUNS
from assay.analysis.comparability.wording import pair_verdict, spread_words, verdict
from assay.ledger.comparing import Gathered, gathered, run_name
from assay.ledger.models import Run
from assay.ledger.visibility import visible_runs
from assay.pages.contexts.compare_charts import (
    LATENCIES,
    Distribution,
    Front,
    Residuals,
    distribution,
    pareto,
    residuals,
)
from assay.pages.contexts.compare_identity import IdentityDiff, identity_diff
from assay.pages.contexts.compare_numbers import Numbers, numbers

OFFERED_RUNS = 12  # to add, the newest sealed ones
# What a standing means for the reader: amber is a weakness of the evidence, red a thing that cannot be done.
TONES = {Standing.refused: "bad", Standing.confounded: "weak", Standing.joint: "weak"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenRun:
    """One run of the query, with the queries that leave it out or put it first."""

    run: Run
    name: str
    letter: str
    first_of_side: bool
    without: str
    as_first: str

    @property
    def short_id(self) -> str:
        """Tells apart runs of one name: repetitions that a schedule started."""
        return str(self.run.pk)[-12:]


@dataclass(frozen=True, slots=True, kw_only=True)
class PopulationLine:
    letter: str
    group: str
    offered: int | None  # None: the attempts cannot be read here
    states: list[tuple[str, int]]
    input_tokens: Lengths | None
    output_tokens: Lengths | None
    cached_share: float | None
    at_cap: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Everything below the list of runs; there from two runs on."""

    comparison: Comparison
    verdict: str
    pairs: list[tuple[str, str]]  # tone, sentence; where there are several sides to speak of
    tone: str
    spread: str
    identity: IdentityDiff
    populations: list[PopulationLine]
    numbers: Numbers
    distribution: Distribution | None
    front: Front | None
    residuals: Residuals


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparePage:
    chosen: list[ChosenRun]
    offered: list[tuple[str, str]]  # query that adds it, name
    may_add: bool
    latency: str
    latencies: list[tuple[str, str]]
    compared: Compared | None

    @property
    def needed(self) -> int:
        return max(0, FEWEST_RUNS - len(self.chosen))

    @property
    def letters(self) -> list[str]:
        return [side.letter for side in self.compared.comparison.sides] if self.compared else []

    @property
    def ids(self) -> list[str]:
        return [str(chosen.run.pk) for chosen in self.chosen]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """How much of it is asked for."""

    all_fields: bool = False
    all_metrics: bool = False
    latency: str = "ttft"


def compare_page(runs: Sequence[Run], wish: Wish, access: Access) -> ComparePage:
    """Raises BadRecord for one run twice, or for more than eight."""
    ids = [str(run.pk) for run in runs]
    found = gathered(runs) if len(runs) >= FEWEST_RUNS else None
    comparison = compare_runs(found.records) if found is not None else None
    letters = _letters(comparison)
    return ComparePage(
        chosen=[
            ChosenRun(
                run=run,
                name=run_name(run),
                letter=letters.get(str(run.pk), ""),
                first_of_side=_is_first(comparison, str(run.pk)),
                without=query_of([i for i in ids if i != str(run.pk)]),
                as_first=query_of([str(run.pk), *(i for i in ids if i != str(run.pk))]),
            )
            for run in runs
        ],
        offered=_offered(ids, access) if len(ids) < MOST_RUNS else [],
        may_add=len(ids) < MOST_RUNS,
        latency=wish.latency,
        latencies=[(key, label) for key, (label, _rule) in LATENCIES.items()],
        compared=_compared(comparison, found, wish) if comparison and found else None,
    )


def query_of(ids: Sequence[str]) -> str:
    return "?" + urlencode([("run", run_id) for run_id in ids])


def chosen_runs(ids: Sequence[UUID], access: Access) -> list[Run]:
    """The runs of those ids that may be seen, in the order asked; one that is missing is not there."""
    found = visible_runs(access).select_related("study", "artifact").in_bulk(list(ids))
    return [found[run_id] for run_id in ids if run_id in found]


def _letters(comparison: Comparison | None) -> dict[str, str]:
    sides = comparison.sides if comparison is not None else ()
    return {run.run: side.letter for side in sides for run in side.runs}


def _is_first(comparison: Comparison | None, run_id: str) -> bool:
    return comparison is not None and comparison.sides[0].first.run == run_id


def _offered(ids: Sequence[str], access: Access) -> list[tuple[str, str]]:
    newest = visible_runs(access).filter(state="sealed").exclude(id__in=[UUID(i) for i in ids])
    rows = newest.select_related("study").order_by("-created_at", "-id")[:OFFERED_RUNS]
    return [(query_of([*ids, str(run.pk)]), _offered_name(run)) for run in rows]


def _offered_name(run: Run) -> str:
    moved = " ".join(f"{name}={value}" for name, value in list(run.variables.items())[:2])
    return f"{run_name(run)} {moved}".rstrip()


def _compared(comparison: Comparison, found: Gathered, wish: Wish) -> Compared:
    letter = comparison.sides[0].letter
    return Compared(
        comparison=comparison,
        verdict=verdict(comparison),
        pairs=[
            (TONES.get(pair.standing, ""), pair_verdict(letter, pair)) for pair in comparison.pairs
        ],
        tone=TONES.get(comparison.standing, ""),
        spread=spread_words(comparison),
        identity=identity_diff(comparison, shows_all=wish.all_fields),
        populations=_populations(comparison),
        numbers=numbers(comparison, shows_all=wish.all_metrics),
        distribution=None
        if comparison.refusals
        else distribution(comparison, found.readings, wish.latency),
        front=pareto(comparison, wish.latency),
        residuals=residuals(comparison),
    )


def _populations(comparison: Comparison) -> list[PopulationLine]:
    lines = []
    for side in comparison.sides:
        own = pooled(side)
        lines.append(
            PopulationLine(
                letter=side.letter,
                group=own.group if own else "",
                offered=own.offered if own else None,
                states=sorted(own.states.items()) if own else [],
                input_tokens=lengths(own.input_lengths, of=own.completed) if own else None,
                output_tokens=lengths(own.output_lengths, of=own.completed) if own else None,
                cached_share=own.cached_share if own else None,
                at_cap=own.at_cap.get("workload.output_tokens") if own else None,
            )
        )
    return lines


def exported_populations(comparison: Comparison) -> tuple[list[str], list[list[Any]]]:
    columns = ["side", "group", "offered", "states", "input_tokens", "output_tokens"]
    rows = [
        [
            line.letter,
            line.group or None,
            line.offered,
            dict(line.states),
            line.input_tokens.words() if line.input_tokens else None,
            line.output_tokens.words() if line.output_tokens else None,
            line.cached_share,
            line.at_cap,
        ]
        for line in _populations(comparison)
    ]
    return [*columns, "cached_share", "at_cap"], rows
