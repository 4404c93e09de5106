"""What a comparison reads of one run: what was declared, what ran, over which population, with which numbers.

Values only. Where they come from is somebody else's work, so that a reader of files, of the database or of a
test gives the same comparison.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SEALED = "sealed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """The bundle's own documents; null where it has none. ``client_source`` is the load client's hash."""

    identity: Mapping[str, Any] | None = None
    host: Mapping[str, Any] | None = None
    packages: Mapping[str, Any] | None = None
    client_source: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Population:
    """The attempts that the aggregates of one run, or of the runs of one side, are over.

    Lengths count completed attempts by their tokens, where these are known. ``at_cap`` counts outputs that
    ended at their cap, by the path of the cap; null where that was not told.
    """

    group: str  # "segment load" | "all attempts"
    states: Mapping[str, int]
    input_lengths: Mapping[int, int]
    output_lengths: Mapping[int, int]
    prompt_tokens: int
    cached_tokens: int | None  # null: the server did not tell of every completed attempt
    at_cap: Mapping[str, int | None] = field(default_factory=dict)

    @property
    def offered(self) -> int:
        return sum(self.states.values())

    @property
    def completed(self) -> int:
        return self.states.get("completed", 0)

    @property
    def cached_share(self) -> float | None:
        if self.cached_tokens is None or not self.prompt_tokens:
            return None
        return self.cached_tokens / self.prompt_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """One aggregate of one run, in its bare unit. ``value`` is null for the reason in ``absent``."""

    rule: str
    statistic: str
    unit: str
    population: str
    perspective: str
    limited_by: str
    value: float | None
    n: int
    of: int
    low: float | None = None
    high: float | None = None
    interval_kind: str = ""
    absent: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return self.rule, self.statistic


@dataclass(frozen=True, slots=True, kw_only=True)
class Residual:
    """One prediction beside its measurement, in the prediction's unit."""

    quantity: str
    conditions: Mapping[str, Any]
    unit: str
    predicted: float | None
    measured: float | None
    relative: float | None
    validity: str
    klass: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """``variables`` are the paths that the run's own study moved on purpose."""

    run: str
    name: str
    state: str
    spec: Mapping[str, Any]
    variables: frozenset[str] = frozenset()
    observed: Observed = field(default_factory=Observed)
    definition_versions: tuple[str, ...] = ()  # of its readings, the newest first
    definition_version: str | None = None  # of the numbers below; null without a reading
    no_reading: str = ""  # why there are no numbers
    grade: str = ""  # how far the client's own figures can be trusted; empty: not known
    grade_reasons: tuple[str, ...] = ()
    population: Population | None = None
    numbers: tuple[Number, ...] = ()
    residuals: tuple[Residual, ...] = ()

    @property
    def engine_key(self) -> str:
        return str((self.spec.get("engine") or {}).get("key") or "")

    @property
    def starts_engine(self) -> bool:
        """Whether an engine was started afresh for this run: only then is it a sample of starts."""
        engine = self.spec.get("engine") or {}
        kind = (engine.get("environment") or {}).get("kind")
        is_elsewhere = self.engine_key in ("openai_endpoint", "replay") or kind == "url"
        return not is_elsewhere and engine.get("reuse", "fresh") == "fresh"
