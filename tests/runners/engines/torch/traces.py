"""A trace as torch.profiler writes it, made by hand: two steps of a model with three layers."""

import gzip
import json
from pathlib import Path
from typing import Any

LAYERS = 3
FLASH = "aten::_scaled_dot_product_flash_attention_for_cpu"


def event(
    name: str, ts: float, dur: float, *, category: str = "cpu_op", **args: Any
) -> dict[str, Any]:
    return {"ph": "X", "cat": category, "name": name, "ts": ts, "dur": dur, "args": args}


def operator(name: str, ts: float, dims: list[Any], kind: str = "float") -> dict[str, Any]:
    types = [kind] * len(dims)
    return event(name, ts, 1.0) | {"args": {"Input Dims": dims, "Input type": types}}


def step(
    start: float, *, label: str, layers: int = LAYERS, kind: str = "float"
) -> list[dict[str, Any]]:
    """A step of 100 µs: per layer one annotated attention and two products."""
    rows = [event(label, start, 100.0, category="user_annotation")]
    for layer in range(layers):
        at = start + 10 * layer + 1
        rows.append(event("assay::paged_attention", at, 5.0, category="user_annotation"))
        rows.append(operator(FLASH, at + 1, [[1, 3, 3, 64], [1, 3, 9, 64], [1, 3, 9, 64]], kind))
        rows += [operator("aten::mm", at + 6 + n, [[1, 576], [576, 576]], kind) for n in range(2)]
    return rows


def two_steps(**changed: Any) -> list[dict[str, Any]]:
    return [
        *step(1000.0, label="step[decode=0 prefill=1 tokens=9 out=1]", **changed),
        *step(2000.0, label="step[decode=1 prefill=0 tokens=1 out=1]", **changed),
        # outside of every step: the profiler's own, and a kernel of the warm-up
        operator("aten::mm", 500.0, [[1, 1], [1, 1]]),
        operator("aten::mm", 1500.0, [[1, 1], [1, 1]]),
        {"ph": "M", "name": "process_name", "pid": 1},
    ]


def write(path: Path, events: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt") as stream:
        json.dump({"traceEvents": events}, stream)
    return path
