"""Replies of calls that produce no tokens: vectors, scores and rankings, each one JSON document.

The forms are OpenAI's for embeddings and those of vLLM, Cohere and Jina for the others. Nothing of such a
reply is content in the sense of a stream: it has no first token, and it is complete when its document is.
"""

from dataclasses import dataclass
from typing import Any

from experiments.schema.workload import CallType

_KIND_OF = {"embedding": CallType.embedding, "score": CallType.score}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """``items`` vectors, scores or ranked documents came; ``dimensions`` of a vector given as floats."""

    call_type: CallType
    items: int
    dimensions: int | None = None


def read_scored(document: Any) -> Scored | None:
    """What the document answers, or None if it is no reply of this sort."""
    if not isinstance(document, dict):
        return None
    results = document.get("results")
    if isinstance(results, list) and all(_is_ranked(entry) for entry in results):
        return Scored(call_type=CallType.rerank, items=len(results))
    data = document.get("data")
    if not isinstance(data, list) or not data:
        return None
    kinds = {entry.get("object") if isinstance(entry, dict) else None for entry in data}
    kind = _KIND_OF.get(str(kinds.pop())) if len(kinds) == 1 else None
    if kind is None:
        return None
    vector = data[0].get("embedding")
    is_plain = kind is CallType.embedding and isinstance(vector, list)
    return Scored(call_type=kind, items=len(data), dimensions=len(vector) if is_plain else None)


def _is_ranked(entry: Any) -> bool:
    score = entry.get("relevance_score") if isinstance(entry, dict) else None
    return isinstance(score, int | float) and not isinstance(score, bool)
