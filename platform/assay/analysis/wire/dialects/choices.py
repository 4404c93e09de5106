"""OpenAI chat and completions: ``choices`` that are streamed (``delta``, ``text``) or whole (``message``).

Names differ between servers; the tables below are the only place that knows them.
"""

from typing import Any

from assay.analysis.wire.content import (
    PROTOCOL,
    Payload,
    ToolCallDelta,
    Usage,
    count_in,
    text_of,
    whole_number,
)

REASONING_NAMES = ("reasoning_content", "reasoning", "reasoning_text", "thinking")
_TOKEN_ID_NAMES = ("token_ids", "response_token_ids")


def recognises(document: dict[str, Any]) -> bool:
    return isinstance(document.get("choices"), list)


class ChoicesReader:
    """Each payload stands for itself; a payload without choices and usage is protocol."""

    deltas_stand_alone = True

    def read(self, document: dict[str, Any]) -> Payload:
        found = Payload()
        choices = document.get("choices")
        if isinstance(choices, list):
            for choice in choices:
                if isinstance(choice, dict):
                    _read_choice(choice, found)
        usage = document.get("usage")
        if isinstance(usage, dict):
            found.add_usage(usage_of(usage))
        prompt_ids = document.get("prompt_token_ids")
        if isinstance(prompt_ids, list):
            found.prompt_token_ids = len(prompt_ids)
        if not found.classes:
            found.classes = PROTOCOL
        return found


def usage_of(usage: dict[str, Any]) -> Usage:
    """OpenAI's usage object, under the names of chat and of Responses alike."""
    prompt_details = usage.get("prompt_tokens_details") or usage.get("input_tokens_details")
    output_details = usage.get("completion_tokens_details") or usage.get("output_tokens_details")
    return Usage(
        completion=count_in(usage, "completion_tokens", "output_tokens"),
        prompt=count_in(usage, "prompt_tokens", "input_tokens"),
        cached=count_in(prompt_details, "cached_tokens"),
        reasoning=count_in(output_details, "reasoning_tokens"),
    )


def _read_choice(choice: dict[str, Any], found: Payload) -> None:
    index = whole_number(choice.get("index"), 0)
    body = choice.get("delta")
    if not isinstance(body, dict):
        body = choice.get("message")
    if isinstance(body, dict):
        _read_message(body, index, found)
    text = choice.get("text")
    if isinstance(text, str) and text:
        found.add_answer(index, text)
    finish = choice.get("finish_reason")
    if isinstance(finish, str) and finish:
        found.add_finish(index, finish)
    for name in _TOKEN_ID_NAMES:
        ids = choice.get(name)
        if isinstance(ids, list):
            found.token_ids = (found.token_ids or 0) + len(ids)
            break
    prompt_ids = choice.get("prompt_token_ids")
    if isinstance(prompt_ids, list):
        found.prompt_token_ids = len(prompt_ids)


def _read_message(body: dict[str, Any], index: int, found: Payload) -> None:
    if text := text_of(body.get("content")):
        found.add_answer(index, text)
    for name in REASONING_NAMES:
        # Some servers send the same words under two names: the first non-empty one counts.
        if name in body and (thought := text_of(body[name])):
            found.add_reasoning(index, thought)
            break
    if refusal := text_of(body.get("refusal")):
        found.add_refusal(refusal)
    calls = body.get("tool_calls")
    if isinstance(calls, list):
        for position, call in enumerate(calls):
            _read_tool_call(call, position, index, found)
    if isinstance(legacy := body.get("function_call"), dict):
        _read_tool_call({"function": legacy}, 0, index, found)


def _read_tool_call(call: Any, position: int, choice: int, found: Payload) -> None:
    if not isinstance(call, dict):
        return
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    identity, name = call.get("id"), function.get("name")
    arguments = function.get("arguments")
    delta = ToolCallDelta(
        index=whole_number(call.get("index"), position),
        id=identity if isinstance(identity, str) and identity else None,
        name=name if isinstance(name, str) and name else None,
        arguments=arguments if isinstance(arguments, str) else "",
    )
    if delta.id or delta.name or delta.arguments:
        found.add_tool_call(choice, delta)
