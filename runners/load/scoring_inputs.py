"""Inputs of calls that produce no tokens: texts to embed, a query with documents, a text with others.

Each text is written at its exact length by the pinned tokenizer, without a chat template. The plan's count is
the sum over the texts; a server that joins a query and a document into one input counts otherwise.
"""

from collections.abc import Mapping
from typing import Any

from runners.load.prompts import Prompt, PromptWriter

EMBEDDING, RERANK, SCORE = "embedding", "rerank", "score"


def scoring_prompt(
    writer: PromptWriter, workload: Mapping[str, Any], input_tokens: int, *, where: str
) -> Prompt:
    """One request of the workload's call type; its ``messages`` are the members of the body."""
    rule, kind = workload["scoring"], str(workload["call_type"])
    texts = [writer.write(input_tokens, where=where) for _ in range(rule["items"])]
    items = [text.messages for text in texts]
    if kind == EMBEDDING:
        return _joined({"input": items}, texts)
    query = writer.write(rule["query_tokens"], where="workload.scoring.query_tokens")
    if kind == RERANK:
        return _joined({"query": query.messages, "documents": items}, [query, *texts])
    return _joined({"text_1": query.messages, "text_2": items}, [query, *texts])


def _joined(members: dict[str, Any], texts: list[Prompt]) -> Prompt:
    return Prompt(
        messages=members,
        expanded="\n".join(text.expanded for text in texts),
        token_ids=tuple(token for text in texts for token in text.token_ids),
    )
