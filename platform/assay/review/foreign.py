"""Takes in the history that an imported archive brings: checked against a schema, kept whole, only read.

Nothing in it is an approval here: no review, verdict or sign-off is made from it.
"""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import jsonschema
from django.contrib.auth.models import User

from assay.ledger.models import Bundle
from assay.review.history import FORM, NAME
from assay.review.models import ForeignHistory
from experiments.errors import Refusal, refuse


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A checked history with the digest of the bytes it came as."""

    document: dict[str, Any]
    digest: str


def _closed(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _rows(of: dict[str, Any], most: int = 2_000) -> dict[str, Any]:
    return {"type": "array", "items": of, "maxItems": most}


_WORD: dict[str, Any] = {"type": "string", "maxLength": 300}
_TEXT: dict[str, Any] = {"type": "string", "maxLength": 20_000}
_DIGEST: dict[str, Any] = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_THREADS = _rows(
    _closed(
        kind=_WORD,
        key=_TEXT,
        comments=_rows(_closed(by=_WORD, at=_WORD, kind=_WORD, text=_TEXT)),
    )
)
_REVIEW = _closed(
    review=_WORD,
    title=_WORD,
    statement=_TEXT,
    author=_WORD,
    submitted_at=_WORD,
    state=_WORD,
    runs=_rows(_closed(run=_WORD, bundle_digest=_DIGEST, definition_version=_WORD)),
    accepted_gaps=_rows(_closed(what=_TEXT, reason=_TEXT, by=_WORD, at=_WORD)),
    checklist=_rows(
        _closed(
            key=_WORD,
            requirement=_WORD,
            question=_TEXT,
            automatic=_WORD,
            evidence=_rows(_TEXT),
            answers=_rows(_closed(answer=_WORD, note=_TEXT, by=_WORD, at=_WORD)),
        )
    ),
    audit=_rows(
        _closed(at=_WORD, by=_WORD, step=_WORD, before=_WORD, after=_WORD, about=_TEXT, words=_TEXT)
    ),
    threads=_THREADS,
    sign_off={"anyOf": [{"type": "null"}, _closed(digest=_DIGEST, at=_WORD)]},
)
SCHEMA = _closed(
    form={"const": FORM},
    bundle_digest=_DIGEST,
    reviews=_rows(_REVIEW, 200),
    threads=_THREADS,
    notes=_rows(_closed(by=_WORD, at=_WORD, text=_TEXT)),
    brought=_rows({"type": "string", "maxLength": 4 * 2**20}, 20),
)


def parsed(content: bytes, *, bundle_digest: str) -> History:
    """What it says, if it is a history of that very bundle. Raises Refusal."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise _refused(str(error)[:200]) from error
    wrong = next(jsonschema.Draft202012Validator(SCHEMA).iter_errors(document), None)
    if wrong is not None:
        where = "/".join(str(part) for part in wrong.absolute_path) or "document"
        raise _refused(f"{where}: {wrong.message[:200]}")
    if document["bundle_digest"] != bundle_digest:
        raise _refused(f"a history of bundle {document['bundle_digest']}")
    return History(document=document, digest=hashlib.sha256(content).hexdigest())


def keep(history: History, bundle: Bundle, *, user: User) -> ForeignHistory:
    """Safe to call twice: the same bytes are kept once."""
    kept, _ = ForeignHistory.objects.get_or_create(
        bundle=bundle,
        digest=history.digest,
        defaults={"document": history.document, "by": user},
    )
    return kept


def _refused(seen: str) -> Refusal:
    return refuse(
        field=NAME,
        seen=seen,
        allowed="a history that `assay export --with-review` wrote of this bundle",
        remedy="Export it again, or without --with-review; nothing was imported.",
    )
