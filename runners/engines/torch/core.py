"""One step after another: plan, run the model, take the new tokens, record what happened.

Knows no socket and no tensor: the model and the event log are passed in.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tokenizers import Tokenizer

from runners.engines.torch.calls import Call, Output, PooledCall, Stats
from runners.engines.torch.core_parts import Log, Model, StepResult, shares
from runners.engines.torch.early_ends import EarlyEnds
from runners.engines.torch.events import now_ns
from runners.engines.torch.kv_blocks import BlockPool
from runners.engines.torch.pooled_requests import OpenPooled, PooledOutput
from runners.engines.torch.scheduler import Plan, Running, Scheduler
from runners.engines.torch.settings import EngineSettings
from runners.engines.torch.text import StopWatch
from runners.protocol.events import EngineEvent


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
        self._pooled = OpenPooled()
        self._number = 0
        self._delay_s = settings.injected_delay_s
        self._early = EarlyEnds(
            scheduler=self.scheduler,
            pool=self.pool,
            log=log,
            drop_all=self._drop_all,
            limit_s=settings.max_request_s,
        )

    @property
    def idle(self) -> bool:
        return not self.scheduler.running and not self.scheduler.waiting

    @property
    def requests(self) -> list[str]:
        return list(self._early.by_request())

    def submit(self, call: Call, t_ns: int) -> None:
        self.scheduler.add(call, t_ns)
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

    def submit_pooled(self, call: PooledCall, t_ns: int) -> None:
        """Queue every text of the request; the last one to be done ends it."""
        self._pooled.begin(call)
        sequences = call.sequences()
        for sequence in sequences:
            self.scheduler.add(sequence, t_ns)
        self._log.append(
            EngineEvent.queued,
            t_ns,
            call.request,
            prompt_tokens=call.prompt_tokens,
            max_tokens=0,
            sequences=len(sequences),
            waiting=len(self.scheduler.waiting),
        )

    def cancel(self, request: str, *, asked_ns: int) -> bool:
        """Drop a request between two steps, in any phase. False if it had ended before."""
        return self._early.cancel(request, asked_ns=asked_ns)

    def expire(self, t_ns: int) -> list[str]:
        """Between two steps, end each request that has been here for longer than ``max_request_s``."""
        return self._early.expire(t_ns)

    def fail_all(self, reason: str) -> None:
        """Record every unfinished request as failed; for the end of the process."""
        self._early.fail_all(reason)

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
        injected_ns = self._inject(plan)
        ended = now_ns()
        emitting = [segment for segment in plan.segments if segment.emits]
        contexts = [segment.start + segment.count for segment in plan.segments]
        for segment, context in zip(plan.segments, contexts, strict=True):
            segment.running.computed = context
            segment.running.reached = max(segment.running.reached, context)
        self._number += 1
        self._log_iteration(plan, started, forward, ended, injected_ns)
        outputs = [
            self._take(s.running, token, ended) for s, token in zip(emitting, tokens, strict=True)
        ]
        pooling = [s.running for s in plan.segments if s.completes and not s.emits]
        pooled = [done for entry in pooling if (done := self._take_pooled(entry, ended))]
        self._log.flush()
        stats = self.stats(
            prompt_tokens=sum(s.count for s in plan.segments if s.phase == "prefill"),
            tokens_out=len(outputs),
            preempted=plan.preempted,
            duration_ns=ended - started,
        )
        return StepResult(outputs=outputs, pooled=pooled, stats=stats)

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
            self._early.log_release(entry.request, released, now_ns())
        return Output(request=entry.request, token=token, text=text, finish=finish)

    def _take_pooled(self, entry: Running, t_ns: int) -> PooledOutput | None:
        """Take the vector of one text; end the request with its last one."""
        request = entry.subject
        output = self._pooled.take(request, entry.request, self._model.pooled(entry.request))
        released = self._drop(entry)
        if output is not None:
            self._log.append(
                EngineEvent.finished,
                t_ns,
                request,
                reason="pooled",
                prompt_tokens=self._pooled.by_request[request].call.prompt_tokens,
                tokens_out=0,
                sequences=len(output.vectors),
            )
            self._pooled.forget(request)
        self._early.log_release(request, released, now_ns())
        return output

    def _drop_all(self, request: str, entries: Sequence[Running]) -> int:
        self._pooled.forget(request)
        return sum(self._drop(entry) for entry in entries)

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

    def _inject(self, plan: Plan) -> int:
        """The declared fault: wait, in a step that decodes. Returns how long it took."""
        if not self._delay_s or all(s.phase != "decode" for s in plan.segments):
            return 0
        began = now_ns()
        time.sleep(self._delay_s)
        return now_ns() - began

    def _log_iteration(
        self, plan: Plan, started: int, forward: int, ended: int, injected_ns: int
    ) -> None:
        modified: dict[str, Any] = {"injected_ns": injected_ns} if injected_ns else {}
        self._log.append(
            EngineEvent.iteration,
            started,
            number=self._number,
            duration_ns=ended - started,
            plan_ns=forward - started,
            requests=shares(plan.segments),
            running=len(self.scheduler.running),
            waiting=len(self.scheduler.waiting),
            held_by=plan.held_by,
            kv_used=self.pool.used,
            kv_total=self.pool.total,
            **modified,
        )

    def _log_actions(self, plan: Plan, t_ns: int) -> None:
        for action in plan.actions:
            is_admission = action.event is EngineEvent.scheduled and not action.value["recompute"]
            if is_admission and not self._pooled.is_first_admission(action.request):
                continue
            self._log.append(action.event, t_ns, action.request, **action.value)
