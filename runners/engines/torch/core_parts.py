"""What the loop's core is given and what it gives: the model, the log, the result of a step, its shares."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from runners.engines.torch.calls import Output, Stats
from runners.engines.torch.kv_blocks import BlockPool
from runners.engines.torch.pooled_requests import PooledOutput
from runners.engines.torch.scheduler import Segment
from runners.protocol.events import EngineEvent


class Model(Protocol):
    def run(self, segments: Sequence[Segment], pool: BlockPool) -> list[int]:
        """Compute the segments and return the next token of each one that ``emits``, in order."""

    def pooled(self, sequence: str) -> list[float]:
        """The vector of a sequence whose last token was computed."""

    def forget(self, request: str) -> None:
        """Drop what is kept for a request between steps."""


class Log(Protocol):
    def append(
        self, event: EngineEvent, t_ns: int, request: str | None = None, **value: object
    ) -> None: ...

    def flush(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    outputs: list[Output]
    pooled: list[PooledOutput]
    stats: Stats


def shares(segments: Sequence[Segment]) -> list[dict[str, object]]:
    """What a step did for each request, the sequences of one request together."""
    found: dict[str, dict[str, Any]] = {}
    for segment in segments:
        share = found.setdefault(
            segment.running.subject,
            {
                "request": segment.running.subject,
                "tokens_in": 0,
                "tokens_out": 0,
                "context": 0,
                "phase": segment.phase,
                "recomputed": 0,
            },
        )
        share["tokens_in"] += segment.count
        share["tokens_out"] += int(segment.emits)
        share["context"] += segment.start + segment.count
        share["recomputed"] += segment.recomputed
        if segment.running.call.pooled_into is not None:
            share["sequences"] = share.get("sequences", 0) + 1
    return list(found.values())
