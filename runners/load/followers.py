"""Requests that follow others: when and with what body they go.

The leader of a group is paced by the load, other roots of its task go with the leader, and the rest follow.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runners.load.assembly import filled, needs_replies
from runners.load.attempt import Attempt
from runners.load.groups import End, Group, end_of
from runners.load.lags import LagSeries
from runners.load.regeneration import asked_again
from runners.load.replies import KeptReads
from runners.load.requests import PreparedRequest, with_messages
from runners.protocol.answer_form import load_schema_library
from runners.protocol.manifest import canonical

_now = time.monotonic_ns

Prompts = Mapping[str, Mapping[str, Any]]
Make = Callable[[Sequence[Mapping[str, Any]]], list[PreparedRequest]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A request to be sent at ``due_ns``; its body is whole."""

    request: PreparedRequest
    due_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class After:
    """What follows from the end of a request. ``is_over``: nothing of its group is open or to come."""

    due: tuple[Due, ...]
    regenerations: int  # of ``due``, those that are no part of the plan
    not_created: int
    is_over: bool


def has_structure(row: Mapping[str, Any]) -> bool:
    """Whether a row of the plan is more than a request on its own whose reply nobody needs."""
    return bool(row.get("step") or row.get("after") or row.get("on_reply"))


class Followers:
    """``roots`` are the leaders, for the pace. ``record`` takes rows of ``tables.SENT_INPUTS``."""

    def __init__(
        self,
        requests: Sequence[PreparedRequest],
        prompts: Prompts,
        *,
        make: Make,
        record: Callable[[tuple[Any, ...]], None],
    ) -> None:
        self._prompts = prompts
        self._make = make
        self._record = record
        self._group_of: dict[str, Group] = {}
        self._with: dict[str, list[PreparedRequest]] = {}
        self._heard_of: set[str] = set()  # requests whose reply another one holds
        self._asked: dict[str, tuple[str, int]] = {}  # regeneration -> the plan's request, how many
        self._messages: dict[str, str] = {}  # of live requests that may be asked again
        self.roots: list[PreparedRequest] = []
        self.unsent = 0  # planned requests that still may follow
        self.not_created_why: Counter[str] = Counter()
        self.assembly = LagSeries("making a body that holds replies of the run")
        self._arrange(requests)

    def together_with(self, leader: PreparedRequest) -> list[PreparedRequest]:
        """Roots of the same task, which are sent when the leader is."""
        return self._with.get(leader.request_id, [])

    def kept_reads(self, request: PreparedRequest) -> KeptReads | None:
        """Where the reads of an attempt of this request are kept too, if its reply is needed."""
        base = self._asked.get(request.request_id, (request.request_id, 0))[0]
        needed = base in self._heard_of or request.row.get("on_reply") is not None
        return KeptReads() if needed else None

    def ended(self, attempt: Attempt) -> After:
        """Take the final end of a request (of its last try)."""
        request = attempt.request
        base, tries = self._asked.get(request.request_id, (request.request_id, 0))
        group = self._group_of[base]
        end = end_of(attempt)
        again = asked_again(request, end.heard, tries=tries) if end.is_completed else None
        if again is not None:
            return self._ask_again(request, again.row, base, tries + 1, end, again.problem)
        group.open -= 1
        group.ends[base] = end
        settled = group.settle()
        self.not_created_why.update(settled.lost)
        self.unsent -= len(settled.lost)
        due = tuple(self._ready(group, request) for request in settled.ready)
        group.open += len(due)
        return After(due=due, regenerations=0, not_created=len(settled.lost), is_over=group.is_over)

    def sent(self, request: PreparedRequest) -> bool:
        """Note that a follower goes out now; whether it is one of the plan (a regeneration is not)."""
        is_planned = request.request_id not in self._asked
        self.unsent -= is_planned
        return is_planned

    # Before the drive

    def _arrange(self, requests: Sequence[PreparedRequest]) -> None:
        leaders: dict[str, str] = {}  # task -> its leading root
        for request in requests:
            row = request.row
            if request.on_reply is not None:
                load_schema_library()
            after = list(row.get("after") or ())
            if after:
                group = self._group_of[after[0]]
                group.waiting[request.request_id] = request
                self.unsent += 1
                if self._is_live(request):
                    self._heard_of.update(after)
            elif (leader := leaders.get(row["task_id"])) is not None:
                group = self._group_of[leader]
                group.open += 1
                self._with.setdefault(leader, []).append(request)
            else:
                leaders[row["task_id"]] = request.request_id
                group = Group(open=1)
                self.roots.append(request)
            self._group_of[request.request_id] = group

    def _is_live(self, request: PreparedRequest) -> bool:
        return needs_replies(str(self._prompts[request.row["prompt_ref"]]["messages"]))

    # While it goes

    def _ready(self, group: Group, request: PreparedRequest) -> Due:
        row, start_ns = request.row, _now()
        ends = [group.ends.get(name) for name in row["after"]]
        ready_ns = max(end.ended_ns for end in ends if end is not None)
        due_ns = ready_ns + (row["after_delay_ns"] or 0)
        messages = str(self._prompts[row["prompt_ref"]]["messages"])
        if not self._is_live(request):
            return Due(request=request, due_ns=due_ns)
        heard = [end.heard if end is not None and end.is_completed else None for end in ends]
        text = canonical(filled(messages, heard)).decode()
        whole = with_messages(request, text)
        if row.get("on_reply"):
            self._messages[request.request_id] = text
        replies = [name for name, one in zip(row["after"], heard, strict=True) if one is not None]
        call = next((h for h in heard if h is not None and h.call_source), None)
        self._write(
            row,
            start_ns,
            messages=text,
            ready_ns=ready_ns,
            due_ns=due_ns,
            replies_of=replies,
            call_source=call.call_source if call else None,
            detail=call.detail if call else None,
        )
        return Due(request=whole, due_ns=due_ns)

    def _ask_again(
        self,
        request: PreparedRequest,
        row: Mapping[str, Any],
        base: str,
        tries: int,
        end: End,
        problem: str,
    ) -> After:
        start_ns = _now()
        self._asked[row["request_id"]] = (base, tries)
        self._group_of[row["request_id"]] = self._group_of[base]
        (again,) = self._make([row])
        text = self._messages.get(base)
        if text is not None:
            again = with_messages(again, text)
        self._write(
            row,
            start_ns,
            messages=text or str(self._prompts[row["prompt_ref"]]["messages"]),
            ready_ns=end.ended_ns,
            due_ns=end.ended_ns,
            replies_of=[],
            regeneration_of=base,
            detail=problem,
        )
        due = Due(request=again, due_ns=end.ended_ns)
        return After(due=(due,), regenerations=1, not_created=0, is_over=False)

    def _write(
        self,
        row: Mapping[str, Any],
        start_ns: int,
        *,
        messages: str,
        ready_ns: int,
        due_ns: int,
        replies_of: list[str],
        regeneration_of: str | None = None,
        call_source: str | None = None,
        detail: str | None = None,
    ) -> None:
        done_ns = _now()
        self.assembly.add(done_ns - start_ns)
        ids = (row["request_id"], row["task_id"], row["session_id"], row["model_call_id"])
        times = (ready_ns, due_ns, done_ns, done_ns - start_ns)
        made = (row["step"], regeneration_of, replies_of)
        self._record((*ids, *made, *times, messages, call_source, detail, *(None,) * 5))
