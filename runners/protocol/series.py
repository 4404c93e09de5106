"""What an engine's Prometheus series say, in one vocabulary; each adapter maps its own names onto it.

Counters and histograms are read as differences over a window, never absolutely; a labelled series may be
absent until its first event, which is 0.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prometheus_client import Metric


class Quantity(StrEnum):
    queue = "queue"
    prefill = "prefill"
    decode = "decode"
    running = "running"
    waiting = "waiting"
    kv_use = "kv_use"
    cache_hits = "cache_hits"
    cache_queries = "cache_queries"
    preemptions = "preemptions"
    aborts = "aborts"
    finish_reasons = "finish_reasons"
    rejections = "rejections"
    prompt_tokens = "prompt_tokens"
    generation_tokens = "generation_tokens"
    first_token = "first_token"


class Kind(StrEnum):
    histogram = "histogram"
    gauge = "gauge"
    counter = "counter"


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """``name`` as it stands in the text; ``unit`` of its value.

    ``label`` tells its parts apart, ``where`` picks the samples that are meant. ``caution`` says what it
    counts otherwise than its name lets one think.
    """

    name: str
    kind: Kind
    unit: str
    label: str | None = None
    where: Mapping[str, str] | None = None
    caution: str | None = None


SeriesMap = Mapping[Quantity, Series | None]  # None: the engine has no such series


def read(text: str, series: Series | None) -> dict[str, float]:
    """One scrape's values of a series, by its own label; a histogram as its sum and its count.

    Empty where the text has no such series: of a counter's part that is 0 so far, of a gauge it is unknown.
    """
    return _values(_families(text, [series] if series else []), series)


def read_all(text: str, known: SeriesMap) -> dict[Quantity, dict[str, float]]:
    """One scrape's values of every series that an engine has; see ``read``."""
    families = _families(text, [series for series in known.values() if series is not None])
    return {quantity: _values(families, series) for quantity, series in known.items()}


def document(known: SeriesMap) -> dict[str, dict[str, Any] | None]:
    """A map as JSON."""
    return {
        quantity.value: None if series is None else asdict(series)
        for quantity, series in known.items()
    }


def of_document(found: Mapping[str, Mapping[str, Any] | None]) -> dict[Quantity, Series | None]:
    """A map out of JSON; quantities that a later version wrote and this one does not know are left out."""
    known = {q.value for q in Quantity}
    return {
        Quantity(name): None if row is None else Series(**{**row, "kind": Kind(row["kind"])})
        for name, row in found.items()
        if name in known
    }


def _families(text: str, wanted: Sequence[Series]) -> "list[Metric]":
    """Only lines of these series are parsed: an engine prints hundreds."""
    names = tuple(series.name for series in wanted)
    own = [line for line in text.splitlines() if names and line.startswith(names)]
    # Its package has an HTTP server in it: not for those who read a map alone.
    from prometheus_client.parser import text_string_to_metric_families

    return list(text_string_to_metric_families("\n".join(own) + "\n"))


def _values(families: "Iterable[Metric]", series: Series | None) -> dict[str, float]:
    found: dict[str, float] = {}
    if series is None:
        return found
    for family in families:
        for sample in family.samples:
            part = _part(series, sample.name, sample.labels)
            if part is not None:
                found[part] = found.get(part, 0.0) + sample.value
    return found


def _part(series: Series, name: str, labels: Mapping[str, str]) -> str | None:
    if any(labels.get(label) != value for label, value in (series.where or {}).items()):
        return None
    if series.kind is Kind.histogram:
        part = name.removeprefix(f"{series.name}_")
        return part if part in ("sum", "count") and name.startswith(f"{series.name}_") else None
    if name != series.name:
        return None
    return labels.get(series.label, "") if series.label else "all"
