"""The words of a search: ``search.over=rate search.slo.ttft=500ms`` beside ordinary overrides."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from assay.analysis.asked import service_levels
from assay.analysis.capacity_search import Over, Rule
from experiments.errors import Finding, Refusal

PREFIX = "search."
SLO = "slo."


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How much a probe sends: a rate for ``seconds``, a concurrency for ``rounds``; at least ``requests``."""

    seconds: float = 20.0
    rounds: float = 8.0
    requests: int = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """``slo`` maps ``ttft_s`` and the like to seconds; ``overrides`` are the words of the declaration."""

    rule: Rule
    effort: Effort
    slo: Mapping[str, float]
    overrides: tuple[str, ...] = field(default=())


def names() -> list[str]:
    own = [f.name for f in (*fields(Rule), *fields(Effort))]
    return [f"{PREFIX}{name}" for name in (*own, f"{SLO}ttft", f"{SLO}tpot")]


def read(words: Sequence[str]) -> Words:
    """Raises Refusal for a word that no search has, AnalysisError for a limit that is no duration."""
    own = [w.removeprefix(PREFIX) for w in words if w.startswith(PREFIX)]
    given: dict[str, str] = {}
    for word in own:
        name, equals, value = word.partition("=")
        if not equals or name in given or f"{PREFIX}{name}" not in names():
            raise _refused(f"{PREFIX}{name}", word, ", ".join(names()), "Each once, as name=value.")
        given[name] = value
    limits = ",".join(
        f"{name.removeprefix(SLO)}={value}" for name, value in given.items() if name.startswith(SLO)
    )
    if not limits:
        raise _refused(
            f"{PREFIX}{SLO}ttft", "no limit", "a time, such as 500ms", "Say what is to be met."
        )
    asked = service_levels(limits)
    slo = {f.name: limit for f in fields(asked) if (limit := getattr(asked, f.name)) is not None}
    words_of = {name: value for name, value in given.items() if not name.startswith(SLO)}
    rule = Rule(**_typed(Rule, words_of))
    if (finding := _impossible(rule)) is not None:
        raise Refusal([finding])
    return Words(
        rule=rule,
        effort=Effort(**_typed(Effort, words_of)),
        slo=slo,
        overrides=tuple(w for w in words if not w.startswith(PREFIX)),
    )


def _typed(owner: type, given: Mapping[str, str]) -> dict[str, Any]:
    kinds = {f.name: f.type for f in fields(owner)}
    return {name: _value(name, text, kinds[name]) for name, text in given.items() if name in kinds}


def _value(name: str, text: str, kind: Any) -> Any:
    try:
        return kind(text)
    except ValueError as error:
        allowed = ", ".join(Over) if kind is Over else f"a {'whole ' if kind is int else ''}number"
        raise _refused(f"{PREFIX}{name}", text, allowed, "Correct it.") from error


def _impossible(rule: Rule) -> Finding | None:
    for name, holds, allowed in (
        ("start", 0 < rule.start <= rule.limit, f"above 0, at most search.limit ({rule.limit:g})"),
        ("floor", 0 < rule.floor <= rule.start, f"above 0, at most search.start ({rule.start:g})"),
        ("ratio", rule.ratio > 1, "above 1"),
        ("share", 0 < rule.share <= 1, "above 0, at most 1"),
        ("repeats", rule.repeats >= 1, "at least 1"),
        ("most_probes", rule.most_probes >= 1, "at least 1"),
    ):
        if not holds:
            seen = f"{getattr(rule, name):g}"
            return Finding(
                field=f"{PREFIX}{name}", seen=seen, allowed=allowed, remedy="Correct it."
            )
    return None


def _refused(field_name: str, seen: str, allowed: str, remedy: str) -> Refusal:
    return Refusal([Finding(field=field_name, seen=seen, allowed=allowed, remedy=remedy)])
