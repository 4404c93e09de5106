"""What a trace of this engine shows: steps, and which operators ran in them how often on which inputs.

Reads the Chrome trace that torch.profiler writes. Only events inside a step annotation count, so what the
profiler itself does at its ends is left out.
"""

import bisect
import gzip
import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runners.engines.torch.attention_names import ANNOTATION

STEP = re.compile(r"^step\[decode=(\d+) prefill=(\d+) tokens=(\d+) out=(\d+)\]$")
GEMM_OPS = (
    "aten::mm",
    "aten::addmm",
    "aten::bmm",
    "aten::mkldnn_linear",
    "mkldnn::_linear_pointwise",
)
ATTENTION_OPS = (
    "aten::_scaled_dot_product_flash_attention_for_cpu",
    "aten::_scaled_dot_product_attention_math",
)
COMPILED = re.compile(r"Torch-Compiled|CompiledFunction|inductor|triton|cudaGraph|hipGraph", re.I)
COMMUNICATION = re.compile(r"^(c10d::|gloo:|nccl:|mpi:|_c10d_functional)", re.I)


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceStep:
    """One step's batch composition, from its annotation; its duration in µs of the trace's clock."""

    decode: int
    prefill: int
    tokens: int
    out: int
    duration_us: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """``shapes`` and ``types`` count the first three inputs of each call, as the profiler wrote them."""

    calls: int
    total_us: float
    shapes: Mapping[str, int]
    types: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceSummary:
    steps: tuple[TraceStep, ...]
    operators: Mapping[str, Operator]
    compiled: tuple[str, ...]  # names that only compiled or captured graphs leave
    communication: tuple[str, ...]

    def calls(self, name: str) -> int:
        operator = self.operators.get(name)
        return operator.calls if operator else 0

    @property
    def attention_calls(self) -> int:
        return self.calls(ANNOTATION)

    def ran(self, names: tuple[str, ...]) -> dict[str, int]:
        """Those of ``names`` that ran, with their calls."""
        return {name: self.calls(name) for name in names if self.calls(name)}


class TraceProblem(Exception):
    """The file is no trace of this engine; the message says why."""


def read_trace(path: Path) -> TraceSummary:
    """Read a ``*.trace.json.gz`` (or plain JSON) trace. Raises TraceProblem."""
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as stream:
            events = json.load(stream)["traceEvents"]
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise TraceProblem(f"{path.name} is no Chrome trace ({error})") from error
    return summary(events)


def summary(events: list[dict[str, Any]]) -> TraceSummary:
    """Count operators by the step they lie in; a step's events are those that start within it."""
    complete = [event for event in events if event.get("ph") == "X" and "dur" in event]
    steps = sorted(
        (event for event in complete if STEP.match(str(event.get("name")))),
        key=lambda event: float(event["ts"]),
    )
    starts = [float(event["ts"]) for event in steps]
    inside = [event for event in complete if _is_inside(event, steps, starts)]
    return TraceSummary(
        steps=tuple(_step(event) for event in steps),
        operators=_operators(inside),
        compiled=_names(inside, COMPILED),
        communication=_names(inside, COMMUNICATION),
    )


def _is_inside(event: Mapping[str, Any], steps: list[dict[str, Any]], starts: list[float]) -> bool:
    at = bisect.bisect_right(starts, float(event["ts"])) - 1
    if at < 0 or event.get("cat") not in ("cpu_op", "user_annotation"):
        return False
    step = steps[at]
    if event is step or STEP.match(str(event["name"])):
        return False
    return float(event["ts"]) < starts[at] + float(step["dur"])


def _step(event: Mapping[str, Any]) -> TraceStep:
    match = STEP.match(event["name"])
    assert match is not None
    decode, prefill, tokens, out = map(int, match.groups())
    return TraceStep(
        decode=decode, prefill=prefill, tokens=tokens, out=out, duration_us=float(event["dur"])
    )


def _operators(events: list[dict[str, Any]]) -> dict[str, Operator]:
    calls: Counter[str] = Counter()
    total: Counter[str] = Counter()
    shapes: dict[str, Counter[str]] = {}
    types: dict[str, Counter[str]] = {}
    for event in events:
        name, arguments = event["name"], event.get("args", {})
        calls[name] += 1
        total[name] += event["dur"]
        for kept, key in ((shapes, "Input Dims"), (types, "Input type")):
            if key in arguments:
                kept.setdefault(name, Counter())[json.dumps(arguments[key][:3])] += 1
    return {
        name: Operator(
            calls=count,
            total_us=float(total[name]),
            shapes=dict(shapes.get(name, {})),
            types=dict(types.get(name, {})),
        )
        for name, count in calls.items()
    }


def _names(events: list[dict[str, Any]], pattern: re.Pattern[str]) -> tuple[str, ...]:
    return tuple(sorted({e["name"] for e in events if pattern.search(e["name"])}))
