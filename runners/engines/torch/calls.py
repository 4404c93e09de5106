"""A generation request inside the engine, and what comes back for it step by step."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """``temperature`` 0 is greedy, ``top_k`` 0 keeps all; ``seed`` starts the request's own generator."""

    temperature: float
    top_p: float
    top_k: int
    repetition_penalty: float
    seed: int

    @property
    def greedy(self) -> bool:
        return self.temperature == 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request as the model loop gets it: token ids in, at most ``max_tokens`` out."""

    request: str
    prompt: tuple[int, ...]
    max_tokens: int
    sampling: Sampling
    stop: tuple[str, ...]
    ignore_eos: bool
    pooled_into: str | None = (
        None  # the request that this sequence is a text of; null when it generates
    )

    @property
    def subject(self) -> str:
        """The request that events name: the call itself, or the one that it is a text of."""
        return self.pooled_into or self.request

    @property
    def longest(self) -> int:
        return len(self.prompt) + self.max_tokens

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def call_from_json(document: dict[str, Any]) -> Call:
    return Call(
        request=document["request"],
        prompt=tuple(document["prompt"]),
        max_tokens=document["max_tokens"],
        sampling=Sampling(**document["sampling"]),
        stop=tuple(document["stop"]),
        ignore_eos=document["ignore_eos"],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PooledCall:
    """A request for the vectors of its texts, each given as token ids."""

    request: str
    prompts: tuple[tuple[int, ...], ...]

    @property
    def prompt_tokens(self) -> int:
        return sum(map(len, self.prompts))

    def sequences(self) -> tuple[Call, ...]:
        """One call for each text; it produces no token."""
        return tuple(
            Call(
                request=f"{self.request}#{number}",
                prompt=prompt,
                max_tokens=0,
                sampling=_NO_SAMPLING,
                stop=(),
                ignore_eos=True,
                pooled_into=self.request,
            )
            for number, prompt in enumerate(self.prompts)
        )

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


_NO_SAMPLING = Sampling(temperature=0.0, top_p=1.0, top_k=0, repetition_penalty=1.0, seed=0)


def pooled_call_from_json(document: dict[str, Any]) -> PooledCall:
    prompts = tuple(tuple(prompt) for prompt in document["prompts"])
    return PooledCall(request=document["request"], prompts=prompts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """One new token of a request. ``text`` is given only where stop strings made the loop decode it."""

    request: str
    token: int
    text: str | None
    finish: str | None  # stop | length


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """The state of the loop after a step, for gauges and counters."""

    running: int
    waiting: int
    kv_used: int
    kv_total: int
    prompt_tokens: int  # computed by this step, recomputed ones too
    tokens_out: int
    preempted: int
    duration_ns: int | None  # null when no step ran (a cancel)
