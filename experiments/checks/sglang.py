"""Do the settings of an SGLang declaration hold together, and do they fit the artifact and the device?"""

from collections.abc import Iterator, Mapping
from typing import Any

from experiments.checks import own_venv
from experiments.errors import Finding

_NEEDED = {"context_length": 1, "max_running_requests": 1}
_OPTIONAL = {
    "max_total_tokens": 1,
    "max_prefill_tokens": 1,
    "max_queued_requests": 0,
    "page_size": 1,
    "threads": 1,
    "speculative_num_steps": 1,
    "speculative_eagle_topk": 1,
    "speculative_num_draft_tokens": 1,
}
_DRAFT = ("speculative_num_steps", "speculative_eagle_topk", "speculative_num_draft_tokens")
_KV_NAMES = {"bf16": "bfloat16", "fp8_e4m3": "float8_e4m3fn", "fp8_e5m2": "float8_e5m2"}


def check(document: Mapping[str, Any]) -> Iterator[Finding]:
    """Everything that is wrong with ``engine`` of key sglang beside ``artifact`` and ``device``."""
    engine, settings = document["engine"], document["engine"]["settings"]
    yield from own_venv.environment(engine, variant="cpu")
    yield from own_venv.at_least(settings, needed=_NEEDED, optional=_OPTIONAL)
    yield from own_venv.share(settings, "mem_fraction_static")
    yield from own_venv.flag_names(settings["flags"])
    yield from own_venv.token_ids(settings, "A streamed chat that asks for ids is answered 400.")
    yield from own_venv.precision(settings, document["artifact"], _KV_NAMES)
    yield from _chunks(settings)
    yield from _graphs(settings)
    yield from _speculative(settings)
    yield from _device(settings, document["device"]["kind"])


def _chunks(settings: Mapping[str, Any]) -> Iterator[Finding]:
    size = settings["chunked_prefill_size"]
    if size is not None and size != -1 and size < 1:
        allowed = "null, -1 for none, or at least 1"
        yield own_venv.setting("chunked_prefill_size", size, allowed, "It is a number of tokens.")
    if settings["mixed_chunk"] and size == -1:
        yield own_venv.setting(
            "mixed_chunk",
            True,
            "false without chunked prefill",
            "Only a prompt that is cut is mixed with decoding.",
        )


def _graphs(settings: Mapping[str, Any]) -> Iterator[Finding]:
    if settings["decode_graph_sizes"] and settings["decode_graphs"] == "disabled":
        yield own_venv.setting(
            "decode_graph_sizes",
            list(settings["decode_graph_sizes"]),
            "none, because decode_graphs is disabled",
            "Ask for one of the two.",
        )


def _speculative(settings: Mapping[str, Any]) -> Iterator[Finding]:
    if settings["speculative_algorithm"] is not None:
        return
    for name in _DRAFT:
        if settings[name] is not None:
            yield own_venv.setting(
                name,
                settings[name],
                "null without speculative_algorithm",
                "Name the algorithm.",
            )


def _device(settings: Mapping[str, Any], kind: str) -> Iterator[Finding]:
    if kind != "cpu" and settings["threads"] is not None:
        remedy = "It is a CPU start's own."
        yield own_venv.setting("threads", settings["threads"], f"null on {kind}", remedy)
