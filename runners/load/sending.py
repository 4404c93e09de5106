"""When the requests that the load paces are sent.

Open loop: each has an absolute deadline. One that is late goes out at once and in order; none is dropped or
moved. Closed loop: a slot sends its next request when the previous one ended (and its think time is over).
"""

import time
from bisect import bisect_right
from typing import Protocol

from runners.load.course import Course
from runners.load.limits import StopReason
from runners.load.pace import ClosedLoop, OpenLoop
from runners.load.stop_rules import Stop

_now = time.monotonic_ns

NO_SLOT = -1


class Sending(Protocol):
    def start(self) -> None:
        """Send what is due at the origin of the course, and see to the rest."""

    def slot_is_free(self, slot: int, ended_ns: int, *, after: str) -> None:
        """Nothing of the group that this slot sent is open or to come; ``after`` is its last request."""

    def look(self, now_ns: int) -> None:
        """Called twenty times a second."""


def sending(plan: OpenLoop | ClosedLoop, course: Course) -> Sending:
    if isinstance(plan, OpenLoop):
        return OpenSending(plan, course)
    return ClosedSending(plan, course)


class OpenSending:
    def __init__(self, plan: OpenLoop, course: Course) -> None:
        self._plan = plan
        self._course = course
        self._next = 0

    def start(self) -> None:
        self._send_due()

    def slot_is_free(self, slot: int, ended_ns: int, *, after: str) -> None:
        """An open loop waits for no end."""

    def look(self, now_ns: int) -> None:
        course = self._course
        due = bisect_right(self._plan.offsets_ns, now_ns - course.origin_ns)
        waiting = max(due - self._next, 0)
        course.stop(course.rules.tick(now_ns, due=course.created + course.regenerated + waiting))

    def _send_due(self) -> None:
        """Everything whose time has come, in order; then wait for the next deadline."""
        plan, course = self._plan, self._course
        while self._next < len(plan.requests) and not course.is_ending:
            due_ns = course.origin_ns + plan.offsets_ns[self._next]
            if due_ns > _now():
                course.deadlines.at(due_ns, self._send_due)
                return
            request = plan.requests[self._next]
            self._next += 1
            course.send_root(request, NO_SLOT, scheduled_ns=due_ns, due_ns=due_ns)
        course.all_roots_are_sent()


class ClosedSending:
    def __init__(self, plan: ClosedLoop, course: Course) -> None:
        self._plan = plan
        self._course = course

    def start(self) -> None:
        if self._plan.stages:
            self._enter_stage(self._course.origin_ns)
            return
        for slot in self._plan.slots:
            self._take_next(slot, None)

    def slot_is_free(self, slot: int, ended_ns: int, *, after: str) -> None:
        think_ns = self._plan.think.ns(after)
        due_ns = ended_ns + think_ns
        if think_ns:
            self._course.deadlines.at(due_ns, self._take_next, slot, due_ns)
        else:
            self._take_next(slot, due_ns)

    def look(self, now_ns: int) -> None:
        """A closed loop has no backlog to look at."""

    def _enter_stage(self, start_ns: int) -> None:
        """Stages begin at absolute times: each at the end of the one before it, however late this call is."""
        plan, course = self._plan, self._course
        if course.is_ending or course.drain_start_ns is not None:
            return
        stage = plan.next_stage
        if stage is None:
            seen = f"the last of {len(plan.stages)} stages was over"
            course.stop(Stop(reason=StopReason.profile_done, seen=seen))
            return
        if stage.duration_ns is not None:
            end_ns = start_ns + stage.duration_ns
            course.deadlines.at(end_ns, self._enter_stage, end_ns)
        for slot in plan.enter(stage, start_ns):
            self._take_next(slot, start_ns)

    def _take_next(self, slot: int, due_ns: int | None) -> None:
        plan, course = self._plan, self._course
        if course.is_ending or plan.parks(slot):
            return
        request = plan.take(slot)
        if request is None:
            course.all_roots_are_sent()
            return
        course.send_root(request, slot, due_ns=due_ns)
        if plan.stage_is_full():
            self._enter_stage(_now())
