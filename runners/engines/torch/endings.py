"""How an exchange ends: refused, broken off, left by its client, or done; each counted once."""

from runners.engines.torch.api_request import ApiProblem
from runners.engines.torch.api_response import sse
from runners.engines.torch.events import now_ns
from runners.engines.torch.exchange import Exchange
from runners.engines.torch.metrics import Metrics
from runners.protocol.events import EngineEvent


class Endings:
    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    async def refuse(self, exchange: Exchange, problem: ApiProblem) -> None:
        exchange.note(
            EngineEvent.rejected,
            now_ns(),
            process="front",  # the loop never hears of it
            status=problem.status,
            reason=problem.code,
            field=problem.field,
        )
        if exchange.gone_ns is None:
            await exchange.answer(problem.status, problem.body())
        self.end(exchange, "rejected", "rejected")

    async def break_off(
        self, exchange: Exchange, reason: str, *, code: str = "engine_failed"
    ) -> None:
        """Answer with an error: as an event where the stream has begun, else as a 500."""
        problem = ApiProblem(reason, status=500, code=code)
        if exchange.gone_ns is not None:
            self.note_gone(exchange)
            return
        if exchange.status is None:
            await exchange.answer(500, problem.body())
        else:
            await exchange.write(sse(problem.body()), more=False)
        self.end(exchange, "failed", "failed")

    def end(self, exchange: Exchange, state: str, outcome: str) -> None:
        if exchange.request is None:
            return
        exchange.note(
            EngineEvent.front_finished,
            now_ns(),
            state=state,
            status=exchange.status,
            writes=exchange.written,
        )
        self._metrics.ended(outcome)

    def note_gone(self, exchange: Exchange) -> None:
        seen_ns = exchange.gone_ns or now_ns()
        exchange.note(EngineEvent.front_disconnected, seen_ns, writes=exchange.written)
        if exchange.request is not None:
            self._metrics.ended("cancelled")
