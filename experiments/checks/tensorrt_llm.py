"""Do the settings of a TensorRT-LLM declaration hold together, and do they fit artifact and device?"""

from collections.abc import Iterator, Mapping
from typing import Any

from experiments.checks import own_venv
from experiments.errors import Finding

_NEEDED = {"max_seq_len": 1, "max_batch_size": 1, "max_num_tokens": 1}
_OPTIONAL = {"kv_max_tokens": 1, "tokens_per_block": 1, "stream_interval": 1}
_KV_NAMES = {"fp8": "float8_e4m3fn"}


def check(document: Mapping[str, Any]) -> Iterator[Finding]:
    """Everything that is wrong with ``engine`` of key tensorrt_llm beside ``artifact`` and ``device``."""
    engine, settings = document["engine"], document["engine"]["settings"]
    yield from own_venv.environment(engine, variant="cuda")
    yield from own_venv.at_least(settings, needed=_NEEDED, optional=_OPTIONAL)
    yield from own_venv.share(settings, "kv_free_fraction")
    yield from own_venv.flag_names(settings["flags"])
    yield from own_venv.json_object(settings, "speculative_config")
    yield from own_venv.json_values("options", settings["options"])
    yield from own_venv.token_ids(settings, "Its streams are not known to carry them.")
    yield from own_venv.precision(settings, document["artifact"], _KV_NAMES)
    if document["device"]["kind"] != "cuda":
        remedy = "It ends at once where it finds no GPU."
        yield own_venv.finding("device.kind", document["device"]["kind"], "cuda", remedy)
    if engine["parallel"]["data"] != 1:
        yield own_venv.finding(
            "engine.parallel.data", engine["parallel"]["data"], "1", "It serves one replica."
        )
    if not settings["graphs"] and (settings["graph_sizes"] or settings["graph_padding"]):
        yield own_venv.setting(
            "graphs",
            False,
            "true with graph_sizes or graph_padding",
            "Ask for graphs, or for neither of the two.",
        )
    if settings["max_num_tokens"] < settings["max_batch_size"]:
        yield own_venv.setting(
            "max_num_tokens",
            settings["max_num_tokens"],
            f"at least max_batch_size ({settings['max_batch_size']})",
            "A step decodes one token of every running request.",
        )
