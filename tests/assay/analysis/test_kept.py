"""Attempts in columns read like the attempts they were taken from; their words are gone."""

from typing import Any

import numpy as np
import pytest

from assay.analysis.columns import kept_some
from assay.analysis.kept import KeptAttempt, KeptAttempts, KeptIds, KeptReply
from assay.analysis.shelf import HeldColumn
from assay.analysis.stretches import Stretches, blocks, gathered
from assay.analysis.wire.attempt import Attempt
from tests.assay.analysis.streams import DONE, attempts, delta, read, row, usage


def several() -> list[Attempt]:
    """One that completed, one that was cut, one rejected, one of which nothing is known."""
    return attempts(
        row("sent", 1, "a", request_id="r", task_id="t", session_id="s"),
        read(5, delta(role="assistant"), "a"),
        read(10, delta("one", ids=[1]), "a"),
        read(20, delta(" two", ids=[2], finish="stop") + usage(2, 7) + DONE, "a"),
        row("closed", 21, "a", status=200),
        row("sent", 2, "b", request_id="推", retry_of="a"),
        read(30, delta("x"), "b"),
        row("error", 31, "b", detail="transport: reset"),
        row("sent", 3, "c"),
        row("headers", 4, "c", status=503),
        row("closed", 5, "c"),
        row("scheduled", 6, "d"),
    )


def public(view: type) -> list[str]:
    names = [n for n in dir(view) if not n.startswith("_") and n not in ("kept", "place")]
    return [n for n in names if n not in ("ids", "reply")]


def said(attempt: Any) -> dict[str, Any]:
    """Everything that a view can be asked for."""
    found = {name: getattr(attempt, name) for name in public(KeptAttempt)}
    found |= {f"ids.{name}": getattr(attempt.ids, name) for name in public(KeptIds)}
    return found | {f"reply.{name}": getattr(attempt.reply, name) for name in public(KeptReply)}


def test_a_view_says_what_the_attempt_said() -> None:
    kept = KeptAttempts.of(several())

    assert [said(a) for a in kept] == [said(a) for a in several()]
    assert said(kept[-1]) == said(several()[-1])
    assert [a.attempt_id for a in kept[1:3]] == ["b", "c"]


def test_batches_one_after_the_other_are_all_attempts_at_once() -> None:
    # The second batch codes its states and failures in another order than the first.
    first, second = several(), several()[::-1]

    kept = KeptAttempts.of(first)
    kept.extend(KeptAttempts.of(second))
    kept.extend(KeptAttempts())

    assert [said(a) for a in kept] == [said(a) for a in first + second]


def test_words_are_gone() -> None:
    (kept, *_) = KeptAttempts.of(several())

    with pytest.raises(AttributeError):
        _ = kept.reply.text


def test_attempts_that_were_kept_know_their_places() -> None:
    kept = KeptAttempts.of(several())

    some = kept_some([kept[2], kept[0]])
    found, places = some.kept, some.places

    assert found is kept
    assert places.tolist() == [2, 0]


@pytest.mark.parametrize("apart", [0, 10_000])
def test_numbers_of_several_attempts_are_read_together_or_apart(apart: int) -> None:
    # Three attempts of 2, 0 and 3 numbers; the last one lies ``apart`` numbers behind.
    column = HeldColumn("q")
    column.extend(np.array([1, 2, *[0] * apart, 3, 4, 5]))
    where = Stretches(np.array([0, 2, 2 + apart]), np.array([2, 0, 3]))

    assert gathered(column, where).tolist() == [1, 2, 3, 4, 5]
    assert gathered(column, where.part(1, 2)).tolist() == []
    backwards = Stretches(where.starts[::-1], where.counts[::-1])
    assert gathered(column, backwards).tolist() == [3, 4, 5, 1, 2]


def test_a_block_ends_with_an_attempt() -> None:
    # At most about 4 numbers: 2 + 3 reach them, then 1 + 0 + 5, and 2 are left.
    counts = np.array([2, 3, 1, 0, 5, 2])

    assert list(blocks(counts, most=4)) == [(0, 2), (2, 5), (5, 6)]
    assert list(blocks(np.array([0, 0]))) == [(0, 2)]
