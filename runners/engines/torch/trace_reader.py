"""The names that matter in a trace of this engine: its steps, with their batch, and its operators.

Attention is annotated once per layer and step, whatever operators run inside it. How many products a layer
has depends on the model, so they are counted as they came.
"""

import re
from pathlib import Path

from runners.engines import chrome_trace
from runners.engines.chrome_trace import Span, Trace
from runners.engines.torch.attention_names import ANNOTATION
from runners.engines.trace_proofs import Batch, Names, Shown, per_step

FILES = "*.trace.json.gz"
STEP = re.compile(r"^step\[decode=(\d+) prefill=(\d+) tokens=(\d+) out=(\d+)\]$")
NAMES = Names(
    attention=re.compile(r"^aten::_scaled_dot_product_(flash_attention_for_cpu|attention_math)$"),
    gemm=re.compile(r"^(aten::(mm|addmm|bmm|mkldnn_linear)|mkldnn::_linear_pointwise)$"),
    compiled=re.compile(
        r"Torch-Compiled|CompiledFunction|inductor|triton|cudaGraph|hipGraph", re.I
    ),
    communication=re.compile(r"^(c10d::|gloo:|nccl:|mpi:|_c10d_functional)", re.I),
    steps="step[",
    note="Which library kernel ran below aten is not in a CPU trace",
)
_ANNOTATED = re.compile(f"^{re.escape(ANNOTATION)}$")


def shown(path: Path, *, layers: int) -> Shown:
    """Raises TraceProblem."""
    trace = read_trace(path)
    return Shown(
        trace=trace,
        batches=[_batch(span) for span in trace.spans],
        counted=per_step(trace, _ANNOTATED, layers),
        layers=layers,
    )


def read_trace(path: Path) -> Trace:
    """Raises TraceProblem."""
    return chrome_trace.read(path, step=STEP)


def _batch(span: Span) -> Batch:
    match = STEP.match(span.name)
    assert match is not None
    decode, prefill, tokens, _ = (int(text) for text in match.groups())
    return Batch(
        requests=decode + prefill, words=f"decode={decode} prefill={prefill} tokens={tokens}"
    )
