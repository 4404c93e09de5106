"""A review as machines read it: what the command line prints, and the API serves."""

from typing import TypedDict

from assay.review.models import Review
from assay.review.process import STALE, State
from assay.review.situation import outdated_reviews, situation_of, unanswered_items


class ListedReview(TypedDict):
    review: str
    title: str
    state: str  # ``stale`` for a sign-off that its runs have left behind
    author: str
    submitted_at: str
    awaited: str | None  # from whoever asks: verdict | sign-off | answer


class ReviewedRun(TypedDict):
    run: str
    bundle_digest: str
    definition_version: str


class OpenItem(TypedDict):
    key: str
    requirement: str
    question: str
    automatic: str | None
    evidence: list[str]


class GivenVerdict(TypedDict):
    by: str
    kind: str
    statement: str
    round: int
    at: str


class AcceptedGap(TypedDict):
    what: str
    reason: str
    by: str
    at: str


class Signed(TypedDict):
    by: str
    at: str
    digest: str
    words: str


class ReviewDocument(TypedDict):
    review: str
    title: str
    statement: str
    state: str
    author: str
    submitted_at: str
    round: int
    runs: list[ReviewedRun]
    reviewers: list[str]
    open_gaps: list[str]
    accepted_gaps: list[AcceptedGap]
    unanswered: list[OpenItem]
    verdicts: list[GivenVerdict]
    outdated: str | None
    supersedes: str | None
    sign_off: Signed | None


def listed(review: Review, *, awaited: str | None) -> ListedReview:
    """``review`` comes from ``queries.with_shown_state``."""
    return {
        "review": str(review.id),
        "title": review.title,
        "state": review.shown_state,  # type: ignore[attr-defined]
        "author": review.author.get_username(),
        "submitted_at": review.created_at.isoformat(),
        "awaited": awaited,
    }


def described(review: Review) -> ReviewDocument:
    now = situation_of(review)
    stale = review.state == State.signed_off and bool(outdated_reviews([review.id]))
    accepted = review.accepted_gaps.select_related("by").order_by("pk")
    verdicts = review.verdicts.select_related("by").order_by("pk")
    return {
        "review": str(review.id),
        "title": review.title,
        "statement": review.statement,
        "state": STALE if stale else review.state,
        "author": review.author.get_username(),
        "submitted_at": review.created_at.isoformat(),
        "round": review.round,
        "runs": [
            {
                "run": str(s.run_id),
                "bundle_digest": s.bundle_id,
                "definition_version": s.definition_version,
            }
            for s in review.subjects.order_by("pk")
        ],
        "reviewers": list(review.reviewers.order_by("pk").values_list("user__username", flat=True)),
        "open_gaps": sorted(now.open_gaps),
        "accepted_gaps": [
            {"what": g.what, "reason": g.reason, "by": g.by.get_username(), "at": g.at.isoformat()}
            for g in accepted
        ],
        "unanswered": [
            {
                "key": item.key,
                "requirement": item.requirement,
                "question": item.question,
                "automatic": item.automatic or None,
                "evidence": list(item.evidence),
            }
            for item in unanswered_items(review)
        ],
        "verdicts": [
            {
                "by": v.by.get_username(),
                "kind": v.kind,
                "statement": v.statement,
                "round": v.round,
                "at": v.at.isoformat(),
            }
            for v in verdicts
        ],
        "outdated": now.outdated or None,
        "supersedes": str(review.supersedes_id) if review.supersedes_id else None,
        "sign_off": _signed(review),
    }


def _signed(review: Review) -> Signed | None:
    sign_off = getattr(review, "sign_off", None)
    if sign_off is None:
        return None
    return {
        "by": sign_off.by.get_username(),
        "at": sign_off.at.isoformat(),
        "digest": sign_off.digest,
        "words": sign_off.document["words"],
    }
