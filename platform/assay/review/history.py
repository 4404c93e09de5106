"""The reviews, threads and notes of one bundle as a document that an export carries beside it."""

import json
from typing import Any

from assay.ledger.models import Bundle
from assay.review.models import Comment, ForeignHistory, Note, Review, Thread
from experiments.identity import canonical

NAME = "review.json"
FORM = 1


def written(digest: str) -> bytes:
    """Canonical JSON: the same history always gives the same bytes."""
    return canonical(history_of(digest))


def history_of(digest: str) -> dict[str, Any]:
    """What was said here of the run that this bundle is of, and what was brought along from elsewhere."""
    bundle = Bundle.objects.filter(digest=digest).first()
    reviews = Review.objects.filter(subjects__bundle=digest).order_by("created_at")
    threads = Thread.objects.none()
    notes = Note.objects.none()
    if bundle is not None and bundle.run_id is not None:
        threads = Thread.objects.filter(run=bundle.run_id).order_by("at", "pk")
        notes = Note.objects.filter(run=bundle.run_id).select_related("by").order_by("at", "pk")
    brought = ForeignHistory.objects.filter(bundle=digest).order_by("pk")
    return {
        "form": FORM,
        "bundle_digest": digest,
        "reviews": [_review(r) for r in reviews.select_related("author")],
        "threads": [_thread(t) for t in threads],
        "notes": [
            {"by": n.by.get_username(), "at": n.at.isoformat(), "text": n.text} for n in notes
        ],
        "brought": [json.dumps(b.document, sort_keys=True, ensure_ascii=False) for b in brought],
    }


def _review(review: Review) -> dict[str, Any]:
    sign_off = getattr(review, "sign_off", None)
    return {
        "review": str(review.id),
        "title": review.title,
        "statement": review.statement,
        "author": review.author.get_username(),
        "submitted_at": review.created_at.isoformat(),
        "state": review.state,
        "runs": [
            {
                "run": str(s.run_id),
                "bundle_digest": s.bundle_id,
                "definition_version": s.definition_version,
            }
            for s in review.subjects.order_by("pk")
        ],
        "accepted_gaps": [
            {"what": g.what, "reason": g.reason, "by": g.by.get_username(), "at": g.at.isoformat()}
            for g in review.accepted_gaps.select_related("by").order_by("pk")
        ],
        "checklist": [
            {
                "key": i.key,
                "requirement": i.requirement,
                "question": i.question,
                "automatic": i.automatic,
                "evidence": i.evidence,
                "answers": [
                    {
                        "answer": a.answer,
                        "note": a.note,
                        "by": a.by.get_username(),
                        "at": a.at.isoformat(),
                    }
                    for a in i.answers.select_related("by").order_by("pk")
                ],
            }
            for i in review.items.order_by("position")
        ],
        "audit": [
            {
                "at": e.at.isoformat(),
                "by": e.by.get_username(),
                "step": e.step,
                "before": e.before,
                "after": e.after,
                "about": e.about,
                "words": e.words,
            }
            for e in review.audit.select_related("by").order_by("pk")
        ],
        "threads": [_thread(t) for t in review.threads.order_by("at", "pk")],
        "sign_off": None
        if sign_off is None
        else {"digest": sign_off.digest, "at": sign_off.at.isoformat()},
    }


def _thread(thread: Thread) -> dict[str, Any]:
    return {
        "kind": thread.kind,
        "key": thread.key,
        "comments": [_comment(c) for c in thread.comments.select_related("by").order_by("pk")],
    }


def _comment(comment: Comment) -> dict[str, Any]:
    return {
        "by": comment.by.get_username(),
        "at": comment.at.isoformat(),
        "kind": comment.kind,
        "text": comment.text,
    }
