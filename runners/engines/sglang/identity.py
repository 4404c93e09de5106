"""The eight items of what ran, each from the strongest evidence that this run of SGLang left.

``trace``  operators of this start's profile, counted against layers x steps;
``log``    a line of this run's engine.log, or what the engine answered of itself.
"""

from collections.abc import Mapping
from functools import partial

from runners.engines import identity_items, trace_proofs
from runners.engines.base import EvidenceContext
from runners.engines.sglang import identity_log, log_reader, trace_reader
from runners.engines.sglang.environment import unsupported
from runners.engines.sglang.log_lines import read_lines
from runners.engines.stated_facts import facts_of
from runners.protocol import layout
from runners.protocol.documents import IdentityItem

# Which settings an item rests on, beside what is declared of every engine.
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "model_runner": ("max_running_requests", "context_length", "speculative_algorithm"),
    "attention_gemm_backend": (
        *("attention_backend", "prefill_attention_backend", "decode_attention_backend"),
        *("bf16_gemm_backend", "fp8_gemm_backend", "fp4_gemm_backend", "moe_runner_backend"),
    ),
    "graph_compile_mode": (
        *("decode_graphs", "prefill_graphs", "decode_graph_sizes", "torch_compile"),
    ),
    "hardware_runtime": ("threads",),
    "precision_path": ("dtype", "kv_dtype", "quantization"),
}


def items(context: EvidenceContext) -> list[IdentityItem]:
    """The items in their fixed order. Reads files of the bundle and what the engine answered."""
    facts = facts_of(read_lines(context.bundle / layout.ENGINE_LOG), log_reader.FORMS)
    mark = unsupported(str(context.spec["device"]["kind"]))
    layers = int(context.spec["artifact"]["config"]["L"])
    return identity_items.items(
        context,
        declared=identity_items.declared_layout(context.spec, _CHOICES),
        stated=identity_log.stated(facts, context.server_info, unsupported=mark),
        traced=trace_proofs.newest(
            context,
            trace_reader.FILES,
            partial(trace_reader.shown, layers=layers),
            trace_reader.NAMES,
            capability=identity_log.capability(facts, context.server_info, unsupported=mark),
        ),
    )
