"""The eight items of what ran, each from the strongest evidence that this run of vLLM left.

``trace``  operators of this start's profile, counted against layers x steps;
``log``    a line of this run's engine.log, or what the engine answered of itself.
"""

from collections.abc import Mapping
from functools import partial

from runners.engines import identity_items, trace_proofs
from runners.engines.base import EvidenceContext
from runners.engines.stated_facts import facts_of
from runners.engines.vllm import identity_log, log_reader, trace_reader
from runners.engines.vllm.log_lines import read_lines
from runners.protocol import layout
from runners.protocol.documents import IdentityItem

# Which settings an item rests on, beside what is declared of every engine.
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "model_runner": ("model_runner", "max_num_seqs", "max_num_batched_tokens"),
    "attention_gemm_backend": ("attention_backend", "linear_backend", "moe_backend"),
    "graph_compile_mode": (
        *("enforce_eager", "graph_mode", "graph_capture_sizes", "optimization_level"),
    ),
    "hardware_runtime": ("threads",),
    "precision_path": ("dtype", "kv_dtype", "quantization"),
}


def items(context: EvidenceContext) -> list[IdentityItem]:
    """The items in their fixed order. Reads files of the bundle and what the engine answered."""
    facts = facts_of(read_lines(context.bundle / layout.ENGINE_LOG), log_reader.FORMS)
    layers = int(context.spec["artifact"]["config"]["L"])
    return identity_items.items(
        context,
        declared=identity_items.declared_layout(context.spec, _CHOICES),
        stated=identity_log.stated(facts, context.server_info),
        traced=trace_proofs.newest(
            context,
            trace_reader.FILES,
            partial(trace_reader.shown, layers=layers),
            trace_reader.NAMES,
            capability=identity_log.capability(facts, context.server_info),
        ),
    )
