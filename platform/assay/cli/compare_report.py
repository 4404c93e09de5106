"""A comparison on a terminal: the verdict, the fields that differ, the populations, and then the numbers.

It is told from the document that ``--json`` prints, so that one of a server reads as one of here.
"""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from assay.analysis.comparability.populations import Lengths
from assay.cli.report import HEADLINES as SHOWN
from assay.cli.report import PIPE_WIDTH
from experiments.diff import Verdict

MOST_CHARACTERS = 60
Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which fields and metrics are printed; None means every one."""

    verdicts: frozenset[str]
    rules: tuple[str, ...] | None
    statistics: tuple[str, ...] | None


ALL_VERDICTS = frozenset(verdict.value for verdict in Verdict)
EVERYTHING = Choice(verdicts=ALL_VERDICTS, rules=None, statistics=None)
HEADLINES = Choice(
    verdicts=ALL_VERDICTS - {Verdict.same.value}, rules=SHOWN.rules, statistics=SHOWN.statistics
)


def print_comparison(
    found: Document, choice: Choice = HEADLINES, console: Console | None = None
) -> None:
    """``found`` is a ``ComparisonDocument``."""
    out = console or Console(width=None if sys.stdout.isatty() else PIPE_WIDTH)
    out.print(Text(found["verdict"]), soft_wrap=True)
    out.print(Text(found["starts"]), soft_wrap=True)
    for side in found["sides"]:
        for run in side["runs"]:
            words = f"{side['letter']}  {run['run']}  {run['name']}  {run['state']}"
            out.print(Text(words), soft_wrap=True)
    out.print()
    out.print(_fields(found, choice))
    out.print(_populations(found))
    for note in (*found["population_notes"], *found["measuring_notes"], *found["not_covered"]):
        out.print(Text(f"note: {note}"), soft_wrap=True)
    out.print()
    if found["refusals"]:
        out.print(Text("refused: no number is compared"))
        return
    out.print(_metrics(found, choice))
    out.print(Text(f"[low, high] beside a side: {_intervals(found)}"), soft_wrap=True)
    if choice != EVERYTHING:
        out.print(Text("`--all` prints every field and every metric; `--json` holds all of it"))


def _letters(found: Document) -> list[str]:
    return [side["letter"] for side in found["sides"]]


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _fields(found: Document, choice: Choice) -> Table:
    letters = _letters(found)
    table = _table("identity", "field", "verdict", *letters, "note")
    for row in found["fields"]:
        if row["verdict"] in choice.verdicts:
            cells = (_short(row["values"][letter]) for letter in letters)
            table.add_row(row["path"], row["verdict"], *cells, _note(row))
    same = sum(row["verdict"] == Verdict.same.value for row in found["fields"])
    table.add_row(f"{same} of {len(found['fields'])} fields are the same")
    return table


def _short(value: Any) -> str:
    text = "null" if value is None else str(value)
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 3] + "..."


def _note(row: Document) -> str:
    follows = [f"follows {row['follows']}"] if row["follows"] else []
    return "; ".join([*row["notes"], *follows])


def _populations(found: Document) -> Table:
    columns = ("side", "over", "offered", "completed", "input tokens", "output tokens", "cached")
    table = _table("populations", *columns)
    for letter in _letters(found):
        own = found["populations"][letter]
        if own is None:
            table.add_row(letter, "unknown: its attempts cannot be read here")
            continue
        share = own["cached_share"]
        table.add_row(
            letter,
            own["group"],
            str(own["offered"]),
            str(own["states"].get("completed", 0)),
            _words(own["input_tokens"]),
            _words(own["output_tokens"]),
            "unknown: not told" if share is None else f"{share:.1%}",
        )
    return table


def _words(found: Document | None) -> str:
    return Lengths(**found).words() if found is not None else "unknown: not counted"


def _metrics(found: Document, choice: Choice) -> Table:
    letters = _letters(found)
    differences = [f"{letter} - {letters[0]}" for letter in letters[1:]]
    table = _table("metrics", "rule", "statistic", "unit", *letters, *differences)
    for row in found["metrics"]:
        if choice.rules is not None and row["rule"] not in choice.rules:
            continue
        if choice.statistics is not None and row["statistic"] not in choice.statistics:
            continue
        if choice != EVERYTHING and all(v["value"] is None for v in row["values"].values()):
            continue
        table.add_row(
            row["rule"],
            row["statistic"],
            row["unit"],
            *(_value(row["values"][letter]) for letter in letters),
            *_differences(row, letters[1:]),
        )
    return table


def _intervals(found: Document) -> str:
    """What the interval of a side is: never one of a difference."""
    several = any(len(side["runs"]) > 1 for side in found["sides"])
    return "within this start" + (
        "; of a side of several runs their lowest and highest" if several else ""
    )


def _value(value: Document) -> str:
    if value["value"] is None:
        return f"unknown: {value['absent']}"
    if value["interval"] is None:
        return f"{value['value']:.3g}"
    low, high = value["interval"]
    return f"{value['value']:.3g} [{low:.3g}, {high:.3g}]"


def _differences(row: Document, letters: list[str]) -> Iterator[str]:
    for letter in letters:
        found = row["differences"][letter]
        yield _difference(found) if found is not None else f"none: {row['refused'][letter]}"


def _difference(found: Document) -> str:
    """Without an interval where starts do not show their spread; the head of the report says so."""
    relative = f" ({found['relative']:+.1%})" if found["relative"] is not None else ""
    words = f"{found['absolute']:+.3g}{relative}"
    if found["interval"] is None:
        return words
    low, high = found["interval"]
    return f"{words} [{low:+.3g}, {high:+.3g}] {found['interval_kind']}"
