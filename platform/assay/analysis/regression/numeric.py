"""Whether a deterministic mode still is one: the same token ids as before, request by request.

A check of its own: no spread, no fresh starts, no share of requests. One token that differs is a regression,
however steady the statistics are, and a comparison that could not be made is no pass.
"""

from assay.analysis.errors import ClaimRefused
from assay.analysis.regression.answers import Answer
from assay.analysis.repetition.comparison import Repetition, Setting, Verdict, check_comparable
from assay.analysis.repetition.levels import numeric

# How a schedule names it among the metrics it watches.
RULE, STATISTIC = "outputs.token_ids", "equal"


def numeric_check(first: Setting, again: Setting, found: Repetition) -> tuple[Answer, str]:
    """``first`` is the reference of the segment. The answer is one of the closed list, with its reason."""
    try:
        check_comparable(first, again)
    except ClaimRefused as refused:
        return Answer.not_comparable, str(refused.finding)
    parted = next((c for c in found.requests if c.verdict is Verdict.different), None)
    if parted is not None:
        different = found.count(Verdict.different)
        words = f"{different} of {len(found.requests)} requests have other token ids"
        return Answer.confirmed, f"{words}; {parted.request} parts at token {parted.at}"
    try:
        return Answer.ok, numeric(first, again, found).words
    except ClaimRefused as refused:
        return Answer.missing, str(refused.finding)
