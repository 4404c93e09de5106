"""Which attempts are tries of one request, or belong to one task: grouped by their ids, in columns."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.analysis.columns import Places, number, texts
from assay.analysis.wire.attempt import Attempt


@dataclass(frozen=True, slots=True)
class Tries:
    """Attempts in the order of their requests, and of each request's in the order in which they were made.

    ``order`` are their places among those given, ``first`` the place in that order at which each request
    begins, ``number`` each one's number among the tries of its request, from 0.
    """

    order: Places
    first: Places
    number: Places

    @property
    def last(self) -> Places:
        """The place in the order at which each request ends."""
        return np.append(self.first[1:], len(self.order))[: len(self.first)] - 1


def request_codes(attempts: Sequence[Attempt]) -> Places:
    """A number for the request of each attempt; one without a request is its own."""
    named, is_named = texts(attempts, "request_id")
    own, _ = texts(attempts, "attempt_id")
    return _codes(np.where(is_named & (named != _EMPTY), named, own))


def tries_of(attempts: Sequence[Attempt]) -> Tries:
    codes = request_codes(attempts)
    starts, known = number(attempts, "start_ns")
    order = np.lexsort((starts, ~known, codes))
    first = np.flatnonzero(np.diff(codes[order], prepend=-1))
    sizes = np.diff(np.append(first, len(order)))
    return Tries(order, first, np.arange(len(order)) - np.repeat(first, sizes))


def by_task(attempts: Sequence[Attempt]) -> Iterator[tuple[str, Sequence[Attempt]]]:
    """Each task id with its attempts, in order of first appearance; attempts without one have no task."""
    names, known = texts(attempts, "task_id")
    at = np.flatnonzero(known)
    if not len(at):
        return
    codes = _codes(names[at])
    _, first = np.unique(codes, return_index=True)
    appearance = np.argsort(np.argsort(first))[codes]
    order = np.argsort(appearance, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(appearance[order])) + 1, len(order))
    start, places = 0, at[order].tolist()
    for end in ends.tolist():
        own = [attempts[place] for place in places[start:end]]
        yield own[0].ids.task_id or "", own
        start = end


def _codes(names: NDArray[np.bytes_]) -> Places:
    found: Places = np.unique(names, return_inverse=True)[1]
    return found


_EMPTY = b"\1"  # a text of no character, as ``texts`` gives it
