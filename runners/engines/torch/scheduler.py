"""Which tokens of which requests run in the next step.

A step takes at most ``token_budget`` tokens. Requests that decode come first, one token each, so that a long
prompt never holds up an answer; then prompts that were begun, cut to what is left of the budget (chunked
prefill); then waiting requests in order of arrival, while the batch, the budget and the blocks allow.

When the KV blocks run out:
``wait``     a request is admitted only once the blocks of its longest possible answer can be set aside, so a
             running request never stalls; the head of the queue waits, and so does everybody behind it.
``preempt``  a request is admitted once its present tokens fit; when a running request then finds no free
             block, the newest one gives all of its blocks back, goes to the head of the queue, and its
             tokens are computed again later.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from runners.engines.torch.calls import Call
from runners.engines.torch.kv_blocks import BlockPool
from runners.protocol.events import EngineEvent, ReleaseLevel


@dataclass(slots=True, kw_only=True, eq=False)
class Running:
    """A request's progress. ``computed`` tokens are in the cache; ``reached`` is the most that ever were."""

    call: Call
    tokens: list[int]  # prompt, then answer
    queued_ns: int = 0
    computed: int = 0
    reached: int = 0
    preemptions: int = 0

    @property
    def request(self) -> str:
        return self.call.request

    @property
    def subject(self) -> str:
        return self.call.subject

    @property
    def pending(self) -> int:
        return len(self.tokens) - self.computed

    @property
    def answered(self) -> int:
        return len(self.tokens) - len(self.call.prompt)

    @property
    def phase(self) -> str:
        return "decode" if self.answered and self.pending == 1 else "prefill"


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """``count`` tokens of one sequence from position ``start``. ``emits``: its last logits give a token."""

    running: Running
    start: int
    count: int
    phase: str
    recomputed: int

    @property
    def completes(self) -> bool:
        """Whether all tokens that there are have then been computed."""
        return self.start + self.count == len(self.running.tokens)

    @property
    def emits(self) -> bool:
        return self.completes and self.running.call.pooled_into is None

    @property
    def token_ids(self) -> list[int]:
        return self.running.tokens[self.start : self.start + self.count]


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """Something the scheduler did, as it goes into the event log: under the request, not the sequence."""

    event: EngineEvent
    request: str
    value: dict[str, Any]


@dataclass(slots=True, kw_only=True)
class Plan:
    segments: list[Segment] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)
    preempted: int = 0
    held_by: str | None = (
        None  # why the head of the queue was not admitted: batch | budget | blocks
    )


class Scheduler:
    def __init__(
        self, *, pool: BlockPool, max_batch: int, token_budget: int, when_out_of_blocks: str
    ) -> None:
        self.pool = pool
        self.waiting: deque[Running] = deque()
        self.running: list[Running] = []  # in order of admission
        self._max_batch = max_batch
        self._token_budget = token_budget
        self._reserving = when_out_of_blocks == "wait"

    def add(self, call: Call, t_ns: int = 0) -> Running:
        entry = Running(call=call, tokens=list(call.prompt), queued_ns=t_ns)
        self.waiting.append(entry)
        return entry

    def find(self, request: str) -> Running | None:
        everyone = (*self.running, *self.waiting)
        return next((entry for entry in everyone if entry.request == request), None)

    def is_waiting(self, entry: Running) -> bool:
        return entry in self.waiting

    def remove(self, entry: Running) -> int:
        """Take a request out for good, whatever it was doing. Returns the blocks it gave back."""
        if entry in self.running:
            self.running.remove(entry)
        else:
            self.waiting.remove(entry)
        return self.pool.release(entry.request)

    def plan(self) -> Plan:
        plan = Plan()
        budget = self._token_budget
        decoding = [entry for entry in self.running if entry.pending == 1]
        prefilling = [entry for entry in self.running if entry.pending > 1]
        for entry in (*decoding, *prefilling):
            if budget and entry in self.running:  # it may have been preempted by one before it
                budget -= self._place(plan, entry, budget)
        self._admit(plan, budget)
        return plan

    def _admit(self, plan: Plan, budget: int) -> None:
        while self.waiting:
            plan.held_by = self._obstacle(plan, budget)
            if plan.held_by:
                return
            entry = self.waiting.popleft()
            self.running.append(entry)
            plan.actions.append(
                Action(
                    event=EngineEvent.scheduled,
                    request=entry.subject,
                    value={
                        "running": len(self.running),
                        "waiting": len(self.waiting),
                        "recompute": entry.preemptions > 0,
                    },
                )
            )
            budget -= self._place(plan, entry, budget)

    def _obstacle(self, plan: Plan, budget: int) -> str | None:
        head = self.waiting[0]
        if len(self.running) >= self._max_batch:
            return "batch"
        if not budget:
            return "budget"
        if plan.preempted:  # who was just put back must not push out another one
            return "blocks"
        if self._reserving:
            promised = sum(self.pool.blocks_for(r.call.longest) for r in self.running)
            fits = promised + self.pool.blocks_for(head.call.longest) <= self.pool.total
        else:
            # The blocks that begun prompts still need are theirs: they came first.
            owed = sum(self.pool.missing(r.request, len(r.tokens)) for r in self.running)
            fits = self.pool.blocks_for(len(head.tokens)) + owed <= self.pool.free
        return None if fits else "blocks"

    def _place(self, plan: Plan, entry: Running, budget: int) -> int:
        count = min(entry.pending, budget)
        missing = self.pool.missing(entry.request, entry.computed + count)
        while missing > self.pool.free:
            victim = self.running[-1]
            self._preempt(plan, victim)
            if victim is entry:
                return 0
        if missing:
            self.pool.take(entry.request, missing)
            plan.actions.append(self._blocks(EngineEvent.kv_taken, entry, missing))
        plan.segments.append(
            Segment(
                running=entry,
                start=entry.computed,
                count=count,
                phase=entry.phase,
                recomputed=max(0, min(entry.computed + count, entry.reached) - entry.computed),
            )
        )
        return count

    def _preempt(self, plan: Plan, victim: Running) -> None:
        self.running.remove(victim)
        self.waiting.appendleft(victim)
        plan.segments = [s for s in plan.segments if s.running is not victim]
        released = self.pool.release(victim.request)
        value = {"computed": victim.computed, "tokens_out": victim.answered, "phase": victim.phase}
        victim.computed = 0
        victim.preemptions += 1
        plan.preempted += 1
        plan.actions.append(
            Action(event=EngineEvent.preempted, request=victim.subject, value=value)
        )
        plan.actions.append(self._blocks(EngineEvent.kv_released, victim, released))

    def _blocks(self, event: EngineEvent, entry: Running, count: int) -> Action:
        value = block_change(self.pool, count, released=event is EngineEvent.kv_released)
        return Action(event=event, request=entry.subject, value=value)


def block_change(pool: BlockPool, count: int, *, released: bool) -> dict[str, Any]:
    """The value of a kv_taken or kv_released event. A returned block is on the free list: it is reusable."""
    value: dict[str, Any] = {"blocks": count, "used": pool.used, "total": pool.total}
    return value | {"level": ReleaseLevel.blocks_reusable.value} if released else value
