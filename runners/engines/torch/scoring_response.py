"""The bodies that vectors and scores are answered in: OpenAI's embeddings, vLLM's score and rerank."""

import base64
import struct
import time
from collections.abc import Sequence
from typing import Any

from runners.engines.torch.scoring_request import EMBEDDINGS, SCORE, AskedVectors, cosines

_PREFIX = {EMBEDDINGS: "embd", SCORE: "score"}


def reply(asked: AskedVectors, vectors: Sequence[Sequence[float]], *, model: str) -> dict[str, Any]:
    """The whole reply for the vectors of the call's texts, in their order."""
    document = {
        "id": f"{_PREFIX.get(asked.kind, 'rerank')}-{asked.call.request}",
        "model": model,
        "usage": usage(asked),
    }
    if asked.kind == EMBEDDINGS:
        data = [
            {"object": "embedding", "index": index, "embedding": _encoded(vector, asked.encoding)}
            for index, vector in enumerate(vectors)
        ]
        return {**document, "object": "list", "created": int(time.time()), "data": data}
    scores = cosines(vectors[: asked.queries], vectors[asked.queries :])
    if asked.kind == SCORE:
        data = [{"object": "score", "index": i, "score": s} for i, s in enumerate(scores)]
        return {**document, "object": "list", "created": int(time.time()), "data": data}
    best = sorted(range(len(scores)), key=lambda index: -scores[index])[: asked.top_n]
    return {
        **document,
        "results": [
            {
                "index": index,
                "document": {"text": asked.texts[index]},
                "relevance_score": scores[index],
            }
            for index in best
        ],
    }


def usage(asked: AskedVectors) -> dict[str, Any]:
    tokens = asked.call.prompt_tokens
    return {
        "prompt_tokens": tokens,
        "total_tokens": tokens,
        "completion_tokens": 0,
        "prompt_tokens_details": {"cached_tokens": 0},  # there is no prefix cache
    }


def _encoded(vector: Sequence[float], encoding: str) -> Any:
    """Floats, or the base64 text of their little-endian float32 bytes."""
    if encoding == "float":
        return list(vector)
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode("ascii")
