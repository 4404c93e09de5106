"""The engine's record of requests held against its own counters, fact by fact.

Two witnesses of one engine may disagree, and that is the finding: vLLM's log prints aborts that its finish
counters do not count. Where the map of its series knows why, the difference is explained in its words; where
it does not, it is unexplained and enters the reconciliation.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay.analysis.counters.documents import CounterCheck
from assay.analysis.counters.recorded_counts import RecordedCounts
from assay.analysis.events import Fact
from runners.protocol.series import Quantity, Series, SeriesMap

Values = Mapping[Quantity, Mapping[str, float]]
_NO_FINISH = frozenset({"abort", "cancelled", "failed", "rejected", "error"})
AGREE, WITHIN, EXPLAINED = "agree", "within the scrapes' time", "explained"
UNEXPLAINED, NOT_COUNTED, NOT_EVIDENCED = "unexplained", "not counted", "not evidenced"
_FACTS: tuple[tuple[str, Fact, Quantity], ...] = (
    ("completed", Fact.completed, Quantity.finish_reasons),
    ("cancelled", Fact.cancelled, Quantity.aborts),
    ("rejected", Fact.rejected, Quantity.rejections),
    ("preempted", Fact.preempted, Quantity.preemptions),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grown:
    """Each series at the first and at the last scrape."""

    first: Values
    last: Values

    def of(self, quantity: Quantity) -> dict[str, float]:
        """By part; one that was not there at first began at 0."""
        before, after = self.first.get(quantity, {}), self.last.get(quantity, {})
        return {part: value - before.get(part, 0.0) for part, value in after.items()}


def counter_checks(
    recorded: RecordedCounts,
    grown: Grown | None,
    known: SeriesMap,
    *,
    prompt_tokens: tuple[int, int] | None,
) -> list[CounterCheck]:
    """``prompt_tokens``: of the iteration record between the scrapes and in one; None without a record."""
    return list(_checks(recorded, grown, known, prompt_tokens))


def _checks(
    recorded: RecordedCounts,
    grown: Grown | None,
    known: SeriesMap,
    prompt_tokens: tuple[int, int] | None,
) -> Iterator[CounterCheck]:
    for name, fact, quantity in _FACTS:
        seen = recorded.counts[fact] if recorded.has_requests else None
        undecided = recorded.undecided[fact]
        yield _check(name, "request", seen, undecided, quantity, grown, known.get(quantity))
    tokens, undecided = prompt_tokens if prompt_tokens is not None else (None, 0)
    series = known.get(Quantity.prompt_tokens)
    yield _check(
        "prompt tokens computed", "token", tokens, undecided, Quantity.prompt_tokens, grown, series
    )


def _check(
    fact: str,
    unit: str,
    recorded: int | None,
    undecided: int,
    quantity: Quantity,
    grown: Grown | None,
    series: Series | None,
) -> CounterCheck:
    counted = None if grown is None or series is None else _counted(quantity, grown)
    verdict, words = _verdict(recorded, counted, undecided, series)
    return CounterCheck(
        fact=fact,
        recorded=recorded,
        counted=counted,
        unit=unit,
        series=_name(series),
        undecided=undecided,
        verdict=verdict,
        words=words,
    )


def _counted(quantity: Quantity, grown: Grown) -> float:
    parts = grown.of(quantity)
    if quantity is Quantity.finish_reasons:
        return sum(value for part, value in parts.items() if part not in _NO_FINISH)
    return sum(parts.values())


def _verdict(
    recorded: int | None, counted: float | None, undecided: int, series: Series | None
) -> tuple[str, str]:
    if series is None:
        return NOT_COUNTED, "the engine has no such series"
    if counted is None:
        return NOT_EVIDENCED, "no two scrapes bound the run"
    if recorded is None:
        return NOT_EVIDENCED, "the engine left no record of it"
    if counted == recorded:
        return AGREE, ""
    if recorded < counted <= recorded + undecided:
        return WITHIN, f"{undecided} were recorded while a scrape was being answered"
    said = f"the record shows {recorded:g}, the counter {counted:g}"
    if series.caution is not None:
        return EXPLAINED, f"{said}: {series.caution}"
    return UNEXPLAINED, said


def _name(series: Series | None) -> str | None:
    if series is None:
        return None
    picked = ",".join(f'{label}="{value}"' for label, value in (series.where or {}).items())
    return f"{series.name}{{{picked}}}" if picked else series.name


def differences(checks: Sequence[CounterCheck]) -> list[str]:
    """Lines for the reconciliation: where record and counter disagree."""
    return [
        f"{'unexplained: ' if check['verdict'] == UNEXPLAINED else ''}server, {check['fact']}: "
        f"{check['words']} ({check['series']})"
        for check in checks
        if check["verdict"] in (EXPLAINED, UNEXPLAINED)
    ]
