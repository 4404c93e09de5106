"""The eight items as far as SGLang says them: in lines of its log, each with its number, or on /server_info.

Both are the engine's words, not what a trace shows. The answer is stronger than its start's arguments only in
what the server decided later.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from runners.engines.identity_items import Stated, renamed
from runners.engines.sglang import log_reader
from runners.engines.sglang.environment import STAND_INS
from runners.engines.stated_facts import Fact
from runners.protocol import layout
from runners.protocol.documents import Pointer

# item -> (fact of the log -> names of its values in ``ran``)
_FROM_FACTS: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    "model_runner": {
        "weights_loaded": {"architecture": "architecture"},
        "limits": {"context": "context_length", "running": "max_running_requests"},
        "tree_cache": {"cache": "prefix_cache"},
    },
    "attention_gemm_backend": {"attention": {"backend": "attention_said"}},
    "graph_compile_mode": {
        "graphs_off": {"because": "graphs_off_because"},
        "prefill_graphs_off": {"because": "prefill_graphs_off_because"},
        "decode_capture": {"sizes": "captured_sizes", "s": "capture_s", "gb": "capture_gb"},
        "prefill_capture": {"s": "prefill_capture_s", "gb": "prefill_capture_gb"},
    },
    "hardware_runtime": {
        "kv_cache": {"tokens": "kv_tokens"},
        "threads": {"cores": "cores"},
    },
    "precision_path": {
        "kv_cache": {"dtype": "kv_dtype"},
        "weights_loaded": {"quantization": "quantization_said"},
    },
}
# item -> arguments as the server printed them, after what it changed by itself
_FROM_ARGUMENTS: Mapping[str, Sequence[str]] = {
    "launch_configuration": (
        *("random_seed", "schedule_policy", "disable_radix_cache", "chunked_prefill_size"),
        *("disable_overlap_schedule", "load_format", "enable_deterministic_inference"),
    ),
    "model_runner": ("speculative_algorithm", "model_impl"),
    "graph_compile_mode": ("cuda_graph_backend_decode", "cuda_graph_backend_prefill"),
    "hardware_runtime": ("device",),
    "parallel_layout": ("tp_size", "pp_size", "dp_size", "ep_size", "attn_dp_size"),
}
# item -> members of the answer of /server_info
_FROM_ANSWER: Mapping[str, Sequence[str]] = {
    "engine_version": ("version",),
    "attention_gemm_backend": (
        *("attention_backend", "prefill_attention_backend", "decode_attention_backend"),
        *("sampling_backend", "bf16_gemm_backend", "fp8_gemm_runner_backend", "moe_runner_backend"),
    ),
    "graph_compile_mode": ("enable_torch_compile",),
    "hardware_runtime": ("max_total_num_tokens", "page_size"),
    "precision_path": ("dtype", "kv_cache_dtype", "quantization"),
}


def stated(
    facts: Mapping[str, Fact], server_info: Mapping[str, Any] | None, *, unsupported: str | None
) -> dict[str, Stated]:
    """What was said of each item, with where; items of which nothing was said are left out."""
    found: dict[str, Stated] = {}
    arguments = log_reader.arguments(facts)
    for item in {*_FROM_FACTS, *_FROM_ARGUMENTS, *_FROM_ANSWER}:
        said = Stated()
        for name, names in _FROM_FACTS.get(item, {}).items():
            if (fact := facts.get(name)) is not None and (values := renamed(fact.value, names)):
                said.add(values, *_line(fact))
        if arguments is not None:
            chosen = {n: arguments[n] for n in _FROM_ARGUMENTS.get(item, ()) if n in arguments}
            if chosen:
                said.add(chosen, *_line(facts["arguments"]))
        for name in _FROM_ANSWER.get(item, ()):
            if (value := (server_info or {}).get(name)) is not None:
                pointer = Pointer(file=layout.SERVER_INFO, query=name)
                said.add({name: value}, f"GET /server_info answered {name}", pointer)
        if said.sources:
            found[item] = said
    if unsupported is not None:
        _mark(found, unsupported)
    return found


def _mark(found: Mapping[str, Stated], words: str) -> None:
    """Says of every item that has evidence under which configuration it was seen."""
    for said in found.values():
        said.ran["configuration"] = words
    if (version := found.get("engine_version")) is not None:
        version.ran["stand_ins"] = list(STAND_INS)


def capability(
    facts: Mapping[str, Fact], server_info: Mapping[str, Any] | None, *, unsupported: str | None
) -> dict[str, Any]:
    """What a trace's evidence holds for."""
    threads = facts.get("threads")
    return {
        "cores": threads.value["cores"] if threads else None,
        "attention_backend_answered": (server_info or {}).get("attention_backend"),
        "configuration": unsupported or "as its wheel asks for it",
    }


def _line(fact: Fact) -> tuple[str, Pointer]:
    words = f"the {fact.process} process of this start printed its {fact.name.replace('_', ' ')}"
    return words, Pointer(file=layout.ENGINE_LOG, line=fact.line)
