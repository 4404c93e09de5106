"""What the end of an attempt brings: its next try, the requests that follow from it, or its slot's next."""

import time

from runners.load.attempt import Attempt
from runners.load.course import Course
from runners.load.followers import Due
from runners.load.report import Tally
from runners.load.retry import Retries
from runners.load.sending import Sending

_now = time.monotonic_ns


class Ending:
    """Told of every attempt that ended; ``tally`` counts them."""

    def __init__(self, course: Course, sending: Sending, *, tally: Tally, retries: Retries) -> None:
        self._course = course
        self._sending = sending
        self._tally = tally
        self._retries = retries

    def ended(self, attempt: Attempt) -> None:
        course = self._course
        slot = course.open.pop(attempt)
        self._tally.add(attempt)
        if course.over.done():
            return
        ended_ns = attempt.ended_ns or _now()
        wait_s = self._retries.wait_s(attempt, ended_ns=ended_ns, first_tries=course.created)
        if wait_s is not None and course.stopped is None:
            course.deadlines.at(ended_ns + round(wait_s * 1e9), self._try_again, attempt, slot)
            return
        course.done += 1
        course.stop(course.rules.ended(attempt.end, attempt.status))
        if self._follow(attempt, slot):
            self._sending.slot_is_free(slot, ended_ns, after=attempt.request.request_id)
        course.finish_if_done()

    def _try_again(self, failed: Attempt, slot: int) -> None:
        course = self._course
        if course.stopped is not None:
            course.done += 1
            course.finish_if_done()
        elif not course.over.done():
            course.send(failed.request, slot, number=failed.number + 1)

    def _follow(self, attempt: Attempt, slot: int) -> bool:
        """Send what follows from this end; whether the slot is free: nothing of its group is to come."""
        course = self._course
        if course.followers is None:
            return True
        after = course.followers.ended(attempt)
        course.lost += after.not_created
        for due in after.due:
            if due.due_ns > _now():
                course.deadlines.at(due.due_ns, self._send_follower, due, slot)
            else:
                self._send_follower(due, slot)
        course.drain_if_all_is_sent()
        return after.is_over

    def _send_follower(self, due: Due, slot: int) -> None:
        course = self._course
        if course.is_ending:
            return
        if course.followers is not None and course.followers.sent(due.request):
            course.created += 1
        else:
            course.regenerated += 1
        course.send(due.request, slot, due_ns=due.due_ns)
        course.drain_if_all_is_sent()
