"""The bodies an answer is written in: OpenAI's chat and text completions, whole and as server-sent events."""

import json
import time
from dataclasses import dataclass, field
from typing import Any

from runners.engines.torch import versions
from runners.engines.torch.api_request import CHAT, Asked

DONE = b"data: [DONE]\n\n"


def sse(document: dict[str, Any]) -> bytes:
    """One server-sent event."""
    return b"data: " + json.dumps(document, ensure_ascii=False).encode() + b"\n\n"


@dataclass(slots=True, kw_only=True)
class Answer:
    """Builds the documents of one answer and counts its tokens."""

    asked: Asked
    model: str
    created: int = field(default_factory=lambda: int(time.time()))
    token_ids: list[int] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    finish_reason: str | None = None

    def take(self, token: int, text: str, finish: str | None) -> None:
        self.token_ids.append(token)
        self.text.append(text)
        self.finish_reason = finish

    def opening(self) -> bytes | None:
        """The role chunk that a chat stream starts with; it has no text yet."""
        if self.asked.kind != CHAT:
            return None
        choice = self._choice(delta={"role": "assistant", "content": ""})
        if self.asked.return_token_ids:
            choice["token_ids"] = []
        document = self._document("chat.completion.chunk", [choice])
        return sse(document | self._prompt_ids())

    def chunk(self, token: int, text: str, finish: str | None) -> bytes | None:
        """The chunk of one token, or None if it has nothing to say (a character still incomplete)."""
        first = not self.token_ids
        self.take(token, text, finish)
        if not text and not finish and not self.asked.return_token_ids:
            return None
        if self.asked.kind == CHAT:
            choice = self._choice(delta={"content": text}, finish=finish)
        else:
            choice = self._choice(text=text, finish=finish)
        if self.asked.return_token_ids:
            choice["token_ids"] = [token]
        kind = "chat.completion.chunk" if self.asked.kind == CHAT else "text_completion"
        document = self._document(kind, [choice])
        if first and self.asked.kind != CHAT:
            document |= self._prompt_ids()
        return sse(document)

    def usage_chunk(self) -> bytes:
        kind = "chat.completion.chunk" if self.asked.kind == CHAT else "text_completion"
        return sse(self._document(kind, []) | {"usage": self.usage()})

    def whole(self) -> dict[str, Any]:
        text = "".join(self.text)
        if self.asked.kind == CHAT:
            kind = "chat.completion"
            message = {"role": "assistant", "content": text}
            choice = self._choice(message=message, finish=self.finish_reason)
        else:
            kind = "text_completion"
            choice = self._choice(text=text, finish=self.finish_reason)
        if self.asked.return_token_ids:
            choice["token_ids"] = self.token_ids
        return self._document(kind, [choice]) | self._prompt_ids() | {"usage": self.usage()}

    def usage(self) -> dict[str, Any]:
        prompt, completion = len(self.asked.call.prompt), len(self.token_ids)
        return {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
            "prompt_tokens_details": {"cached_tokens": 0},  # there is no prefix cache
        }

    def _choice(self, *, finish: str | None = None, **content: Any) -> dict[str, Any]:
        return {"index": 0, **content, "logprobs": None, "finish_reason": finish}

    def _document(self, kind: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
        prefix = "chatcmpl" if self.asked.kind == CHAT else "cmpl"
        return {
            "id": f"{prefix}-{self.asked.call.request}",
            "object": kind,
            "created": self.created,
            "model": self.model,
            "system_fingerprint": f"{versions.NAME}-{versions.build_digest()[:12]}",
            "choices": choices,
        }

    def _prompt_ids(self) -> dict[str, Any]:
        if not self.asked.return_token_ids:
            return {}
        return {"prompt_token_ids": list(self.asked.call.prompt)}
