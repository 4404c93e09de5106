"""The right side of a term: dates, spans of time, numbers with units. Each is a value or a named error."""

import math
import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from assay.analysis.metrics.catalogue import ALL_RULES
from assay.ledger.run_query.terms import Compare, Span
from assay.ledger.run_query.vocabulary import METRICS, STATISTICS, default_statistic, units_of
from experiments.errors import refuse

_SPAN = re.compile(r"(\d{1,5})([hdw])")
_SPAN_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_BOUND = re.compile(r"(<=|>=|<|>)(.*)", re.DOTALL)
_NUMBER = re.compile(
    r"([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?)(.*)", re.ASCII | re.DOTALL
)
_DATES = "a day (2026-11-01), >=, >, <= or < before a day, day..day, or a span (12h, 7d, 2w)"
_FIRST_YEAR, _LAST_YEAR = 1970, 9000


def span(word: str, field: str, text: str, *, negated: bool) -> Span:
    """``7d``, ``>2026-11-01``, ``2026-11-01`` or ``2026-11-01..2026-11-07``, in UTC. Raises Refusal."""
    if found := _SPAN.fullmatch(text):
        within = int(found[1]) * _SPAN_UNITS[found[2]]
        return Span(word=word, negated=negated, field=field, within=within)
    since: datetime | None = None
    until: datetime | None = None
    if bound := _BOUND.fullmatch(text):
        day = _day(word, bound[2])
        next_day = day + timedelta(days=1)
        match bound[1]:
            case ">=":
                since = day
            case ">":
                since = next_day
            case "<":
                until = day
            case _:
                until = next_day
    else:
        first, _, last = text.partition("..")
        since = _day(word, first)
        until = _day(word, last or first) + timedelta(days=1)
    return Span(word=word, negated=negated, field=field, since=since, until=until)


def compare(word: str, name: str, sign: str, text: str, *, negated: bool) -> Compare:
    """``ttft.p99``, ``<``, ``500ms``: the rule, statistic and value in the rule's unit. Raises Refusal."""
    rule, statistic = metric(word, name)
    if sign == "=":
        raise refuse(
            field=word,
            seen="=",
            allowed="<, <=, >, >=",
            remedy="A measured number is never exactly another; give a range.",
        )
    return Compare(
        word=word,
        negated=negated,
        rule=rule,
        statistic=statistic,
        sign=sign,
        value=_number(word, text, ALL_RULES[rule].unit),
    )


def metric(word: str, name: str) -> tuple[str, str]:
    """The rule and statistic that a name means: a short name or a rule's id, either with a statistic."""
    known = _rule(name)
    if known is not None:
        return known
    head, _, last = name.rpartition(".")
    known = _rule(head)
    if known is not None:
        if last in STATISTICS:
            return known[0], last
        raise refuse(
            field=word,
            seen=f"statistic {last}",
            allowed=", ".join(STATISTICS),
            remedy=f"Write {head}.p50, for instance.",
        )
    raise refuse(
        field=word,
        seen=f"no metric {name}",
        allowed=f"{', '.join(METRICS)}, or the id of a rule",
        remedy="Rules are listed on the page Rules; put the text in quotes to search for it as it is.",
    )


def _rule(name: str) -> tuple[str, str] | None:
    if name in METRICS:
        return METRICS[name]
    return (name, default_statistic(name)) if name in ALL_RULES else None


def _number(word: str, text: str, unit: str) -> float:
    units = units_of(unit)
    allowed = "a number" if set(units) == {"", unit} else f"a number and {_listed(units)}"
    found = _NUMBER.fullmatch(text)
    given = found[2] if found else ""
    if found is None or given not in units:
        raise refuse(
            field=word,
            seen=text or "nothing after the sign",
            allowed=allowed,
            remedy=f"Write 500{'ms' if unit == 's' else ''} without a blank, for instance.",
        )
    # In decimals: 142 ms are 0.142 s to the last bit, as a run stores them.
    value = float(Decimal(found[1]) * Decimal(str(units[given])))
    if not math.isfinite(value):
        raise refuse(field=word, seen=text, allowed="a finite number", remedy="Give a smaller one.")
    return value


def _listed(units: dict[str, float]) -> str:
    named = ", ".join(u for u in units if u)
    return f"one of {named}, or none" if "" in units else f"one of {named}"


def _day(word: str, text: str) -> datetime:
    day: datetime | None = None
    if _DAY.fullmatch(text):
        with suppress(ValueError):  # the 30th of February
            day = datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    if day is None or not _FIRST_YEAR <= day.year <= _LAST_YEAR:
        raise refuse(
            field=word,
            seen=text or "no date",
            allowed=_DATES,
            remedy="Days are UTC; a span counts back from now.",
        )
    return day
