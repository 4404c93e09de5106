"""Requests that end between two steps, before their answer: cancelled, out of time, or with the process."""

from collections.abc import Callable, Sequence

from runners.engines.torch.core_parts import Log
from runners.engines.torch.events import now_ns
from runners.engines.torch.kv_blocks import BlockPool
from runners.engines.torch.scheduler import Running, Scheduler, block_change
from runners.protocol.events import EngineEvent


class EarlyEnds:
    """``drop_all`` forgets a request's sequences and says how many blocks came back."""

    def __init__(
        self,
        *,
        scheduler: Scheduler,
        pool: BlockPool,
        log: Log,
        drop_all: Callable[[str, Sequence[Running]], int],
        limit_s: float | None,
    ) -> None:
        self._scheduler = scheduler
        self._pool = pool
        self._log = log
        self._drop_all = drop_all
        self._limit_s = limit_s

    def cancel(self, request: str, *, asked_ns: int) -> bool:
        """Drop a request between two steps, in any phase. False if it had ended before."""
        entries = self.by_request().get(request)
        if entries is None:
            return False
        phase = self._phase(entries)
        released = self._drop_all(request, entries)
        now = now_ns()
        self._log.append(
            EngineEvent.cancelled,
            now,
            request,
            tokens_out=entries[0].answered,
            phase=phase,
            reason="client disconnected",
            asked_ns=asked_ns,
        )
        self.log_release(request, released, now)
        return True

    def expire(self, t_ns: int) -> list[str]:
        """Between two steps, end each request that has been here for longer than ``max_request_s``."""
        if self._limit_s is None:
            return []
        oldest_ns = t_ns - round(self._limit_s * 1e9)
        found = self.by_request()
        late = {name: e for name, e in found.items() if e[0].queued_ns < oldest_ns}
        for request, entries in late.items():
            phase = self._phase(entries)
            released = self._drop_all(request, entries)
            now = now_ns()
            self._log.append(
                EngineEvent.failed,
                now,
                request,
                reason=f"time limit: max_request_s {self._limit_s:g}",
                tokens_out=entries[0].answered,
                phase=phase,
            )
            self.log_release(request, released, now)
        if late:
            self._log.flush()
        return list(late)

    def fail_all(self, reason: str) -> None:
        """Record every unfinished request as failed; for the end of the process."""
        for request, entries in self.by_request().items():
            released = self._drop_all(request, entries)
            now = now_ns()
            self._log.append(
                EngineEvent.failed, now, request, reason=reason, tokens_out=entries[0].answered
            )
            self.log_release(request, released, now)
        self._log.flush()

    def by_request(self) -> dict[str, list[Running]]:
        """Request -> its sequences that are still here, running ones first."""
        found: dict[str, list[Running]] = {}
        for entry in (*self._scheduler.running, *self._scheduler.waiting):
            found.setdefault(entry.subject, []).append(entry)
        return found

    def _phase(self, entries: Sequence[Running]) -> str:
        first = entries[0]
        return "queued" if self._scheduler.is_waiting(first) else first.phase

    def log_release(self, request: str, blocks: int, t_ns: int) -> None:
        if blocks:
            change = block_change(self._pool, blocks, released=True)
            self._log.append(EngineEvent.kv_released, t_ns, request, **change)
