"""One step after another: plan, run the model, take the new tokens, record what happened.

Knows no socket and no tensor: the model and the event log are passed in.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tokenizers import Tokenizer

from runners.engines.torch.calls import Call, Output, Stats
from runners.engines.torch.events import now_ns
from runners.engines.torch.kv_blocks import BlockPool
from runners.engines.torch.scheduler import Plan, Running, Scheduler, Segment, block_change
from runners.engines.torch.settings import EngineSettings
from runners.engines.torch.text import StopWatch
from runners.protocol.events import EngineEvent


class Model(Protocol):
    def run(self, segments: Sequence[Segment], pool: BlockPool) -> list[int]:
        """Compute the segments and return the next token of each one that ``emits``, in order."""

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
    stats: Stats


@dataclass(slots=True, kw_only=True)
class _Stops:
    """Stop strings of the requests that have some."""

    tokenizer: Tokenizer | None
    watches: dict[str, StopWatch] = field(default_factory=dict)

    def begin(self, call: Call) -> None:
        if call.stop and self.tokenizer is not None:
            self.watches[call.request] = StopWatch(self.tokenizer, call.stop)


class Core:
    def __init__(
        self,
        *,
        settings: EngineSettings,
        model: Model,
        log: Log,
        eos_token_ids: Sequence[int],
        tokenizer: Tokenizer | None = None,
    ) -> None:
        self.pool = BlockPool(total=settings.kv_blocks, block_tokens=settings.block_tokens)
        self.scheduler = Scheduler(
            pool=self.pool,
            max_batch=settings.max_batch,
            token_budget=settings.token_budget,
            when_out_of_blocks=settings.when_out_of_blocks,
        )
        self._model = model
        self._log = log
        self._eos = frozenset(eos_token_ids)
        self._stops = _Stops(tokenizer=tokenizer)
        self._number = 0

    @property
    def idle(self) -> bool:
        return not self.scheduler.running and not self.scheduler.waiting

    @property
    def requests(self) -> list[str]:
        return [entry.request for entry in (*self.scheduler.running, *self.scheduler.waiting)]

    def submit(self, call: Call, t_ns: int) -> None:
        self.scheduler.add(call)
        self._stops.begin(call)
        self._log.append(
            EngineEvent.queued,
            t_ns,
            call.request,
            prompt_tokens=len(call.prompt),
            max_tokens=call.max_tokens,
            seed=call.sampling.seed,
            waiting=len(self.scheduler.waiting),
        )

    def cancel(self, request: str, *, asked_ns: int) -> bool:
        """Drop a request between two steps, in any phase. False if it had ended before."""
        entry = self.scheduler.find(request)
        if entry is None:
            return False
        phase = "queued" if self.scheduler.is_waiting(entry) else entry.phase
        released = self._drop(entry)
        now = now_ns()
        self._log.append(
            EngineEvent.cancelled,
            now,
            request,
            tokens_out=entry.answered,
            phase=phase,
            reason="client disconnected",
            asked_ns=asked_ns,
        )
        self._log_release(request, released, now)
        return True

    def fail_all(self, reason: str) -> None:
        """Record every unfinished request as failed; for the end of the process."""
        for entry in (*self.scheduler.running, *self.scheduler.waiting):
            released = self._drop(entry)
            now = now_ns()
            self._log.append(
                EngineEvent.failed, now, entry.request, reason=reason, tokens_out=entry.answered
            )
            self._log_release(entry.request, released, now)
        self._log.flush()

    def step(self) -> StepResult | None:
        """Run one iteration; None if there is nothing to do."""
        started = now_ns()
        plan = self.scheduler.plan()
        self._log_actions(plan, now_ns())
        if not plan.segments:
            return None
        self._log.flush()
        forward = now_ns()
        tokens = self._model.run(plan.segments, self.pool)
        ended = now_ns()
        emitting = [segment for segment in plan.segments if segment.emits]
        contexts = [segment.start + segment.count for segment in plan.segments]
        for segment, context in zip(plan.segments, contexts, strict=True):
            segment.running.computed = context
            segment.running.reached = max(segment.running.reached, context)
        emitted = {s.running.request for s in emitting}
        self._number += 1
        self._log.append(
            EngineEvent.iteration,
            started,
            number=self._number,
            duration_ns=ended - started,
            plan_ns=forward - started,
            requests=[
                {
                    "request": s.running.request,
                    "tokens_in": s.count,
                    "tokens_out": int(s.running.request in emitted),
                    "context": context,
                    "phase": s.phase,
                    "recomputed": s.recomputed,
                }
                for s, context in zip(plan.segments, contexts, strict=True)
            ],
            running=len(self.scheduler.running),
            waiting=len(self.scheduler.waiting),
            held_by=plan.held_by,
            kv_used=self.pool.used,
            kv_total=self.pool.total,
        )
        outputs = [
            self._take(s.running, token, ended) for s, token in zip(emitting, tokens, strict=True)
        ]
        self._log.flush()
        stats = self.stats(
            prompt_tokens=sum(s.count for s in plan.segments if s.phase == "prefill"),
            tokens_out=len(outputs),
            preempted=plan.preempted,
            duration_ns=ended - started,
        )
        return StepResult(outputs=outputs, stats=stats)

    def stats(
        self,
        *,
        prompt_tokens: int = 0,
        tokens_out: int = 0,
        preempted: int = 0,
        duration_ns: int | None = None,
    ) -> Stats:
        return Stats(
            running=len(self.scheduler.running),
            waiting=len(self.scheduler.waiting),
            kv_used=self.pool.used,
            kv_total=self.pool.total,
            prompt_tokens=prompt_tokens,
            tokens_out=tokens_out,
            preempted=preempted,
            duration_ns=duration_ns,
        )

    def _take(self, entry: Running, token: int, t_ns: int) -> Output:
        """Append a new token; end the request where its answer ends."""
        entry.tokens.append(token)
        index = entry.answered - 1
        event = EngineEvent.token if index else EngineEvent.first_token
        self._log.append(event, t_ns, entry.request, index=index)
        watch = self._stops.watches.get(entry.request)
        text = watch.push(token) if watch else None
        finish = self._finish(entry, token, watch)
        if finish:
            if watch:
                text = (text or "") + watch.finish()
            released = self._drop(entry)
            self._log.append(
                EngineEvent.finished,
                t_ns,
                entry.request,
                reason=finish,
                prompt_tokens=len(entry.call.prompt),
                tokens_out=entry.answered,
                preemptions=entry.preemptions,
            )
            self._log_release(entry.request, released, now_ns())
        return Output(request=entry.request, token=token, text=text, finish=finish)

    def _finish(self, entry: Running, token: int, watch: StopWatch | None) -> str | None:
        if watch is not None and watch.hit:
            return "stop"
        if token in self._eos and not entry.call.ignore_eos:
            return "stop"
        return "length" if entry.answered >= entry.call.max_tokens else None

    def _drop(self, entry: Running) -> int:
        self._model.forget(entry.request)
        self._stops.watches.pop(entry.request, None)
        return self.scheduler.remove(entry)

    def _log_actions(self, plan: Plan, t_ns: int) -> None:
        for action in plan.actions:
            self._log.append(action.event, t_ns, action.request, **action.value)

    def _log_release(self, request: str, blocks: int, t_ns: int) -> None:
        if blocks:
            change = block_change(self.pool, blocks, released=True)
            self._log.append(EngineEvent.kv_released, t_ns, request, **change)
