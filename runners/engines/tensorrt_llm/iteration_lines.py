"""The line of one iteration (``print_iter_log``), read by key: its fields have moved between builds.

``num_generation_tokens`` counts what a graph was padded with; ``num_scheduled_requests`` counts real
requests. ``prev_device_step_time`` belongs to the iteration before and is kept apart from this one's host
time. Documented form, never run here.
"""

import ast
import re
from dataclasses import dataclass

_START = re.compile(r"iter = \d+, ")
_NUMBER = r"(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)"
_STATES = re.compile(r"\bstates = (\{[^}]*\})")


@dataclass(frozen=True, slots=True, kw_only=True)
class IterationLine:
    """``previous_device_ms`` is null in the first line, ``kv_use`` in builds that do not print it."""

    number: int
    rank: int
    host_ms: float
    previous_device_ms: float | None
    scheduled: int
    prefill_requests: int
    prefill_tokens: int
    generation_tokens: int
    kv_use: float | None

    @property
    def decode_requests(self) -> int:
        return self.scheduled - self.prefill_requests


def iteration(message: str) -> IterationLine | None:
    """None for another line, and for one in which a needed key is missing or does not fit the others."""
    if not is_iteration(message):
        return None
    number, rank = _value(message, "iter"), _value(message, "global_rank")
    host, scheduled = _value(message, "host_step_time"), _value(message, "num_scheduled_requests")
    states = _states(message)
    if number is None or rank is None or host is None or scheduled is None or states is None:
        return None
    requests, prompt, generated = states
    if requests > scheduled or (requests == 0) != (prompt == 0):
        return None
    return IterationLine(
        number=int(number),
        rank=int(rank),
        host_ms=host,
        previous_device_ms=_value(message, "prev_device_step_time"),
        scheduled=int(scheduled),
        prefill_requests=requests,
        prefill_tokens=prompt,
        generation_tokens=generated,
        kv_use=_value(message, "kv_cache_util"),
    )


def is_iteration(message: str) -> bool:
    """Whether it is meant to be an iteration line, in a known form or not."""
    return _START.match(message) is not None


def _value(message: str, key: str) -> float | None:
    match = re.search(rf"\b{key}\s*[=:]\s*{_NUMBER}(?:ms|s)?(?:,|$)", message)
    return None if match is None else float(match[1])


def _states(message: str) -> tuple[int, int, int] | None:
    match = _STATES.search(message)
    if match is None:
        return None
    try:
        states = ast.literal_eval(match[1])
        names = ("num_ctx_requests", "num_ctx_tokens", "num_generation_tokens")
        first, second, third = (int(states[name]) for name in names)
    except (ValueError, SyntaxError, KeyError, TypeError):
        return None
    return first, second, third
