"""What one arrival of the load brings: a single request, a session, parallel branches, or a call with a tool.

Each part is one row of the plan. A part that follows others names them by their suffix of the arrival's
request id; a message that holds a reply of the run holds ``{"type": "reply", "of": n}`` in its place, n being
the position in the row's own ``after`` list. Such a prompt has no token count before it is sent.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runners.load.additions import with_additions
from runners.load.part import AnyPrompt, Part, UncountedPrompt
from runners.load.prompts import InputEncoder, Prompt, PromptWriter, from_messages
from runners.protocol.events import Step
from runners.protocol.manifest import canonical

NS_PER_S = 1_000_000_000
_INTRODUCTION = 'Functions as JSON: {}. Call one by JSON like {{"name": "...", "arguments": {{}}}}.'


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where the words come from. ``ask(prefix)`` is the next first prompt, its content led by ``prefix``."""

    writer: PromptWriter
    ask: Callable[[Sequence[str]], Prompt]

    @property
    def encoder(self) -> InputEncoder:
        return self.writer.encoder

    def words(self, tokens: int) -> str:
        return " ".join(self.writer.shared_prefix(tokens))

    def counted(self, messages: Sequence[Mapping[str, Any]]) -> Prompt:
        """The prompt of whole messages, counted by template and tokenizer."""
        return from_messages(messages, encoder=self.encoder)


def parts(document: Mapping[str, Any], source: Source) -> Iterator[Part]:
    """The requests of the next arrival, the root first."""
    workload = document["workload"]
    make = _BUILDERS[str(workload["structure"])]
    for part in make(document, source):
        yield with_additions(part, workload)


def history_tokens(encoder: InputEncoder, messages: Sequence[Mapping[str, Any]], total: int) -> int:
    """Tokens of the input beyond those that its last message would take alone."""
    return total - len(encoder.encode(encoder.render(messages[-1:])))


def _single(document: Mapping[str, Any], source: Source) -> Iterator[Part]:
    workload = document["workload"]
    yield Part(prompt=source.ask(()), output_cap=workload["output_tokens"])


def _session(document: Mapping[str, Any], source: Source) -> Iterator[Part]:
    workload = document["workload"]
    rule = workload["session"]
    prompt: AnyPrompt = source.ask(())
    messages = list(prompt.messages)
    earlier: list[str] = []
    for turn in range(1, rule["turns"] + 1):
        cap = _entry(rule["turn_output_tokens"], turn - 1, workload["output_tokens"])
        history: int | None = 0
        if turn > 1:
            words = source.words(_entry(rule["turn_input_tokens"], turn - 2, 1))
            messages.append({"role": "user", "content": words})
            is_live = rule["history"] == "live"
            prompt = (
                UncountedPrompt(messages=list(messages)) if is_live else source.counted(messages)
            )
            total = None if prompt.token_ids is None else len(prompt.token_ids)
            history = None if total is None else history_tokens(source.encoder, messages, total)
        suffix = "" if turn == 1 else f".t{turn}"
        yield Part(
            prompt=prompt,
            output_cap=cap,
            suffix=suffix,
            own_task=True,
            step=Step.turn,
            turn=turn,
            after=tuple(earlier),
            after_delay_ns=round(rule["think_time_s"] * NS_PER_S) if turn > 1 else None,
            history_tokens=history,
        )
        said: Any = _placeholder("reply", len(earlier)) if rule["history"] == "live" else None
        content = source.words(cap) if said is None else [said]
        messages.append({"role": "assistant", "content": content})
        earlier.append(suffix)


def _branching(document: Mapping[str, Any], source: Source) -> Iterator[Part]:
    workload, contract = document["workload"], document["contract"]
    rule = workload["branching"]
    count, required = rule["branches"], rule["branches"] - rule["optional"]
    prefix = source.writer.shared_prefix(rule["task_prefix_tokens"])
    suffixes = ["" if n == 1 else f".b{n}" for n in range(1, count + 1)]
    for number, suffix in enumerate(suffixes, start=1):
        yield Part(
            prompt=source.ask(prefix),
            output_cap=workload["output_tokens"],
            suffix=suffix,
            step=Step.branch,
            branch=f"b{number}",
            is_required=number <= required,
        )
    if rule["join"] is None:
        return
    needed = required if contract["all_branches_required"] else contract["required_branches"]
    least = 1 if contract["degradation"] == "partial" else needed
    said: list[Any] = [{"type": "text", "text": source.words(rule["join"]["words"])}]
    for position in range(required):
        said += [{"type": "text", "text": "\n"}, _placeholder("reply", position)]
    yield Part(
        prompt=UncountedPrompt(messages=[{"role": "user", "content": said}]),
        output_cap=rule["join"]["output_tokens"],
        suffix=".join",
        step=Step.joining,
        after=tuple(suffixes[:required]),
        after_completed=needed,
        after_least=least,
        after_delay_ns=0,
    )


def _tool_use(document: Mapping[str, Any], source: Source) -> Iterator[Part]:
    workload = document["workload"]
    rule = workload["tool_use"]
    definitions = [json.loads(text) for text in rule["definitions"]]
    as_text = rule["sent_as"] == "text"
    messages = list(source.ask(()).messages)
    if as_text:
        words = _INTRODUCTION.format(canonical(definitions).decode())
        messages.insert(0, {"role": "system", "content": words})
    tools = [{"type": "function", "function": d} for d in definitions]
    members = None if as_text else {"tools": tools}
    yield Part(
        prompt=source.counted(messages) if as_text else UncountedPrompt(messages=messages),
        output_cap=rule["call_output_tokens"],
        step=Step.tool_call,
        members=members,
        on_reply={
            "use": "tool_call",
            "sent_as": str(rule["sent_as"]),
            "names": [d["name"] for d in definitions],
            "scripted": json.loads(rule["scripted_call"]) if rule["scripted_call"] else None,
        },
    )
    result = source.words(rule["result_tokens"])
    called = (
        [
            {"role": "assistant", "content": [_placeholder("call", 0)]},
            {"role": "user", "content": f"Result: {result}"},
        ]
        if as_text
        else [
            {"role": "assistant", "content": None, "tool_calls": _placeholder("calls", 0)},
            {"role": "tool", "tool_call_id": _placeholder("call_id", 0), "content": result},
        ]
    )
    yield Part(
        prompt=UncountedPrompt(messages=[*messages, *called]),
        output_cap=workload["output_tokens"],
        suffix=".answer",
        step=Step.continuation,
        after=("",),
        after_delay_ns=round(_delay_s(document, rule["dependency"]) * NS_PER_S),
        dependency=rule["dependency"],
        members=members,
    )


_BUILDERS: Mapping[str, Callable[[Mapping[str, Any], Source], Iterator[Part]]] = {
    "single_turn": _single,
    "linear_session": _session,
    "branching": _branching,
    "tool_use": _tool_use,
}


def _delay_s(document: Mapping[str, Any], name: str) -> float:
    declared = document["boundary"]["external_dependencies"]
    return float(next(d["fixed_delay_s"] for d in declared if d["name"] == name))


def _placeholder(kind: str, position: int) -> dict[str, Any]:
    return {"type": kind, "of": position}


def _entry(values: Sequence[int], index: int, default: int) -> int:
    return values[min(index, len(values) - 1)] if values else default
