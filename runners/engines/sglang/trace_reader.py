"""The names that matter in a trace of SGLang: its steps with their batch, and operators by what they are.

A step's annotation counts the tokens that it computes: those of a prompt that came from the prefix cache are
not among them. The trace does not carry the engine's version. ``torch_native`` attends once per request.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from runners.engines import chrome_trace
from runners.engines.chrome_trace import Span, Trace
from runners.engines.trace_proofs import Batch, Counted, Names, Shown, per_step

FILES = "*-TP-0*.trace.json.gz"
STEP = re.compile(r"^step\[(?P<stage>[A-Z_]+) bs=(?P<requests>\d+)(?: toks=(?P<tokens>\d+))?")
NAMES = Names(
    attention=re.compile(
        r"^(aten::_scaled_dot_product_\w+_attention(_for_cpu)?$|flash_fwd|FlashAttnFwdSm\d+"
        r"|Batch(Decode|Prefill)With|.*fmha.*|_fwd_grouped_kernel|_fwd_kernel|.*trtllm_m[hl]a)"
    ),
    gemm=re.compile(
        r"^(aten::(mm|addmm|bmm)$|.*(cutlass_\w*mm|deep_gemm|fp8_gemm_|nvjet_|xmma_gemm_|marlin|Marlin"
        r"|fused_moe_kernel))"
    ),
    compiled=re.compile(r"Torch-Compiled|CompiledFunction|inductor|^triton_|cudaGraphLaunch", re.I),
    communication=re.compile(r"^(c10d::|gloo:|nccl|mpi:|_c10d_functional)", re.I),
    steps="step[",
)


def shown(path: Path, *, layers: int) -> Shown:
    """Raises TraceProblem."""
    trace = chrome_trace.read(path, step=STEP)
    batches = [_batch(span) for span in trace.spans]
    return Shown(
        trace=trace, batches=batches, counted=_counted(trace, batches, layers), layers=layers
    )


def _counted(trace: Trace, batches: Sequence[Batch], layers: int) -> Counted | None:
    found = per_step(trace, NAMES.attention, layers)
    if found is not None:
        return found
    requests = sum(batch.requests for batch in batches)
    for name, calls in trace.named(NAMES.attention).items():
        if calls and calls == layers * requests:
            words = f"{layers} layers x {requests} requests in {len(batches)} steps"
            return Counted(operator=name, calls=calls, words=words)
    return None


def _batch(span: Span) -> Batch:
    match = STEP.match(span.name)
    assert match is not None
    requests, stage = int(match["requests"]), match["stage"]
    tokens = int(match["tokens"]) if match["tokens"] is not None else requests
    return Batch(
        requests=requests, stage=stage, words=f"{stage} {requests} requests ({tokens} tokens)"
    )
