"""A core over a model that needs no tensors: the next token is a function of the tokens before it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from runners.engines.torch.calls import Call, Sampling
from runners.engines.torch.core import Core
from runners.engines.torch.kv_blocks import BlockPool
from runners.engines.torch.scheduler import Segment
from runners.engines.torch.settings import EngineSettings
from runners.protocol.events import EngineEvent

EOS = 2
GREEDY = Sampling(temperature=0.0, top_p=1.0, top_k=0, repetition_penalty=1.0, seed=0)


def settings(**changed: Any) -> EngineSettings:
    values: dict[str, Any] = {
        "weights": "dequantized",
        "dtype": "float32",
        "kv_dtype": "float32",
        "max_batch": 4,
        "token_budget": 16,
        "block_tokens": 4,
        "kv_blocks": 32,
        "max_length": 128,
        "when_out_of_blocks": "preempt",
        "threads": 1,
    }
    return EngineSettings(**(values | changed))


def call(request: str, prompt: Sequence[int], max_tokens: int, **changed: Any) -> Call:
    values: dict[str, Any] = {"sampling": GREEDY, "stop": (), "ignore_eos": True}
    return Call(request=request, prompt=tuple(prompt), max_tokens=max_tokens, **(values | changed))


def next_token(tokens: Sequence[int]) -> int:
    """Depends on every token before it and on their order."""
    value = 7
    for token in tokens:
        value = (value * 31 + token) % 100_003
    return value % 1000


def answer(prompt: Sequence[int], count: int) -> list[int]:
    """What a request gets, whoever it shares a batch with."""
    tokens = list(prompt)
    for _ in range(count):
        tokens.append(next_token(tokens))
    return tokens[len(prompt) :]


@dataclass
class FakeModel:
    """Keeps the tokens of each block, and answers from what the blocks hold, not from the request."""

    block_tokens: int
    slots: dict[int, int] = field(default_factory=dict)
    steps: list[list[tuple[str, int]]] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    sums: dict[str, list[int]] = field(default_factory=dict)

    def run(self, segments: Sequence[Segment], pool: BlockPool) -> list[int]:
        self.steps.append([(s.running.request, s.count) for s in segments])
        answers = []
        for segment in segments:
            table = pool.table(segment.running.request)
            for offset, token in enumerate(segment.token_ids):
                self.slots[self._slot(table, segment.start + offset)] = token
            self._pool(segment)
            if segment.emits:
                stored = range(segment.start + segment.count)
                answers.append(next_token([self.slots[self._slot(table, at)] for at in stored]))
        return answers

    def pooled(self, sequence: str) -> list[float]:
        """[tokens seen, their sum]: enough to tell a lost or doubled chunk from a whole text."""
        seen = self.sums[sequence]
        return [float(len(seen)), float(sum(seen))]

    def forget(self, request: str) -> None:
        self.forgotten.append(request)
        self.sums.pop(request, None)

    def _pool(self, segment: Segment) -> None:
        if segment.running.call.pooled_into is not None:
            before = self.sums.get(segment.running.request, []) if segment.start else []
            self.sums[segment.running.request] = before + segment.token_ids

    def _slot(self, table: Sequence[int], at: int) -> int:
        return table[at // self.block_tokens] * self.block_tokens + at % self.block_tokens


@dataclass
class Events:
    """An event log in memory."""

    rows: list[dict[str, Any]] = field(default_factory=list)

    def append(
        self, event: EngineEvent, t_ns: int, request: str | None = None, **value: object
    ) -> None:
        self.rows.append({"event": event.value, "t_ns": t_ns, "request": request, **value})

    def flush(self) -> None:
        """Rows are kept as they come."""

    def of(self, event: str, request: str | None = None) -> list[dict[str, Any]]:
        return [r for r in self.rows if r["event"] == event and request in (None, r["request"])]


@dataclass
class Rig:
    """A core with everything around it in reach."""

    core: Core
    model: FakeModel
    events: Events
    tokens: dict[str, list[int]] = field(default_factory=dict)
    vectors: dict[str, list[list[float]]] = field(default_factory=dict)
    finished: dict[str, str] = field(default_factory=dict)

    def submit(self, *calls: Call) -> None:
        for entry in calls:
            self.core.submit(entry, len(self.events.rows))

    def step(self) -> None:
        result = self.core.step()
        for output in result.outputs if result else ():
            self.tokens.setdefault(output.request, []).append(output.token)
            if output.finish:
                self.finished[output.request] = output.finish
        for pooled in result.pooled if result else ():
            assert pooled.request not in self.vectors
            self.vectors[pooled.request] = pooled.vectors

    def drain(self, limit: int = 10_000) -> None:
        for _ in range(limit):
            if self.core.idle:
                return
            self.step()
        raise AssertionError(f"not idle after {limit} steps")


def rig(eos: Sequence[int] = (), tokenizer: Any = None, **changed: Any) -> Rig:
    used = settings(**changed)
    model, events = FakeModel(used.block_tokens), Events()
    core = Core(settings=used, model=model, log=events, eos_token_ids=eos, tokenizer=tokenizer)
    return Rig(core=core, model=model, events=events)
