"""A run as OpenTelemetry spans: the run, its requests, their attempts, and what each waited for.

The form is OTLP's own JSON, one export request a line, as collectors read it from a file and take it by
POST; it needs no SDK. Names follow the semantic conventions for generative AI; no prompt and no answer goes
along. Spans bear times of day, turned from the client's monotonic clock by one anchor, whose spread stands
beside them; what another clock saw is left out and counted.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow.parquet as pq

from assay.analysis.documents import AttemptReading, Lane
from assay.archive.derived_schemas import READINGS
from assay.archive.errors import ArchiveError
from assay.archive.readers import Bundle
from assay.archive.stored_reading import StoredReading, attempt_reading

SCOPE = "assay"
BATCH = 256  # attempts a line
INTERNAL, CLIENT = 1, 3
OK, ERROR = 1, 2
FAILED_STATES = ("failed", "timeout", "rejected")
OPERATIONS = {"chat": "chat", "completions": "text_completion", "embeddings": "embeddings"}
Attributes = list[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """Nanoseconds from the run's origin to nanoseconds since 1970, for one clock domain."""

    domain: str
    offset_ns: int
    spread_ns: int

    def wall(self, t_ns: int) -> str:
        return str(t_ns + self.offset_ns)


def clock_of(bundle: Bundle) -> Clock:
    """By the anchor with the smallest spread. Raises ArchiveError where there is none."""
    anchors = bundle.clocks.get("anchors") or []
    if not anchors:
        raise ArchiveError(
            "clocks: no anchor ties the run's clock to the time of day (allowed: a bundle with anchors). "
            "Spans need a time of day"
        )
    best = min(anchors, key=lambda anchor: anchor["spread_ns"])
    return Clock(
        domain=bundle.client_domain,
        offset_ns=best["wall_ns"] - best["monotonic_ns"] + bundle.origin_ns,
        spread_ns=best["spread_ns"],
    )


def requests(bundle: Bundle, reading: StoredReading) -> Iterator[dict[str, Any]]:
    """Export requests in order: attempts batch by batch, then the run that holds them all."""
    spans = Spans(bundle, clock_of(bundle))
    for rows in _batches(reading):
        found = [span for row in rows for span in spans.of_attempt(*_parts(row))]
        yield spans.request(found)
    yield spans.request(spans.ends())


def _batches(reading: StoredReading) -> Iterator[list[dict[str, Any]]]:
    with pq.ParquetFile(reading.folder / READINGS) as table:
        for batch in table.iter_batches(batch_size=BATCH):
            yield batch.to_pylist()


def _parts(row: Mapping[str, Any]) -> tuple[AttemptReading, list[Lane]]:
    return attempt_reading(row), json.loads(row["lanes"])


class Spans:
    """Makes spans with ids drawn from the bundle's digest, so that exporting twice gives the same bytes."""

    def __init__(self, bundle: Bundle, clock: Clock) -> None:
        self._clock = clock
        self._seed = bundle.digest
        self._trace = _hash(self._seed, "trace")[:32]
        self._spec = bundle.document("spec.json") or {}
        self._resource = _attributes(_resource(bundle, self._spec, clock))
        self._open: dict[str, tuple[int, int]] = {}  # request -> first and last instant
        self._left_out = 0

    def request(self, spans: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        scope = {"scope": {"name": SCOPE}, "spans": list(spans)}
        return {
            "resourceSpans": [
                {"resource": {"attributes": self._resource}, "scopeSpans": [scope]},
            ]
        }

    def of_attempt(self, attempt: AttemptReading, lanes: Sequence[Lane]) -> list[dict[str, Any]]:
        times = {name: t for name, t in attempt["timestamps_ns"].items() if t is not None}
        if not times or attempt["clock_domain"] != self._clock.domain:
            self._left_out += 1
            return []
        start = times.get("created", times.get("sent", min(times.values())))
        end = max(times.values())
        request = str(attempt["request_id"] or attempt["attempt_id"])
        self._widen(request, start, end)
        span = self._span(
            f"{self._operation} {self._model}",
            kind=CLIENT,
            own=f"attempt/{attempt['attempt_id']}",
            parent=f"request/{request}",
            start=start,
            end=end,
            attributes=_attempt_attributes(attempt, self._operation, self._model, self._provider),
        )
        span["events"] = [
            {"timeUnixNano": self._clock.wall(t), "name": f"assay.{name}"}
            for name, t in sorted(times.items(), key=lambda item: item[1])
        ]
        if attempt["client_state"] in FAILED_STATES:
            span["status"] = {"code": ERROR, "message": str(attempt["failure"] or "")}
        elif attempt["client_state"] == "completed":
            span["status"] = {"code": OK}
        return [span, *self._stages(attempt["attempt_id"], lanes)]

    def ends(self) -> list[dict[str, Any]]:
        """The spans that hold others, once all of those are known."""
        found = [
            self._span(
                f"request {name}",
                kind=INTERNAL,
                own=f"request/{name}",
                parent="run",
                start=start,
                end=end,
                attributes={"assay.request_id": name},
            )
            for name, (start, end) in self._open.items()
        ]
        if not self._open:
            return found
        run = self._span(
            "run",
            kind=INTERNAL,
            own="run",
            parent=None,
            start=min(start for start, _ in self._open.values()),
            end=max(end for _, end in self._open.values()),
            attributes={"assay.attempts_left_out": self._left_out},
        )
        return [*found, run]

    def _stages(self, attempt_id: str, lanes: Sequence[Lane]) -> list[dict[str, Any]]:
        """The intervals of each lane whose clock is the client's own."""
        found = []
        for lane in lanes:
            if lane["clock_domain"] != self._clock.domain:
                continue
            for number, interval in enumerate(lane["intervals"]):
                found.append(
                    self._span(
                        interval["name"],
                        kind=INTERNAL,
                        own=f"stage/{attempt_id}/{lane['perspective']}/{number}",
                        parent=f"attempt/{attempt_id}",
                        start=interval["from_ns"],
                        end=interval["to_ns"],
                        attributes={"assay.perspective": lane["perspective"]},
                    )
                )
        return found

    def _span(
        self,
        name: str,
        *,
        kind: int,
        own: str,
        parent: str | None,
        start: int,
        end: int,
        attributes: Mapping[str, Any],
    ) -> dict[str, Any]:
        return {
            "traceId": self._trace,
            "spanId": _hash(self._seed, own)[:16],
            **({"parentSpanId": _hash(self._seed, parent)[:16]} if parent else {}),
            "name": name,
            "kind": kind,
            "startTimeUnixNano": self._clock.wall(start),
            "endTimeUnixNano": self._clock.wall(max(start, end)),
            "attributes": _attributes(attributes),
        }

    def _widen(self, request: str, start: int, end: int) -> None:
        first, last = self._open.get(request, (start, end))
        self._open[request] = (min(first, start), max(last, end))

    @property
    def _operation(self) -> str:
        endpoint = str((self._spec.get("workload") or {}).get("endpoint", ""))
        return OPERATIONS.get(endpoint, endpoint or "chat")

    @property
    def _model(self) -> str:
        return str((self._spec.get("artifact") or {}).get("name", "unknown"))

    @property
    def _provider(self) -> str:
        return str((self._spec.get("engine") or {}).get("key", "unknown"))


def _resource(bundle: Bundle, spec: Mapping[str, Any], clock: Clock) -> dict[str, Any]:
    header = bundle.header
    engine = spec.get("engine") or {}
    return {
        "service.name": SCOPE,
        "assay.run_id": header.get("run_id"),
        "assay.study": header.get("study"),
        "assay.state": header.get("state"),
        "assay.spec_digest": header.get("spec_digest"),
        "assay.bundle_digest": bundle.digest,
        "assay.engine.version": engine.get("version"),
        "assay.clock.anchor_spread_ns": clock.spread_ns,
    }


def _attempt_attributes(
    attempt: AttemptReading, operation: str, model: str, provider: str
) -> dict[str, Any]:
    counts = attempt["counts"]
    produced = counts.get("usage") if counts.get("usage") is not None else counts.get("token_ids")
    finish = attempt["finish_reason"]
    failure = attempt["failure"]
    return {
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": model,
        "gen_ai.conversation.id": attempt["session_id"],
        "gen_ai.usage.input_tokens": attempt["prompt_tokens"],
        "gen_ai.usage.output_tokens": produced,
        "gen_ai.response.finish_reasons": [finish] if finish else None,
        "error.type": failure.partition(":")[0] if failure else None,
        "http.response.status_code": attempt["status"],
        "assay.attempt_id": attempt["attempt_id"],
        "assay.task_id": attempt["task_id"],
        "assay.segment": attempt["segment"],
        "assay.client_state": attempt["client_state"],
    }


def _attributes(found: Mapping[str, Any]) -> Attributes:
    """OTLP's typed values; what is null is left out, never zero."""
    return [{"key": key, "value": _value(v)} for key, v in found.items() if v is not None]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_value(item) for item in value]}}
    return {"stringValue": str(value)}


def _hash(*parts: str) -> str:
    return hashlib.sha256("/".join(parts).encode()).hexdigest()
