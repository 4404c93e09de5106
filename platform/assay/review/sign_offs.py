"""What a sign-off freezes: the statement, the bundles and the reading of each, and who stands for it."""

import hashlib
from typing import Any

from assay.review.models import Review
from experiments.identity import canonical

FORM = 1


def frozen(review: Review, *, signed_by: str, words: str) -> tuple[dict[str, Any], str]:
    """The document and the sha256 of its canonical bytes."""
    subjects = review.subjects.order_by("run_id")
    gaps = review.accepted_gaps.select_related("by").order_by("what")
    approvals = review.verdicts.filter(kind="approve").select_related("by").order_by("at")
    document = {
        "form": FORM,
        "review": str(review.id),
        "title": review.title,
        "statement": review.statement,
        "author": review.author.get_username(),
        "signed_by": signed_by,
        "words": words,
        "runs": [
            {
                "run": str(s.run_id),
                "bundle_digest": s.bundle_id,
                "definition_version": s.definition_version,
                "interpretation_digest": s.interpretation_digest,
            }
            for s in subjects
        ],
        "accepted_gaps": [
            {"what": g.what, "reason": g.reason, "by": g.by.get_username()} for g in gaps
        ],
        "approved_by": sorted({v.by.get_username() for v in approvals}),
    }
    return document, digest_of(document)


def digest_of(document: dict[str, Any]) -> str:
    return hashlib.sha256(canonical(document)).hexdigest()
