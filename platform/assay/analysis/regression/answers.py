"""What a regression check may answer. A closed list: whatever is not here was not checked."""

from enum import StrEnum


class Answer(StrEnum):
    ok = "ok"  # within the baseline's spread
    suspected = "suspected"  # beyond it, and not confirmed by fresh starts yet
    confirmed = "confirmed"  # worse, shown by fresh starts
    improved = "improved"  # better, shown by fresh starts
    insufficient = "insufficient"  # too few starts to know the spread
    missing = "missing"  # no run, or the metric vanished from it
    failed = "failed"  # the run ended without a result
    invalid = "invalid"  # it ran, and its own checks say that its numbers do not count
    not_comparable = "not comparable"  # it differs in more than the declared variable
    client_limited = "client limited"  # the load client, not the engine, set the pace


# Nothing was shown to be as it was: an empty or skipped check is never a pass.
NEVER_GREEN = frozenset(
    {
        Answer.insufficient,
        Answer.missing,
        Answer.failed,
        Answer.invalid,
        Answer.not_comparable,
        Answer.client_limited,
    }
)
GREEN = frozenset({Answer.ok, Answer.improved})


class Better(StrEnum):
    """Which direction of a metric is the better one."""

    less = "less"
    more = "more"


def worded(better: Better, change: float) -> Answer:
    """A confirmed change of that sign, as an answer."""
    is_better = change < 0 if better is Better.less else change > 0
    return Answer.improved if is_better else Answer.confirmed
