"""The names that matter in a trace of SGLang: its steps with their batch, and operators by what they are.

A step's annotation counts the tokens that it computes: those of a prompt that came from the prefix cache are
not among them. The trace does not carry the engine's version.
"""

import re
from dataclasses import dataclass

from runners.engines.chrome_trace import Span

STEP = re.compile(r"^step\[(?P<stage>[A-Z_]+) bs=(?P<requests>\d+)(?: toks=(?P<tokens>\d+))?")
# One operator per layer and step (torch_native: per layer and request); the first that ran is counted.
ATTENTION = re.compile(
    r"^(aten::_scaled_dot_product_\w+_attention(_for_cpu)?$|flash_fwd|FlashAttnFwdSm\d+"
    r"|Batch(Decode|Prefill)With|.*fmha.*|_fwd_grouped_kernel|_fwd_kernel|.*trtllm_m[hl]a)"
)
GEMM = re.compile(
    r"^(aten::(mm|addmm|bmm)$|.*(cutlass_\w*mm|deep_gemm|fp8_gemm_|nvjet_|xmma_gemm_|marlin|Marlin"
    r"|fused_moe_kernel))"
)
COMPILED = re.compile(r"Torch-Compiled|CompiledFunction|inductor|^triton_|cudaGraphLaunch", re.I)
COMMUNICATION = re.compile(r"^(c10d::|gloo:|nccl|mpi:|_c10d_functional)", re.I)


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceStep:
    """``tokens`` is what was computed; a decode step computes one a request."""

    stage: str
    requests: int
    tokens: int

    @property
    def words(self) -> str:
        return f"{self.stage} {self.requests} requests ({self.tokens} tokens)"


def step_of(span: Span) -> TraceStep:
    match = STEP.match(span.name)
    assert match is not None
    requests = int(match["requests"])
    tokens = int(match["tokens"]) if match["tokens"] is not None else requests
    return TraceStep(stage=match["stage"], requests=requests, tokens=tokens)
