"""The limits of an engine that a forecast reads, whatever the engine calls them.

A limit that is not declared is None: what depends on it is then not predicted. Bounds need none of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.analysis.perfmodel.errors import ModelRefused
from runners.protocol.errors import Finding

REPLAY = "replay"
DEQUANTIZED, STORED = "dequantized", "stored"

# Settings by the names that engines give them; the first one present counts.
_MAX_BATCH = ("max_batch", "max_num_seqs", "max_running_requests", "max_batch_size")
_TOKEN_BUDGET = ("token_budget", "max_num_batched_tokens", "chunked_prefill_size", "max_num_tokens")
_BLOCK_TOKENS = ("block_tokens", "block_size", "page_size", "tokens_per_block")
_KV_BLOCKS = ("kv_blocks", "num_gpu_blocks_override")
_KV_DTYPE = ("kv_dtype", "kv_cache_dtype")
_THREADS = ("threads",)
_UNDECIDED = (None, "", "auto")


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineLimits:
    """Declared limits. ``weights`` are computed as ``stored``, or ``dequantized`` to ``dtype``.

    ``dtype`` and ``kv_dtype`` are None where the engine decides them from the model.
    """

    key: str
    weights: str
    dtype: str | None
    kv_dtype: str | None
    max_batch: int | None
    token_budget: int | None
    block_tokens: int | None
    kv_blocks: int | None
    threads: int | None
    elsewhere: bool  # reached by its URL: its machine is not this one


def engine_limits(engine: Mapping[str, Any]) -> EngineLimits:
    """Read ``engine`` of a RunSpec.

    Raises ModelRefused for a replay: no model runs there, so nothing of one can be predicted.
    """
    key = str(engine["key"])
    if key == REPLAY:
        raise ModelRefused(
            Finding(
                field="engine.key",
                seen=key,
                allowed="an engine that runs a model",
                remedy="A replay serves recorded replies; predict the run that it was taken from.",
            )
        )
    settings = engine.get("settings") or {}
    dequantized = settings.get("weights") == DEQUANTIZED
    return EngineLimits(
        key=key,
        weights=DEQUANTIZED if dequantized else STORED,
        dtype=_name(settings, ("dtype",)),
        kv_dtype=_name(settings, _KV_DTYPE),
        max_batch=_count(settings, _MAX_BATCH),
        token_budget=_count(settings, _TOKEN_BUDGET),
        block_tokens=_count(settings, _BLOCK_TOKENS),
        kv_blocks=_count(settings, _KV_BLOCKS),
        threads=_count(settings, _THREADS),
        elsewhere=(engine.get("environment") or {}).get("kind") == "url",
    )


def _count(settings: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    """A positive whole number under one of the names."""
    found = next((settings[name] for name in names if settings.get(name) is not None), None)
    counts = isinstance(found, int) and not isinstance(found, bool) and found > 0
    return found if counts else None


def _name(settings: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    found = next((settings[n] for n in names if settings.get(n) not in _UNDECIDED), None)
    return None if found is None else str(found)
