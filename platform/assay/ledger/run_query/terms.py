"""A search of runs or studies once it is read: terms that all have to hold, and what was not understood."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from experiments.errors import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """One wanted text. What was quoted is the whole of it; anything else may be a part."""

    text: str
    whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A free word or quoted phrase: somewhere in what names a run."""

    word: str
    negated: bool
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """``field:a,b``: one of the values."""

    word: str
    negated: bool
    field: str
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """``created:...``: from ``since`` on, before ``until``, or within the last ``within``."""

    word: str
    negated: bool
    field: str
    since: datetime | None = None
    until: datetime | None = None
    within: timedelta | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compare:
    """``ttft.p99<500ms``: the number that the run shows for a rule and statistic, in the rule's own unit."""

    word: str
    negated: bool
    rule: str
    statistic: str
    sign: str
    value: float


Term = Text | Match | Span | Compare


@dataclass(frozen=True, slots=True, kw_only=True)
class RunQuery:
    """All ``terms`` have to hold. A word that was not understood is a problem and filters nothing."""

    text: str
    terms: Sequence[Term] = ()
    problems: Sequence[Finding] = ()

    @property
    def empty(self) -> bool:
        return not self.terms and not self.problems
