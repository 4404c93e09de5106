"""Do the settings of a vLLM declaration hold together, and do they fit the artifact and the device?"""

from collections.abc import Iterator, Mapping
from typing import Any

from experiments.checks import own_venv
from experiments.errors import Finding

_NEEDED = {"max_model_len": 1, "max_num_seqs": 1, "max_num_batched_tokens": 1}
_OPTIONAL = {"block_size": 1, "kv_cache_gib": 1, "threads": 1, "max_num_queued_reqs": 0}
_KV_NAMES = {"fp8": "float8_e4m3fn", "fp8_e4m3": "float8_e4m3fn", "fp8_e5m2": "float8_e5m2"}


def check(document: Mapping[str, Any]) -> Iterator[Finding]:
    """Everything that is wrong with ``engine`` of key vllm beside ``artifact`` and ``device``."""
    engine, settings = document["engine"], document["engine"]["settings"]
    yield from own_venv.environment(engine, variant="cpu")
    yield from own_venv.at_least(settings, needed=_NEEDED, optional=_OPTIONAL)
    yield from _steps(settings)
    yield from own_venv.share(settings, "gpu_memory_utilization")
    yield from _graphs(settings)
    yield from own_venv.json_object(settings, "speculative_config")
    yield from own_venv.flag_names(settings["flags"])
    yield from _device(settings, document["device"]["kind"])
    yield from _precision(settings, document["artifact"])


def _steps(settings: Mapping[str, Any]) -> Iterator[Finding]:
    if settings["max_num_batched_tokens"] < settings["max_num_seqs"]:
        yield own_venv.setting(
            "max_num_batched_tokens",
            settings["max_num_batched_tokens"],
            f"at least max_num_seqs ({settings['max_num_seqs']})",
            "A step decodes one token of every running request.",
        )
    whole = settings["max_num_batched_tokens"] >= settings["max_model_len"]
    if not settings["enable_chunked_prefill"] and not whole:
        yield own_venv.setting(
            "max_num_batched_tokens",
            settings["max_num_batched_tokens"],
            f"at least max_model_len ({settings['max_model_len']}) without chunked prefill",
            "A prompt that is not cut must fit into one step.",
        )


def _graphs(settings: Mapping[str, Any]) -> Iterator[Finding]:
    if not settings["enforce_eager"]:
        return
    mode, sizes = settings["graph_mode"], settings["graph_capture_sizes"]
    if mode not in ("chosen", "none") or sizes:
        yield own_venv.setting(
            "graph_mode",
            f"{mode}, capture sizes {list(sizes)}",
            "chosen or none and no sizes, because enforce_eager is true",
            "Eager turns graphs off: ask for one of the two.",
        )


def _device(settings: Mapping[str, Any], kind: str) -> Iterator[Finding]:
    only_on = {
        "cpu": ("threads", "thread_binding"),
        "cuda": ("gpu_memory_utilization",),
    }
    for wanted, names in only_on.items():
        for name in names:
            if kind != wanted and settings[name] is not None:
                yield own_venv.setting(
                    name, settings[name], f"null on {kind}", f"It is a {wanted} build's own."
                )


def _precision(settings: Mapping[str, Any], artifact: Mapping[str, Any]) -> Iterator[Finding]:
    """``auto`` stores K and V in what is computed in, and is named as that."""
    stored = settings["dtype"] if settings["kv_dtype"] == "auto" else settings["kv_dtype"]
    yield from own_venv.precision({**settings, "kv_dtype": stored}, artifact, _KV_NAMES)
