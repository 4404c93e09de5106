"""Requests for vectors that are still being computed.

Such a request may hold several texts. Each is a sequence of its own in the scheduler, so that long and short
ones share steps; the request is answered when its last sequence is done.
"""

from dataclasses import dataclass, field

from runners.engines.torch.calls import PooledCall


@dataclass(frozen=True, slots=True, kw_only=True)
class PooledOutput:
    """All vectors of a request, in the order of its texts."""

    request: str
    vectors: list[list[float]]


@dataclass(slots=True, kw_only=True)
class _Open:
    call: PooledCall
    vectors: dict[str, list[float]] = field(default_factory=dict)
    was_scheduled: bool = False


@dataclass(slots=True)
class OpenPooled:
    """Requests whose texts are still being computed."""

    by_request: dict[str, _Open] = field(default_factory=dict)

    def begin(self, call: PooledCall) -> None:
        self.by_request[call.request] = _Open(call=call)

    def is_first_admission(self, request: str) -> bool:
        """Whether this is the first of the request's sequences to be scheduled; true of other requests."""
        entry = self.by_request.get(request)
        if entry is None:
            return True
        first, entry.was_scheduled = not entry.was_scheduled, True
        return first

    def take(self, request: str, sequence: str, vector: list[float]) -> PooledOutput | None:
        """Enter a finished sequence. The request's output once all of its sequences are in."""
        entry = self.by_request[request]
        entry.vectors[sequence] = vector
        names = [call.request for call in entry.call.sequences()]
        if len(entry.vectors) < len(names):
            return None
        return PooledOutput(request=request, vectors=[entry.vectors[name] for name in names])

    def forget(self, request: str) -> None:
        self.by_request.pop(request, None)
