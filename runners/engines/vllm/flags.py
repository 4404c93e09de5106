"""Settings as vLLM's own flags: a table of those that a study controls, and what every run adds.

Only the parser dump of the installed version says whether a flag exists. An unknown one of a study is
refused with the nearest that exists; an evidence flag that a version does not have is left out, and what it
would have shown is then a gap.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from runners.engines.vllm.settings import VllmSettings
from runners.environments.parsers import ParserDump
from runners.protocol.errors import Finding, Refused

# setting -> flag. Null settings are left out; true and false become --flag and --no-flag.
_DIRECT: Mapping[str, str] = {
    "dtype": "--dtype",
    "kv_dtype": "--kv-cache-dtype",
    "quantization": "--quantization",
    "max_model_len": "--max-model-len",
    "max_num_seqs": "--max-num-seqs",
    "max_num_batched_tokens": "--max-num-batched-tokens",
    "max_num_queued_reqs": "--max-num-queued-reqs",
    "scheduling_policy": "--scheduling-policy",
    "async_scheduling": "--async-scheduling",
    "block_size": "--block-size",
    "gpu_memory_utilization": "--gpu-memory-utilization",
    "enable_chunked_prefill": "--enable-chunked-prefill",
    "enable_prefix_caching": "--enable-prefix-caching",
    "optimization_level": "--optimization-level",
    "attention_backend": "--attention-backend",
    "linear_backend": "--linear-backend",
    "moe_backend": "--moe-backend",
    "speculative_config": "--speculative-config",
    "load_format": "--load-format",
    "seed": "--seed",
}
_PARALLEL: Mapping[str, str] = {
    "tensor": "--tensor-parallel-size",
    "pipeline": "--pipeline-parallel-size",
    "data": "--data-parallel-size",
}
# Set by Assay itself: where it runs, what it serves, what it writes down.
_OWN = (
    *("--model", "--tokenizer", "--served-model-name", "--host", "--port", "--revision"),
    *("--profiler-config", "--generation-config", "--enforce-eager", "--no-enforce-eager"),
    *("--cudagraph-capture-sizes", "--max-log-len", "--kv-cache-memory-bytes"),
    "--middleware",
    *("--enable-expert-parallel", "--no-enable-expert-parallel"),
)
# What makes the engine say what it did. No output text reaches its log: it is cut to nothing.
_EVIDENCE: tuple[tuple[str, ...], ...] = (
    ("--enable-log-requests",),
    ("--enable-log-outputs",),
    ("--no-enable-log-deltas",),
    ("--max-log-len", "0"),
    ("--enable-logging-iteration-details",),
    ("--cudagraph-metrics",),
    ("--kv-cache-metrics",),
    ("--enable-per-request-metrics",),
    ("--enable-prompt-tokens-details",),
    ("--enable-request-id-headers",),
    ("--disable-uvicorn-access-log",),  # who asked what is the witness's business
)
_WITNESS = "runners.engines.vllm.witness.Witness"
GIB = 2**30


def of_study(
    settings: VllmSettings, parallel: Mapping[str, int], device: str, dump: ParserDump
) -> list[str]:
    """Flags of the declaration. Raises Refused for those that the installed version does not take."""
    arguments = [*_settings(settings), *_layout(parallel), *_memory(settings, device)]
    findings = list(_not_free(settings.flags))
    extra = {f"--{name}": value for name, value in settings.flags.items()}
    findings += dump.unknown(extra, field="engine.settings.flags")
    used = [a for a in arguments if a.startswith("-") and not a[1:].isdigit()]
    findings += dump.unknown((a.partition("=")[0] for a in used), field="engine.settings")
    if findings:
        raise Refused(*findings)
    for name, value in extra.items():
        arguments += [name, value] if dump.flags[name.partition(".")[0]].takes_value else [name]
    return arguments


def of_evidence(dump: ParserDump, *, trace_folder: str | None) -> list[str]:
    """What makes the run evidenced; ``trace_folder`` null leaves the profiler out."""
    arguments = [part for flag in _EVIDENCE if dump.knows(flag[0]) for part in flag]
    if dump.knows("--middleware"):
        arguments += ["--middleware", _WITNESS]
    if dump.knows("--generation-config"):
        # else the model's own file would set temperature and others unseen
        arguments += ["--generation-config", "vllm"]
    if trace_folder is not None and dump.knows("--profiler-config"):
        arguments += ["--profiler-config", json.dumps(_profiler(trace_folder))]
    return arguments


def _settings(settings: VllmSettings) -> Iterator[str]:
    for name, flag in _DIRECT.items():
        value = getattr(settings, name)
        if isinstance(value, bool):
            yield flag if value else flag.replace("--", "--no-", 1)
        elif value is not None:
            yield from (flag, str(value))
    yield "--enforce-eager" if settings.enforce_eager else "--no-enforce-eager"
    if settings.graph_mode != "chosen" and not settings.enforce_eager:
        yield f"-cc.cudagraph_mode={settings.graph_mode.upper()}"
    if settings.graph_capture_sizes:
        yield "--cudagraph-capture-sizes"
        yield from (str(size) for size in settings.graph_capture_sizes)


def _layout(parallel: Mapping[str, int]) -> Iterator[str]:
    for kind, flag in _PARALLEL.items():
        yield from (flag, str(parallel[kind]))
    if parallel["expert"] > 1:
        yield "--enable-expert-parallel"  # a switch: its size follows from tensor x data


def _memory(settings: VllmSettings, device: str) -> Iterator[str]:
    """On a CPU the KV cache's size is an environment variable."""
    if settings.kv_cache_gib is not None and device != "cpu":
        yield from ("--kv-cache-memory-bytes", str(settings.kv_cache_gib * GIB))


def _not_free(flags: Mapping[str, str]) -> Iterator[Finding]:
    taken = {*_DIRECT.values(), *_PARALLEL.values(), *_OWN, *(f[0] for f in _EVIDENCE)}
    for name in flags:
        if f"--{name}" in taken or f"--{name.removeprefix('no-')}" in taken:
            yield Finding(
                field=f"engine.settings.flags.{name}",
                seen=f"--{name} has a setting of its own, or is set by Assay",
                allowed="flags that no setting controls",
                remedy="Use the setting, so that the run is compared by it.",
            )


def _profiler(folder: str) -> dict[str, Any]:
    return {
        "profiler": "torch",
        "torch_profiler_dir": folder,
        "torch_profiler_with_stack": False,
        "torch_profiler_record_shapes": True,
        "ignore_frontend": True,  # its own profiler has failed to stop, unseen, beside a worker's
    }
