"""A Chrome trace as torch.profiler writes it: the steps that an engine annotated, and what ran inside them.

Only events inside a step count; what the profiler does at its ends is left out. Operators nest, so only the
leaves are compared with layers x steps.
"""

import bisect
import gzip
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_CATEGORIES = frozenset({"cpu_op", "kernel", "cuda_runtime", "user_annotation"})
_KEPT = {"Input Dims": "shapes", "Input type": "types"}


class TraceProblem(Exception):
    """The file is no trace that can be read; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """An annotated step: its name and duration in µs of the trace's clock."""

    name: str
    start_us: float
    duration_us: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """``shapes`` and ``types`` count the first three inputs of each call, where the profiler wrote them."""

    calls: int
    total_us: float
    shapes: Mapping[str, int]
    types: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """``version`` is the engine's own word inside the file, where it writes one."""

    version: str | None
    world_size: int | None
    spans: tuple[Span, ...]
    operators: Mapping[str, Operator]

    def named(self, pattern: re.Pattern[str]) -> dict[str, int]:
        """Calls of the operators whose name holds ``pattern``, the commonest first."""
        found = {name: op.calls for name, op in self.operators.items() if pattern.search(name)}
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))

    def inputs(self, pattern: re.Pattern[str], part: str, most: int) -> dict[str, int]:
        """``shapes`` or ``types`` of these operators by how often they came, the commonest."""
        counted: Counter[str] = Counter()
        for name in self.named(pattern):
            counted.update(getattr(self.operators[name], part))
        ordered = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
        return dict(ordered[:most])


def _every(name: str) -> bool:
    return bool(name)


def read(
    path: Path,
    *,
    step: re.Pattern[str],
    is_counted: Callable[[str], bool] = _every,
    version_key: str | None = None,
) -> Trace:
    """Read a ``.json`` or ``.json.gz`` trace; ``step`` matches the names of step annotations.

    Steps that are not counted, by their name, are left out with all that ran in them. Raises TraceProblem.
    """
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as stream:
            document = json.load(stream)
        events = [e for e in document["traceEvents"] if e.get("ph") == "X" and "dur" in e]
    except (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise TraceProblem(f"{path.name} is no Chrome trace ({error})") from error
    spans = [span for span in _spans(events, step) if is_counted(span.name)]
    distributed = document.get("distributedInfo") or {}
    return Trace(
        version=document.get(version_key) if version_key else None,
        world_size=distributed.get("world_size"),
        spans=tuple(spans),
        operators=_operators(_inside(events, spans, step)),
    )


def _spans(events: Sequence[Mapping[str, Any]], step: re.Pattern[str]) -> tuple[Span, ...]:
    found = [
        Span(name=str(e["name"]), start_us=float(e["ts"]), duration_us=float(e["dur"]))
        for e in events
        if step.match(str(e.get("name")))
    ]
    return tuple(sorted(found, key=lambda span: span.start_us))


def _inside(
    events: Sequence[Mapping[str, Any]], spans: Sequence[Span], step: re.Pattern[str]
) -> list[Mapping[str, Any]]:
    starts = [span.start_us for span in spans]
    found = []
    for event in events:
        at = bisect.bisect_right(starts, float(event["ts"])) - 1
        if at < 0 or event.get("cat") not in _CATEGORIES or step.match(str(event["name"])):
            continue
        if float(event["ts"]) < starts[at] + spans[at].duration_us:
            found.append(event)
    return found


def _operators(events: Sequence[Mapping[str, Any]]) -> dict[str, Operator]:
    calls: Counter[str] = Counter()
    total: Counter[str] = Counter()
    kept: dict[str, dict[str, Counter[str]]] = {part: {} for part in _KEPT.values()}
    for event in events:
        name, arguments = str(event["name"]), event.get("args", {})
        calls[name] += 1
        total[name] += event["dur"]
        for key, part in _KEPT.items():
            if key in arguments:
                kept[part].setdefault(name, Counter())[json.dumps(arguments[key][:3])] += 1
    return {
        name: Operator(
            calls=count,
            total_us=float(total[name]),
            shapes=dict(kept["shapes"].get(name, {})),
            types=dict(kept["types"].get(name, {})),
        )
        for name, count in calls.items()
    }
