"""Read a server-sent answer: its documents, text, token ids."""

import json
from typing import Any


def documents(body: str) -> list[dict[str, Any]]:
    """Every JSON event before ``[DONE]``."""
    events = [
        line.removeprefix("data: ") for line in body.splitlines() if line.startswith("data: ")
    ]
    return [json.loads(event) for event in events if event != "[DONE]"]


def is_done(body: str) -> bool:
    return body.rstrip().endswith("data: [DONE]")


def choices(body: str) -> list[dict[str, Any]]:
    return [document["choices"][0] for document in documents(body) if document.get("choices")]


def text(body: str) -> str:
    parts = [c["delta"].get("content", "") if "delta" in c else c["text"] for c in choices(body)]
    return "".join(parts)


def token_ids(body: str) -> list[int]:
    return [token for choice in choices(body) for token in choice["token_ids"]]
