"""Latency: distributions over offered requests, every measure with its passport, and the requests behind."""

from dataclasses import dataclass

import polars as pl

from assay.analysis.metrics.catalogue import title_of
from assay.ledger.models import Measure, MeasureKind
from assay.pages.charts.distribution import Curve, Rung, ecdf, ladder
from assay.pages.charts.theme import Figure
from assay.pages.contexts.head import RunHead
from assay.pages.contexts.measures import MeasureLine, measure_line
from assay.pages.joined import JoinedAttempt, attempts_table, joined
from assay.pages.paging import Paged, window

CURVES = (
    ("TTFT", "ttft.first_content.client"),
    ("E2E", "e2e.client"),
    ("TPOT", "tpot.last_token"),
)
COLUMNS = (
    ("TTFT", "ttft.first_content.client"),
    ("TPOT", "tpot.last_token"),
    ("E2E", "e2e.client"),
    ("queue", "queue.server"),
    ("prefill", "prefill.server"),
)
STATISTICS = ("min", "mean", "p50", "p75", "p90", "p95", "p99", "p99.9", "max")
LADDER_STATISTICS = ("p50", "p90", "p95", "p99")
# The rules of the ladder, the caller's first; every other rule is in the table below it.
LADDER_RULES = (
    "ttft.first_content.client",
    "tpot.last_token",
    "itl.token_gap",
    "e2e.client",
    "queue.server",
    "prefill.server",
    "step.server.decode",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleRow:
    """All statistics of one rule, in the order of the page's columns; None where there is none."""

    rule: str
    title: str
    cells: list[MeasureLine | None]
    passport: MeasureLine


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleGroup:
    """Rules over one population, which is said before any of its numbers."""

    population: str
    rows: list[RuleRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRow:
    attempt: JoinedAttempt
    cells: list[tuple[float | None, str]]  # value in s, or the reason for none


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyPage:
    segments: list[str]
    segment: str
    ecdf: Figure
    ladder: Figure | None
    statistics: list[str]
    groups: list[RuleGroup]
    rates: list[MeasureLine]
    columns: list[tuple[str, str]]
    paged: Paged[RequestRow]
    sort: str

    @property
    def columns_of_measures(self) -> int:
        return len(self.statistics) + 4


def latency_page(head: RunHead, *, segment: str, sort: str, page: str | None) -> LatencyPage | None:
    """None when there is no interpretation to read."""
    if head.reading is None or not head.reading.present:
        return None
    attempts = attempts_table(head.reading)
    names, segment = chosen_segment(attempts, segment)
    own = attempts.filter(pl.col("segment").fill_null("") == segment)
    total = own.select(pl.len()).collect().item()
    where = window(total, page)
    measures = list(Measure.objects.filter(interpretation=head.interpretation).order_by("pk"))
    timed = [m for m in measures if m.statistic in STATISTICS]
    statistics = [s for s in STATISTICS if any(m.statistic == s for m in timed)]
    return LatencyPage(
        segments=names,
        segment=segment,
        ecdf=ecdf(_curves(own, total), f"segment {segment}" if segment else "all"),
        ladder=_ladder(timed),
        statistics=statistics,
        groups=_rule_groups(timed, statistics),
        rates=[measure_line(m) for m in measures if m.statistic not in STATISTICS],
        columns=list(COLUMNS),
        paged=Paged(
            rows=[
                _request_row(row)
                for row in joined(
                    sorted_attempts(own, sort).slice(where.offset, where.size),
                    [rule for _, rule in COLUMNS],
                )
            ],
            window=where,
        ),
        sort=sort,
    )


def chosen_segment(attempts: pl.LazyFrame, asked: str) -> tuple[list[str], str]:
    """The segments there are, and the asked one; the load where none of them was asked for."""
    segments = attempts.select(pl.col("segment").unique(maintain_order=True)).collect()
    names = [name for name in segments["segment"].to_list() if name]
    if asked in names:
        return names, asked
    return names, "load" if "load" in names else (names[0] if names else "")


def sorted_attempts(rows: pl.LazyFrame, sort: str) -> pl.LazyFrame:
    """By one of ``COLUMNS`` (its label), unknown values last either way; else as they come."""
    rule = dict(COLUMNS).get(sort.removeprefix("-"))
    if rule is None:
        return rows
    return rows.sort(rule, descending=sort.startswith("-"), nulls_last=True, maintain_order=True)


def _curves(rows: pl.LazyFrame, offered: int) -> list[Curve]:
    values = rows.select(rule for _, rule in CURVES).collect()
    return [
        Curve(
            label=label,
            rule=rule,
            values_s=values[rule].drop_nulls().to_numpy(),
            offered=offered,
        )
        for label, rule in CURVES
    ]


def _ladder(measures: list[Measure]) -> Figure | None:
    rungs = [
        Rung(
            metric=m.rule,
            statistic=m.statistic,
            value_s=m.value,
            low_s=m.low,
            high_s=m.high,
            population=f"n={m.n} of {m.of} {m.population}",
        )
        for m in sorted(measures, key=lambda m: _ladder_place(m.rule))
        if m.rule in LADDER_RULES
        and m.statistic in LADDER_STATISTICS
        and m.kind == MeasureKind.finite
        and m.value
    ]
    return ladder(rungs) if rungs else None


def _ladder_place(rule: str) -> int:
    return LADDER_RULES.index(rule) if rule in LADDER_RULES else len(LADDER_RULES)


def _rule_groups(measures: list[Measure], statistics: list[str]) -> list[RuleGroup]:
    groups: dict[str, dict[str, dict[str, Measure]]] = {}
    for measure in measures:
        rules = groups.setdefault(measure.population, {})
        rules.setdefault(measure.rule, {})[measure.statistic] = measure
    return [
        RuleGroup(
            population=population,
            rows=[_rule_row(rule, own, statistics) for rule, own in rules.items()],
        )
        for population, rules in groups.items()
    ]


def _rule_row(rule: str, own: dict[str, Measure], statistics: list[str]) -> RuleRow:
    return RuleRow(
        rule=rule,
        title=title_of(rule),
        cells=[measure_line(own[s]) if s in own else None for s in statistics],
        passport=measure_line(next(iter(own.values()))),
    )


def _request_row(row: JoinedAttempt) -> RequestRow:
    return RequestRow(
        attempt=row,
        cells=[(row.metrics.get(rule), row.absent.get(rule, "")) for _, rule in COLUMNS],
    )
