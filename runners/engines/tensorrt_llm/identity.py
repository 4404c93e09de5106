"""The eight items as far as TensorRT-LLM's log says them. It has no answer about its resolved configuration.

1.2 writes a trace only for a range of iterations named at the start, in a start of its own; none is read
here. Documented forms, never run here.
"""

from collections.abc import Mapping

from runners.engines import identity_items
from runners.engines.base import EvidenceContext
from runners.engines.identity_items import Stated, Traced, renamed
from runners.engines.stated_facts import Fact, facts_of
from runners.engines.tensorrt_llm import iteration_lines, log_reader
from runners.engines.tensorrt_llm.log_lines import read_lines
from runners.engines.tensorrt_llm.printed import NEVER_RUN
from runners.protocol import layout
from runners.protocol.documents import IdentityItem, Pointer

# item -> (fact of the log -> names of its values in ``ran``)
_FROM_FACTS: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    "engine_version": {"banner": {"version": "printed"}},
    "launch_configuration": {"block_reuse": {"state": "block_reuse"}},
    "model_runner": {
        "limits": {
            "seq_len": "max_seq_len",
            "requests": "max_num_requests",
            "tokens": "max_num_tokens",
            "batch": "max_batch_size",
        }
    },
    "hardware_runtime": {
        "kv_cache": {"tokens": "kv_tokens", "gib": "kv_gib"},
        "kv_block": {"tokens": "tokens_per_block"},
    },
}
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "model_runner": ("max_batch_size", "max_num_tokens", "capacity_policy", "sampler_type"),
    "attention_gemm_backend": ("attention_backend", "moe_backend"),
    "graph_compile_mode": ("graphs", "graph_sizes", "graph_padding"),
    "precision_path": ("dtype", "kv_dtype"),
}
_NO_TRACE = "no trace of 1.2 is read: it is written in a start of its own, without step annotations"


def items(context: EvidenceContext) -> list[IdentityItem]:
    """The items in their fixed order, from lines of the bundle's engine.log."""
    lines = list(read_lines(context.bundle / layout.ENGINE_LOG))
    stated = _stated(facts_of(lines, log_reader.FORMS))
    steps = [(line, iteration_lines.iteration(line.message)) for line in lines]
    padded = next(
        (
            (line.number, step)
            for line, step in steps
            if step is not None
            and not step.prefill_requests
            and step.generation_tokens > step.decode_requests
        ),
        None,
    )
    if padded is not None:
        number, step = padded
        said = stated.setdefault("graph_compile_mode", Stated())
        said.add(
            {"padded_from": step.decode_requests, "padded_to": step.generation_tokens},
            "an iteration that only decoded computed more tokens than it had requests: it was padded",
            Pointer(file=layout.ENGINE_LOG, line=number),
        )
    for said in stated.values():
        said.ran["reading"] = NEVER_RUN
    return identity_items.items(
        context,
        declared=identity_items.declared_layout(context.spec, _CHOICES),
        stated=stated,
        traced=Traced(proofs={}, problem=_NO_TRACE),
    )


def _stated(facts: Mapping[str, Fact]) -> dict[str, Stated]:
    found: dict[str, Stated] = {}
    for item, wanted in _FROM_FACTS.items():
        said = Stated()
        for name, names in wanted.items():
            if (fact := facts.get(name)) is not None and (values := renamed(fact.value, names)):
                words = f"{fact.process} of this start printed its {name.replace('_', ' ')}"
                said.add(values, words, Pointer(file=layout.ENGINE_LOG, line=fact.line))
        if said.sources:
            found[item] = said
    return found
