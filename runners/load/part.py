"""One request of an arrival, before it is a row of the plan."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runners.load.prompts import Prompt
from runners.protocol.events import Step
from runners.protocol.manifest import canonical


@dataclass(frozen=True, slots=True, kw_only=True)
class UncountedPrompt:
    """Messages whose tokens the plan cannot know: they hold replies of the run, tools or media."""

    messages: Any
    expanded: None = None
    token_ids: None = None
    input_sha256: None = None

    @property
    def canonical_json(self) -> bytes:
        return canonical(self.messages)

    @property
    def ref(self) -> str:
        return hashlib.sha256(self.canonical_json).hexdigest()


AnyPrompt = Prompt | UncountedPrompt


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One request of an arrival. ``suffix`` is empty for the first; a turn is a task of its own."""

    prompt: AnyPrompt
    output_cap: int
    suffix: str = ""
    own_task: bool = False
    step: Step | None = None
    turn: int | None = None
    branch: str | None = None
    is_required: bool = True
    after: tuple[str, ...] = ()
    after_completed: int | None = None
    after_least: int | None = None
    after_delay_ns: int | None = None
    dependency: str | None = None
    history_tokens: int | None = None
    members: Mapping[str, Any] | None = None
    on_reply: Mapping[str, Any] | None = None
