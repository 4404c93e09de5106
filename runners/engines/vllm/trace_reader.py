"""The names that matter in a trace of vLLM: its steps with their batch, and operators by what they are.

A step that computed no token is none. Operators nest, so only the leaves (``_C::*``, ``aten::mm``, kernels)
are compared with layers x steps.
"""

import re
from pathlib import Path

from runners.engines import chrome_trace
from runners.engines.chrome_trace import Span, Trace
from runners.engines.trace_proofs import Batch, Names, Shown, per_step

FILES = "*.pt.trace.json.gz"
STEP = re.compile(r"^execute_context_(\d+)\((\d+)\)_generation_(\d+)\((\d+)\)$")
NAMES = Names(
    attention=re.compile(
        r"^(_C::cpu_attention_with_kv_cache|flash_fwd|FlashAttnFwdSm\d+|Batch(Decode|Prefill)With"
        r"|.*fmha.*|kernel_unified_attention)"
    ),
    cache_write=re.compile(r"^(_C::cpu_attn_reshape_and_cache|.*reshape_and_cache)"),
    gemm=re.compile(
        r"^(aten::(mm|addmm|bmm)$|_C::onednn_mm|.*(Marlin|marlin|machete|cutlass_\w*mm|deep_gemm|fp8_gemm_"
        r"|nvjet_|xmma_gemm_|fused_moe_kernel))"
    ),
    compiled=re.compile(
        r"Torch-Compiled|CompiledFunction|inductor|^triton_|cudaGraphLaunch|hipGraph", re.I
    ),
    communication=re.compile(r"^(c10d::|gloo:|nccl|mpi:|_c10d_functional|vllm::all_reduce)", re.I),
    steps="execute_context_",
)


def shown(path: Path, *, layers: int) -> Shown:
    """Raises TraceProblem."""
    trace = read_trace(path)
    return Shown(
        trace=trace,
        batches=[_batch(span) for span in trace.spans],
        counted=per_step(trace, NAMES.attention, layers),
        layers=layers,
    )


def read_trace(path: Path) -> Trace:
    """Raises TraceProblem."""
    return chrome_trace.read(path, step=STEP, is_counted=_computed, version_key="vllm_version")


def _computed(name: str) -> bool:
    match = STEP.match(name)
    return match is not None and (match[2], match[4]) != ("0", "0")


def _batch(span: Span) -> Batch:
    match = STEP.match(span.name)
    assert match is not None
    requests, tokens, decoding, _ = (int(text) for text in match.groups())
    return Batch(
        requests=requests + decoding,
        words=f"prefill={requests} ({tokens} tokens) decode={decoding}",
    )
