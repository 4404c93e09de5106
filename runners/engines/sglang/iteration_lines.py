"""Lines of SGLang's log about single steps of its model loop, printed when a step's result was taken in.

A line counts requests and tokens and names no request. It carries no duration: a step's time is read off the
lines around it. Steps of speculative decoding are told apart and not counted: how many tokens they computed
is not printed.
"""

import re
from dataclasses import dataclass

_NUMBER = r"(?: \[(?P<number>\d+)\])?"
_GRAPH = r"\w+ graph: (?P<graph>True|False)"
_PREFILL = re.compile(
    rf"Prefill batch{_NUMBER}, #new-seq: (?P<requests>\d+), #new-token: (?P<tokens>\d+), "
    r"#cached-token: (?P<cached>\d+), (?:[\w ]+: [\d.]+, )+#running-req: (?P<running>\d+), "
    rf"#queue-req: (?P<waiting>\d+), #pending-token: (?P<pending>\d+), (?:#[\w-]+: \d+, )*{_GRAPH}, "
    r"input throughput \(token/s\): [\d.]+(?:, .*)?"
)
_DECODE = re.compile(
    rf"Decode batch{_NUMBER}, #running-req: (?P<running>\d+), #token: (?P<kv_tokens>\d+), "
    rf"token usage: [\d.]+, {_GRAPH}, gen throughput \(token/s\): [\d.]+, "
    r"#queue-req: (?P<waiting>\d+)(?:, .*)?"
)
_STARTS = ("Prefill batch", "Decode batch")


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLine:
    """``running`` requests decode, in a prefill line beside it; ``pending`` prompt tokens wait for a later
    step.

    ``kv_tokens`` is null in a prefill line, whose usage is printed too coarsely.
    """

    number: int | None
    prefill_requests: int
    prefill_tokens: int
    cached_tokens: int
    running: int
    waiting: int
    pending: int
    kv_tokens: int | None
    graph: bool

    @property
    def decodes(self) -> bool:
        return self.kv_tokens is not None


def step(message: str) -> StepLine | None:
    """A step's counts; None for any other line."""
    if match := _PREFILL.fullmatch(message):
        return StepLine(
            number=_int(match["number"]),
            prefill_requests=int(match["requests"]),
            prefill_tokens=int(match["tokens"]),
            cached_tokens=int(match["cached"]),
            running=int(match["running"]),
            waiting=int(match["waiting"]),
            pending=int(match["pending"]),
            kv_tokens=None,
            graph=match["graph"] == "True",
        )
    if match := _DECODE.fullmatch(message):
        return StepLine(
            number=_int(match["number"]),
            prefill_requests=0,
            prefill_tokens=0,
            cached_tokens=0,
            running=int(match["running"]),
            waiting=int(match["waiting"]),
            pending=0,
            kv_tokens=int(match["kv_tokens"]),
            graph=match["graph"] == "True",
        )
    return None


def is_step(message: str) -> bool:
    """Whether it is meant to be a step's line, in a known form or not."""
    return message.startswith(_STARTS)


def _int(text: str | None) -> int | None:
    return None if text is None else int(text)
