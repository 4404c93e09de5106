"""Published measurements as rows: who measured what, under which conditions, and what a row can be held
against.

A row that lacks something says so; nothing is filled in. Unknown fields are refused, so that a slip in the
data cannot pass as a missing condition.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from assay.analysis.errors import ClaimRefused
from assay.analysis.perfmodel.parallel.layout import Layout


class Judged(StrEnum):
    """What a row can be held against."""

    decode_step = "decode_step"
    token_interval = "token_interval"
    rate = "rate"
    prefill_rate = "prefill_rate"
    blocks = "blocks"
    claim = "claim"
    nothing = "nothing"


TIMED = (Judged.decode_step, Judged.token_interval, Judged.rate)
_IN_MS = ("step_ms", "itl_mean_ms", "tpot_ms", "tpot_median_ms")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where rows come from, with the conditions that hold for all of them."""

    title: str
    version: str | None
    conditions: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Sequences over all replicas, stored tokens of each, and the prompts that run in between.

    ``new`` and ``reused`` tokens of a prompt, ``output`` tokens of an answer. ``busy_replicas`` counts those
    that have a sequence at all. ``overlapped``: two micro-batches hide messages behind work.
    """

    batch: int | None = None
    context: int | None = None
    batch_from: str | None = None
    context_from: str | None = None
    requests_per_s: float | None = None
    new: int | None = None
    reused: int = 0
    output: int | None = None
    prompt_tokens: int | None = None
    busy_replicas: int | None = None
    overlapped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One published figure. ``id`` is that of the published list."""

    id: str
    section: str
    source: str
    quality: str
    judged: Judged
    model: str
    config: str
    config_companion: str | None
    config_changes: Mapping[str, Any]
    config_reason: str | None
    device: str
    device_reason: str | None
    engine: str
    engine_version: str | None
    precision: str | None
    weight_dtype: str | None
    kv_dtype: str | None
    layout: Layout
    layout_from: str | None
    load: Load
    memory: Mapping[str, Any] | None
    measured: Mapping[str, float]
    published_bound_ms: float | None
    published_bound_counts: str | None  # weights | weights and state
    published_prediction: Mapping[str, float]
    reason: str | None
    unfit: str | None
    remark: str | None

    @property
    def batch(self) -> int | None:
        """Sequences in a step: as stated, else by Little's law over the time a request decodes."""
        load = self.load
        if load.batch is not None or load.requests_per_s is None:
            return load.batch
        decoding_ms = self.measured["e2e_mean_ms"] - self.measured["ttft_mean_ms"]
        return max(1, round(load.requests_per_s * decoding_ms / 1000))

    @property
    def context(self) -> int | None:
        """Stored tokens of a sequence on average: as stated, else prompt and half of the answer."""
        load = self.load
        if load.context is not None or load.new is None or load.output is None:
            return load.context
        return load.reused + load.new + load.output // 2

    @property
    def measured_s(self) -> float | None:
        """The measured time of a step in seconds; of a rate: sequences of a device over its token/s."""
        for name in _IN_MS:
            if name in self.measured:
                return self.measured[name] / 1000
        rate = self.measured.get("tokens_per_s_per_device")
        if rate is None or self.batch is None:
            return None
        return self.batch / self.layout.devices / rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """All rows, their sources, and errors that other tools publish."""

    rows: tuple[Row, ...]
    sources: Mapping[str, Source]
    yardsticks: tuple[Mapping[str, str], ...]

    def row(self, id_: str) -> Row:
        return next(row for row in self.rows if row.id == id_)


def read_published(document: Mapping[str, Any]) -> Published:
    """The rows of a document; a group's fields hold for its rows unless they state their own."""
    sources = {name: Source(**entry) for name, entry in document["sources"].items()}
    rows = tuple(_row(group, entry) for group in document["groups"] for entry in group["rows"])
    for row in rows:
        if row.source not in sources:
            raise _refused(row.id, "source", row.source, ", ".join(sources))
    if len({row.id for row in rows}) != len(rows):
        raise _refused("rows", "id", "one of them twice", "every id once")
    return Published(rows=rows, sources=sources, yardsticks=tuple(document.get("yardsticks", ())))


_NAMES = {field.name for field in fields(Row)} - {"quality", "engine_version"}
_ALLOWED = _NAMES | {"class", "batch_from", "context_from"}


def _row(group: Mapping[str, Any], own: Mapping[str, Any]) -> Row:
    entry = {name: value for name, value in group.items() if name != "rows"} | dict(own)
    id_ = str(entry.get("id"))
    for name in entry.keys() - _ALLOWED:
        raise _refused(id_, name, str(entry[name]), ", ".join(sorted(_ALLOWED)))
    engine = entry.pop("engine")
    where = {name: entry.pop(name) for name in ("batch_from", "context_from") if name in entry}
    load = {**where, **(entry.pop("load", None) or {})}
    values: dict[str, Any] = {name: entry.get(name) for name in _NAMES} | {
        "quality": entry["class"],
        "judged": Judged(entry["judged"]),
        "engine": engine["key"],
        "engine_version": engine["version"],
        "layout": Layout(**entry.get("layout", {})),
        "load": _load(id_, load),
        "config_changes": entry.get("config_changes") or {},
        "published_prediction": entry.get("published_prediction") or {},
    }
    return _checked(Row(**values))


def _load(id_: str, entry: Mapping[str, Any]) -> Load:
    known = {field.name for field in fields(Load)}
    for name in entry.keys() - known:
        raise _refused(id_, f"load.{name}", str(entry[name]), ", ".join(sorted(known)))
    return Load(**entry)


def _checked(row: Row) -> Row:
    if row.quality not in ("A", "B", "C"):
        raise _refused(row.id, "class", row.quality, "A, B, C")
    if row.judged is Judged.nothing and not row.reason:
        raise _refused(row.id, "reason", "absent", "why nothing can be judged")
    if row.config_changes and not row.config_reason:
        raise _refused(row.id, "config_reason", "absent", "why fields were replaced")
    return row


def _refused(id_: str, field: str, seen: str, allowed: str) -> ClaimRefused:
    return ClaimRefused(
        field=f"{id_}.{field}", seen=seen, allowed=allowed, remedy="Correct the row's data."
    )
