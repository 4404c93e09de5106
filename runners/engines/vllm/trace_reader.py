"""What a trace of vLLM shows: its steps with their batch, and which operators ran in them how often.

Reads the Chrome trace that torch.profiler writes in a worker. Only events inside a step that computed tokens
count: an empty step, and what the profiler does at its ends, are left out. Operators nest, so only the leaves
(``_C::*``, ``aten::mm``, kernels) are compared with layers x steps.
"""

import bisect
import gzip
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

STEP = re.compile(r"^execute_context_(\d+)\((\d+)\)_generation_(\d+)\((\d+)\)$")
# One operator per layer and step, by what it is; the first that ran is the one that is counted.
ATTENTION = re.compile(
    r"^(_C::cpu_attention_with_kv_cache|flash_fwd|FlashAttnFwdSm\d+|Batch(Decode|Prefill)With"
    r"|.*fmha.*|kernel_unified_attention)"
)
CACHE_WRITE = re.compile(r"^(_C::cpu_attn_reshape_and_cache|.*reshape_and_cache)")
GEMM = re.compile(
    r"^(aten::(mm|addmm|bmm)$|_C::onednn_mm|.*(Marlin|marlin|machete|cutlass_\w*mm|deep_gemm|fp8_gemm_"
    r"|nvjet_|xmma_gemm_|fused_moe_kernel))"
)
COMPILED = re.compile(
    r"Torch-Compiled|CompiledFunction|inductor|^triton_|cudaGraphLaunch|hipGraph", re.I
)
COMMUNICATION = re.compile(r"^(c10d::|gloo:|nccl|mpi:|_c10d_functional|vllm::all_reduce)", re.I)
_CATEGORIES = frozenset({"cpu_op", "kernel", "cuda_runtime", "user_annotation"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceStep:
    """One step's batch, from its annotation; its duration in µs of the trace's clock."""

    prefill_requests: int
    prefill_tokens: int
    decode_requests: int
    decode_tokens: int
    duration_us: float

    @property
    def is_empty(self) -> bool:
        return not self.prefill_tokens and not self.decode_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """``shapes`` and ``types`` count the first three inputs of each call, where the profiler wrote them."""

    calls: int
    total_us: float
    shapes: Mapping[str, int]
    types: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceSummary:
    """``version`` is the engine's own word inside the trace; ``steps`` are those that computed tokens."""

    version: str | None
    world_size: int | None
    steps: tuple[TraceStep, ...]
    operators: Mapping[str, Operator]

    def named(self, pattern: re.Pattern[str]) -> dict[str, int]:
        """Calls of the operators whose name begins like ``pattern``, the commonest first."""
        found = {name: op.calls for name, op in self.operators.items() if pattern.match(name)}
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


class TraceProblem(Exception):
    """The file is no trace of this engine; the message says why."""


def read_trace(path: Path) -> TraceSummary:
    """Read a ``*.trace.json.gz`` (or plain JSON) trace. Raises TraceProblem."""
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as stream:
            document = json.load(stream)
        events = document["traceEvents"]
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise TraceProblem(f"{path.name} is no Chrome trace ({error})") from error
    distributed = document.get("distributedInfo") or {}
    return summary(
        events, version=document.get("vllm_version"), world_size=distributed.get("world_size")
    )


def summary(
    events: Sequence[Mapping[str, Any]], *, version: str | None, world_size: int | None
) -> TraceSummary:
    complete = [event for event in events if event.get("ph") == "X" and "dur" in event]
    spans = sorted(
        (event for event in complete if STEP.match(str(event.get("name")))),
        key=lambda event: float(event["ts"]),
    )
    steps = [_step(event) for event in spans]
    inside = _inside(complete, spans, steps)
    return TraceSummary(
        version=version,
        world_size=world_size,
        steps=tuple(step for step in steps if not step.is_empty),
        operators=_operators(inside),
    )


def _inside(
    events: Sequence[Mapping[str, Any]],
    spans: Sequence[Mapping[str, Any]],
    steps: Sequence[TraceStep],
) -> list[Mapping[str, Any]]:
    starts = [float(event["ts"]) for event in spans]
    found = []
    for event in events:
        at = bisect.bisect_right(starts, float(event["ts"])) - 1
        if at < 0 or steps[at].is_empty or event.get("cat") not in _CATEGORIES:
            continue
        ends = starts[at] + float(spans[at]["dur"])
        if float(event["ts"]) < ends and not STEP.match(str(event["name"])):
            found.append(event)
    return found


def _step(event: Mapping[str, Any]) -> TraceStep:
    match = STEP.match(str(event["name"]))
    assert match is not None
    requests, tokens, decoding, decoded = map(int, match.groups())
    return TraceStep(
        prefill_requests=requests,
        prefill_tokens=tokens,
        decode_requests=decoding,
        decode_tokens=decoded,
        duration_us=float(event["dur"]),
    )


def _operators(events: Sequence[Mapping[str, Any]]) -> dict[str, Operator]:
    calls: Counter[str] = Counter()
    total: Counter[str] = Counter()
    shapes: dict[str, Counter[str]] = {}
    types: dict[str, Counter[str]] = {}
    for event in events:
        name, arguments = str(event["name"]), event.get("args", {})
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
