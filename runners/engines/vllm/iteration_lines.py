"""Lines of vLLM's log about its iterations and about which graphs its steps used.

An iteration line counts requests and tokens and names no request. It is printed when its step has ended, so
the step's start is the printed time less the engine's own duration.
"""

import re
from collections.abc import Mapping
from typing import Any

_ITERATION = re.compile(
    r"Engine \d+: Iteration\((?P<number>\d+)\): (?P<prefill_requests>\d+) context requests, "
    r"(?P<prefill_tokens>\d+) context tokens, (?P<decode_requests>\d+) generation requests, "
    r"(?P<decode_tokens>\d+) generation tokens, iteration elapsed time: (?P<ms>[\d.]+) ms"
    r"(?P<dummy> \(dummy\))?, \w+ KV cache usage: (?P<usage>[\d.]+)%.*"
)
_COUNTS = ("number", "prefill_requests", "prefill_tokens", "decode_requests", "decode_tokens")
_DISPATCH = re.compile(
    r"\| (?P<tokens>\d+) +\| (?P<padded>\d+) +\| (?P<paddings>\d+) +\| (?P<mode>\w+) +\| (?P<count>\d+) +\|"
)
# Usage is printed with one decimal: below this number of blocks it tells every count apart (a block is then
# more than a tenth of a percent).
_EXACT_BELOW = 1000


def iteration(message: str, *, blocks: int | None) -> dict[str, Any] | None:
    """An iteration's counts, duration and used blocks; None for another line and for a dummy step.

    ``blocks`` is the number of KV blocks, one of which the engine keeps for itself and does not count.
    """
    match = _ITERATION.fullmatch(message)
    if match is None or match["dummy"]:
        return None
    row: dict[str, Any] = {name: int(match[name]) for name in _COUNTS}
    row["duration_ns"] = round(float(match["ms"]) * 1e6)
    row["kv_usage"] = float(match["usage"]) / 100
    if blocks is not None and 1 < blocks < _EXACT_BELOW:
        row["kv_used"] = round(row["kv_usage"] * (blocks - 1))
        row["kv_total"] = blocks - 1
    return row


def is_iteration(message: str) -> bool:
    """Whether it is meant to be an iteration line, in a known form or not."""
    return "Iteration(" in message


def dispatch(message: str) -> Mapping[str, Any] | None:
    """A row of the table of steps by padded size and graph mode, since the last such table."""
    match = _DISPATCH.fullmatch(message)
    if match is None:
        return None
    counts = {name: int(match[name]) for name in ("tokens", "padded", "paddings", "count")}
    return {**counts, "mode": match["mode"]}
