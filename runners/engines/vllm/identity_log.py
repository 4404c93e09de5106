"""The eight items as far as vLLM says them: in lines of its log, each with its number, or on /server_info.

The log states what was resolved, the answer what the server holds now; both are the engine's words, not what
a trace shows.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from runners.engines.identity_items import Stated, renamed
from runners.engines.stated_facts import Fact
from runners.engines.vllm.configuration import resolved
from runners.protocol import layout
from runners.protocol.documents import Pointer

Source = tuple[str, Pointer]

# item -> (fact of the log -> names of its values in ``ran``)
_FROM_FACTS: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    "engine_version": {
        "banner": {"version": "printed"},
        "configuration": {"version": "engine_core"},
    },
    "launch_configuration": {"arguments": {"arguments": "non_default_arguments"}},
    "model_runner": {
        "runner": {"runner": "runner", "because": "v2_not_taken_because_it_requires"},
        "architecture": {"architecture": "architecture"},
        "max_model_len": {"tokens": "max_model_len"},
    },
    "attention_gemm_backend": {
        "attention": {"backend": "attention", "candidates": "attention_candidates"},
        "attention_refused": {
            "backend": "attention_refused",
            "because": "attention_refused_because",
        },
        "moe": {"backend": "moe"},
        "linear": {"kernel": "linear", "scheme": "linear_scheme"},
        "linear_fallback": {"wanted": "linear_wanted", "ran": "linear_fallback"},
        "kv_layout": {"layout": "kv_layout"},
    },
    "graph_compile_mode": {
        "eager": {"disabled": "disabled_by_eager"},
        "graph_capture": {"s": "capture_s", "gib": "capture_gib"},
        "compiled": {"s": "compile_s"},
    },
    "hardware_runtime": {
        "threads": {"threads": "torch_threads"},
        "kv_cache": {"tokens": "kv_tokens", "where": "kv_where"},
        "kv_memory": {"gib": "kv_gib"},
    },
    "precision_path": {},
    "parallel_layout": {"world": {"world": "world_size", "backend": "communication"}},
}
# item -> values of the resolved configuration
_FROM_CONFIGURATION: Mapping[str, Sequence[str]] = {
    "launch_configuration": (
        "seed",
        "enable_prefix_caching",
        "enable_chunked_prefill",
        "load_format",
    ),
    "model_runner": ("speculative_config",),
    "graph_compile_mode": (
        "enforce_eager",
        "compilation.mode",
        "compilation.cudagraph_mode",
        "compilation.cudagraph_capture_sizes",
    ),
    "hardware_runtime": ("device_config",),
    "precision_path": ("dtype", "kv_cache_dtype", "quantization"),
    "parallel_layout": ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size"),
}
# item -> paths in the answer of /server_info
_FROM_ANSWER: Mapping[str, Sequence[str]] = {
    "launch_configuration": (
        "vllm_config.scheduler_config.max_num_seqs",
        "vllm_config.scheduler_config.max_num_batched_tokens",
        "vllm_config.scheduler_config.policy",
    ),
    "attention_gemm_backend": ("vllm_config.attention_config.backend",),
    "hardware_runtime": (
        "vllm_config.cache_config.num_gpu_blocks",
        "vllm_config.cache_config.block_size",
        "system_env.torch_version",
        "system_env.cpu_info",
        "system_env.cuda_runtime_version",
        "system_env.nvidia_driver_version",
    ),
}


def stated(facts: Mapping[str, Fact], server_info: Mapping[str, Any] | None) -> dict[str, Stated]:
    """What was said of each item, with where; items of which nothing was said are left out."""
    found: dict[str, Stated] = {}
    for item, wanted in _FROM_FACTS.items():
        said = Stated()
        for fact in (facts[name] for name in wanted if name in facts):
            said.add(renamed(fact.value, wanted[fact.name]), *_line(fact))
        for values, source in (
            *_configured(facts.get("configuration"), _FROM_CONFIGURATION.get(item, ())),
            *_answered(server_info, _FROM_ANSWER.get(item, ())),
        ):
            said.add(values, *source)
        if said.sources:
            found[item] = said
    return found


def capability(facts: Mapping[str, Fact], server_info: Mapping[str, Any] | None) -> dict[str, Any]:
    """What a trace's evidence holds for: the threads, and the processor as the engine named it."""
    threads = facts.get("threads")
    info = _at(server_info, "system_env.cpu_info")
    flags = next((x for x in str(info).splitlines() if x.strip().startswith("Flags:")), "")
    return {
        "torch_threads": threads.value["threads"] if threads else None,
        "avx512": "avx512f" in flags if flags else None,
    }


def _line(fact: Fact) -> Source:
    words = f"the {fact.process} process of this start printed its {fact.name.replace('_', ' ')}"
    return words, Pointer(file=layout.ENGINE_LOG, line=fact.line)


def _configured(fact: Fact | None, names: Sequence[str]) -> Iterator[tuple[dict[str, Any], Source]]:
    if fact is None:
        return
    values = resolved(str(fact.value["text"]))
    if chosen := {name: values[name] for name in names if name in values}:
        yield chosen, _line(fact)


def _answered(
    server_info: Mapping[str, Any] | None, paths: Sequence[str]
) -> Iterator[tuple[dict[str, Any], Source]]:
    for path in paths:
        value = _at(server_info, path)
        if path.endswith("cpu_info"):
            value = _processor(value)
        if value is not None:
            pointer = Pointer(file=layout.SERVER_INFO, query=path)
            yield {path.rpartition(".")[2]: value}, (f"GET /server_info answered {path}", pointer)


def _processor(listing: Any) -> str | None:
    """The processor's name out of the listing of its properties."""
    named = (x.partition(":")[2].strip() for x in str(listing).splitlines() if "Model name" in x)
    return next(named, None)


def _at(tree: Any, path: str) -> Any:
    for part in path.split("."):
        tree = tree.get(part) if isinstance(tree, Mapping) else None
    return tree
