"""Settings as ``trtllm-serve`` takes them: flags, and a configuration file for whatever has a key there.

Which of the two wins where both name a thing has changed between versions: the file did in 1.2, explicit
flags do later. So each thing is named in one place only. Documented form, never run here.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from runners.engines.tensorrt_llm.settings import TensorrtLlmSettings
from runners.environments.parsers import ParserDump
from runners.protocol.errors import Finding, Refused

FILE = "trtllm.yaml"
_FLAGS: Mapping[str, str] = {
    "max_seq_len": "--max_seq_len",
    "max_batch_size": "--max_batch_size",
    "max_num_tokens": "--max_num_tokens",
}
_CHUNKED = "--enable_chunked_prefill"
_PARALLEL: Mapping[str, str] = {
    "tensor": "--tp_size",
    "pipeline": "--pp_size",
    "expert": "--ep_size",
}
# setting -> key of the configuration file; null settings are left out
_KEYS: Mapping[str, str] = {
    "dtype": "dtype",
    "kv_dtype": "kv_cache_config.dtype",
    "kv_free_fraction": "kv_cache_config.free_gpu_memory_fraction",
    "kv_max_tokens": "kv_cache_config.max_tokens",
    "tokens_per_block": "kv_cache_config.tokens_per_block",
    "prefix_cache": "kv_cache_config.enable_block_reuse",
    "attention_backend": "attn_backend",
    "moe_backend": "moe_config.backend",
    "sampler_type": "sampler_type",
    "stream_interval": "stream_interval",
}
_POLICY = "scheduler_config.capacity_scheduler_policy"
# What makes the engine say what it did.
_EVIDENCE: Mapping[str, Any] = {
    "print_iter_log": True,
    "enable_iter_perf_stats": True,
    "return_perf_metrics": True,  # without it there is no /prometheus/metrics
}
# Set by Assay itself, or with a key in the file.
_OWN = (
    *("--host", "--port", "--backend", "--tokenizer", "--config", "--extra_llm_api_options"),
    *("--revision", "--log_level", "--kv_cache_free_gpu_memory_fraction"),
    *("--free_gpu_memory_fraction", "--max_beam_width"),
)


def flags_of(
    settings: TensorrtLlmSettings, parallel: Mapping[str, int], dump: ParserDump
) -> list[str]:
    """Flags of the declaration. Raises Refused for those that the installed version does not take."""
    arguments = list(_flags(settings, parallel))
    extra = {f"--{name}": value for name, value in settings.flags.items()}
    findings = [*_taken(settings), *dump.unknown(extra, field="engine.settings.flags")]
    findings += dump.unknown((a for a in arguments if a.startswith("--")), field="engine.settings")
    if findings:
        raise Refused(*findings)
    for name, value in extra.items():
        arguments += [name, value] if dump.flags[name].takes_value else [name]
    return arguments


def file_of(settings: TensorrtLlmSettings) -> str:
    """The whole configuration file, as YAML."""
    document: dict[str, Any] = {}
    for path, value in _entries(settings):
        node = document
        *parents, last = path.split(".")
        for part in parents:
            node = node.setdefault(part, {})
        node[last] = value
    return yaml.safe_dump(document, sort_keys=True)


def _flags(settings: TensorrtLlmSettings, parallel: Mapping[str, int]) -> Iterator[str]:
    for name, flag in _FLAGS.items():
        yield from (flag, str(getattr(settings, name)))
    if settings.chunked_prefill:
        yield _CHUNKED
    for kind, flag in _PARALLEL.items():
        yield from (flag, str(parallel[kind]))


def _entries(settings: TensorrtLlmSettings) -> Iterator[tuple[str, Any]]:
    yield from _EVIDENCE.items()
    for name, path in _KEYS.items():
        if (value := getattr(settings, name)) is not None:
            yield path, value
    yield _POLICY, settings.capacity_policy.upper()
    yield "disable_overlap_scheduler", not settings.overlap
    yield "cuda_graph_config", _graphs(settings)
    if settings.speculative_config is not None:
        yield "speculative_config", json.loads(settings.speculative_config)
    for path, text in settings.options.items():
        yield path, json.loads(text)


def _graphs(settings: TensorrtLlmSettings) -> dict[str, Any] | None:
    """Null turns graphs off."""
    if not settings.graphs:
        return None
    chosen: dict[str, Any] = {"enable_padding": settings.graph_padding}
    if settings.graph_sizes:
        chosen["batch_sizes"] = list(settings.graph_sizes)
    return chosen


def _taken(settings: TensorrtLlmSettings) -> Iterator[Finding]:
    flags = {*_FLAGS.values(), *_PARALLEL.values(), *_OWN, _CHUNKED}
    keys = {
        *_KEYS.values(),
        *_EVIDENCE,
        *(_POLICY, "disable_overlap_scheduler", "cuda_graph_config", "speculative_config"),
    }
    behind = [("flags", n) for n in settings.flags if f"--{n}" in flags]
    behind += [
        ("options", n)
        for n in settings.options
        if any(n == key or n.startswith(f"{key}.") or key.startswith(f"{n}.") for key in keys)
    ]
    for group, name in behind:
        yield Finding(
            field=f"engine.settings.{group}.{name}",
            seen=f"{name} has a setting of its own, or is set by Assay",
            allowed=f"{group} that no setting controls",
            remedy="Use the setting, so that the run is compared by it.",
        )
