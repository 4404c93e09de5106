"""A comparison on a terminal: the verdict, the fields that differ, the populations, and then the numbers."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from assay.analysis.comparability.between_starts import Difference
from assay.analysis.comparability.comparison import Comparison, FieldRow
from assay.analysis.comparability.numbers import MetricRow, SideValue
from assay.analysis.comparability.populations import Lengths, lengths, pooled
from assay.analysis.comparability.wording import spread_words, verdict
from assay.cli.report import HEADLINES as SHOWN
from assay.cli.report import PIPE_WIDTH
from experiments.diff import Verdict

MOST_CHARACTERS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which fields and metrics are printed; None means every one."""

    verdicts: frozenset[Verdict]
    rules: tuple[str, ...] | None
    statistics: tuple[str, ...] | None


EVERYTHING = Choice(verdicts=frozenset(Verdict), rules=None, statistics=None)
HEADLINES = Choice(
    verdicts=frozenset(Verdict) - {Verdict.same}, rules=SHOWN.rules, statistics=SHOWN.statistics
)


def print_comparison(
    found: Comparison, choice: Choice = HEADLINES, console: Console | None = None
) -> None:
    out = console or Console(width=None if sys.stdout.isatty() else PIPE_WIDTH)
    out.print(Text(verdict(found)), soft_wrap=True)
    out.print(Text(spread_words(found)), soft_wrap=True)
    for side in found.sides:
        for run in side.runs:
            out.print(Text(f"{side.letter}  {run.run}  {run.name}  {run.state}"), soft_wrap=True)
    out.print()
    out.print(_fields(found, choice))
    out.print(_populations(found))
    for note in (*found.population_notes, *found.measuring_notes, *found.not_covered):
        out.print(Text(f"note: {note}"), soft_wrap=True)
    out.print()
    if found.refusals:
        out.print(Text("refused: no number is compared"))
        return
    out.print(_metrics(found, choice))
    out.print(Text(f"[low, high] beside a side: {_intervals(found)}"), soft_wrap=True)
    if choice != EVERYTHING:
        out.print(Text("`--all` prints every field and every metric; `--json` holds all of it"))


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _fields(found: Comparison, choice: Choice) -> Table:
    letters = [side.letter for side in found.sides]
    table = _table("identity", "field", "verdict", *letters, "note")
    for row in found.fields:
        if row.verdict in choice.verdicts:
            table.add_row(row.path, row.verdict.value, *_cells(row), _note(row))
    same = sum(row.verdict is Verdict.same for row in found.fields)
    table.add_row(f"{same} of {len(found.fields)} fields are the same")
    return table


def _cells(row: FieldRow) -> Iterator[str]:
    for value in row.values:
        text = "null" if value is None else str(value)
        yield text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 3] + "..."


def _note(row: FieldRow) -> str:
    follows = [f"follows {row.follows}"] if row.follows else []
    return "; ".join([*row.notes, *follows])


def _populations(found: Comparison) -> Table:
    columns = ("side", "over", "offered", "completed", "input tokens", "output tokens", "cached")
    table = _table("populations", *columns)
    for side in found.sides:
        own = pooled(side)
        if own is None:
            table.add_row(side.letter, "unknown: its attempts cannot be read here")
            continue
        share = own.cached_share
        table.add_row(
            side.letter,
            own.group,
            str(own.offered),
            str(own.completed),
            _words(lengths(own.input_lengths, of=own.completed)),
            _words(lengths(own.output_lengths, of=own.completed)),
            "unknown: not told" if share is None else f"{share:.1%}",
        )
    return table


def _words(found: Lengths | None) -> str:
    return found.words() if found is not None else "unknown: not counted"


def _metrics(found: Comparison, choice: Choice) -> Table:
    letters = [side.letter for side in found.sides]
    differences = [f"{letter} - {letters[0]}" for letter in letters[1:]]
    table = _table("metrics", "rule", "statistic", "unit", *letters, *differences)
    for row in found.metrics:
        if choice.rules is not None and row.rule not in choice.rules:
            continue
        if choice.statistics is not None and row.statistic not in choice.statistics:
            continue
        if choice != EVERYTHING and all(value.value is None for value in row.values):
            continue
        table.add_row(
            row.rule,
            row.statistic,
            row.unit,
            *(_value(value) for value in row.values),
            *_differences(row),
        )
    return table


def _intervals(found: Comparison) -> str:
    """What the interval of a side is: never one of a difference."""
    several = any(len(side.runs) > 1 for side in found.sides)
    return "within this start" + (
        "; of a side of several runs their lowest and highest" if several else ""
    )


def _value(value: SideValue) -> str:
    if value.value is None:
        return f"unknown: {value.absent}"
    if value.low is None or value.high is None:
        return f"{value.value:.3g}"
    return f"{value.value:.3g} [{value.low:.3g}, {value.high:.3g}]"


def _differences(row: MetricRow) -> Iterator[str]:
    for found, why in zip(row.differences, row.refused, strict=True):
        yield _difference(found) if found is not None else f"none: {why}"


def _difference(found: Difference) -> str:
    """Without an interval where starts do not show their spread; the head of the report says so."""
    relative = f" ({found.relative:+.1%})" if found.relative is not None else ""
    words = f"{found.absolute:+.3g}{relative}"
    if found.interval is None:
        return words
    low, high = found.interval.low, found.interval.high
    return f"{words} [{low:+.3g}, {high:+.3g}] {found.interval.kind}"
