"""Settings as SGLang's own flags: a table of those that a study controls, and what every run adds.

Only the parser dump of the installed version says whether a flag exists. An unknown one of a study is
refused with the nearest that exists; an evidence flag that a version does not have is left out, and what it
would have shown is then a gap.
"""

from collections.abc import Iterable, Iterator, Mapping

from runners.engines.sglang.settings import SglangSettings
from runners.environments.parsers import ParserDump
from runners.protocol.errors import Finding, Refused

# setting -> flag with a value. Null settings are left out.
_VALUES: Mapping[str, str] = {
    "dtype": "--dtype",
    "kv_dtype": "--kv-cache-dtype",
    "quantization": "--quantization",
    "context_length": "--context-length",
    "max_running_requests": "--max-running-requests",
    "max_total_tokens": "--max-total-tokens",
    "max_prefill_tokens": "--max-prefill-tokens",
    "max_queued_requests": "--max-queued-requests",
    "schedule_conservativeness": "--schedule-conservativeness",
    "chunked_prefill_size": "--chunked-prefill-size",
    "page_size": "--page-size",
    "mem_fraction_static": "--mem-fraction-static",
    "attention_backend": "--attention-backend",
    "prefill_attention_backend": "--prefill-attention-backend",
    "decode_attention_backend": "--decode-attention-backend",
    "sampling_backend": "--sampling-backend",
    "bf16_gemm_backend": "--bf16-gemm-backend",
    "fp8_gemm_backend": "--fp8-gemm-backend",
    "fp4_gemm_backend": "--fp4-gemm-backend",
    "moe_runner_backend": "--moe-runner-backend",
    "moe_a2a_backend": "--moe-a2a-backend",
    "speculative_algorithm": "--speculative-algorithm",
    "speculative_num_steps": "--speculative-num-steps",
    "speculative_eagle_topk": "--speculative-eagle-topk",
    "speculative_num_draft_tokens": "--speculative-num-draft-tokens",
    "load_format": "--load-format",
    "seed": "--random-seed",
}
# setting -> (the value at which the switch stands, the switch). There are no negations.
_SWITCHES: Mapping[str, tuple[bool, str]] = {
    "overlap": (False, "--disable-overlap-schedule"),
    "mixed_chunk": (True, "--enable-mixed-chunk"),
    "prefix_cache": (False, "--disable-radix-cache"),
    "torch_compile": (True, "--enable-torch-compile"),
    "deterministic": (True, "--enable-deterministic-inference"),
}
_GRAPHS: Mapping[str, str] = {
    "decode_graphs": "--cuda-graph-backend-decode",
    "prefill_graphs": "--cuda-graph-backend-prefill",
}
_POLICY = "--schedule-policy"
_GRAPH_SIZES = "--cuda-graph-bs-decode"
_PARALLEL: Mapping[str, str] = {
    "tensor": "--tp-size",
    "pipeline": "--pp-size",
    "data": "--dp-size",  # replicas; attention data parallelism has a flag of its own
    "expert": "--ep-size",
}
# What makes the engine say what it did. At level 1 no text and no output token reaches its log.
_EVIDENCE: tuple[tuple[str, ...], ...] = (
    ("--enable-metrics",),
    ("--enable-request-time-stats-logging",),
    ("--enable-cache-report",),
    ("--log-requests",),
    ("--log-requests-level", "1"),
    ("--log-requests-format", "text"),
    ("--decode-log-interval", "1"),
    ("--sampling-defaults", "openai"),  # else the model's own file would set temperature unseen
    ("--uvicorn-access-log-exclude-prefixes", "/metrics", "/ready", "/v1/loads"),
)
# Set by Assay itself: where it runs, what it serves, what it writes down.
_OWN = (
    *("--model-path", "--tokenizer-path", "--served-model-name", "--host", "--port", "--device"),
    *("--revision", "--config", "--disable-cuda-graph", "--cuda-graph-config", "--log-level"),
    *("--log-requests-target", "--skip-server-warmup", "--export-metrics-to-file"),
)


def of_study(settings: SglangSettings, parallel: Mapping[str, int], dump: ParserDump) -> list[str]:
    """Flags of the declaration. Raises Refused for those that the installed version does not take."""
    arguments = [*_settings(settings), *_layout(parallel)]
    extra = {f"--{name}": value for name, value in settings.flags.items()}
    findings = list(_not_free(settings.flags))
    findings += dump.unknown(extra, field="engine.settings.flags")
    findings += dump.unknown(_names(arguments), field="engine.settings")
    if findings:
        raise Refused(*findings)
    for name, value in extra.items():
        arguments += [name, value] if dump.flags[name].takes_value else [name]
    return arguments


def of_evidence(dump: ParserDump) -> list[str]:
    """What makes the run evidenced."""
    return [part for flag in _EVIDENCE if dump.knows(flag[0]) for part in flag]


def _settings(settings: SglangSettings) -> Iterator[str]:
    for name, flag in _VALUES.items():
        if (value := getattr(settings, name)) is not None:
            yield from (flag, str(value))
    yield from (_POLICY, settings.schedule_policy.replace("_", "-"))
    for name, (stands_at, flag) in _SWITCHES.items():
        if getattr(settings, name) is stands_at:
            yield flag
    for name, flag in _GRAPHS.items():
        if (backend := getattr(settings, name)) != "chosen":
            yield from (flag, backend)
    if settings.decode_graph_sizes:
        yield _GRAPH_SIZES
        yield from (str(size) for size in settings.decode_graph_sizes)


def _layout(parallel: Mapping[str, int]) -> Iterator[str]:
    for kind, flag in _PARALLEL.items():
        yield from (flag, str(parallel[kind]))


def _names(arguments: Iterable[str]) -> Iterator[str]:
    return (a for a in arguments if a.startswith("--"))


def _not_free(flags: Mapping[str, str]) -> Iterator[Finding]:
    taken = {
        *(*_VALUES.values(), *_GRAPHS.values(), *_PARALLEL.values(), *_OWN, _GRAPH_SIZES, _POLICY),
        *(flag for _, flag in _SWITCHES.values()),
        *(flag[0] for flag in _EVIDENCE),
    }
    for name in flags:
        if f"--{name}" in taken:
            yield Finding(
                field=f"engine.settings.flags.{name}",
                seen=f"--{name} has a setting of its own, or is set by Assay",
                allowed="flags that no setting controls",
                remedy="Use the setting, so that the run is compared by it.",
            )
