"""Rows of the plan: each request with the ids, the place in its phase and the limits that it was given."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runners.load import arrivals
from runners.load.part import AnyPrompt, Part
from runners.protocol.events import Phase, Segment
from runners.protocol.manifest import canonical


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One request before it has a place in the plan."""

    segment: Segment
    prompt: AnyPrompt
    output_cap: int
    case: str | None = None
    offset_ns: int | None = None
    slot: int | None = 0
    cancel: Mapping[str, Any] | None = None
    part: Part | None = None  # of the arrival that it belongs to
    prefix_group: int | None = None
    prefix_tokens: int = 0


_PHASES = {
    Segment.warmup: Phase.warmup,
    Segment.cases: Phase.measure,
    Segment.load: Phase.measure,
    Segment.profile: Phase.profile,
}


def row_of(
    sequence: int, ask: Ask, number: int, workload: Mapping[str, Any], sampling_seed: int
) -> dict[str, Any]:
    part = ask.part or Part(prompt=ask.prompt, output_cap=ask.output_cap)
    arrival = f"{ask.segment.value}-{number:04d}"
    request_id = arrival + part.suffix
    tokens = ask.prompt.token_ids
    cancel = ask.cancel or {}
    after_s = cancel.get("after_s")
    return {
        "sequence": sequence,
        "phase": _PHASES[ask.segment].value,
        "segment": ask.segment.value,
        "case": ask.case,
        "task_id": f"T-{request_id if part.own_task else arrival}",
        "session_id": f"S-{arrival}",
        "request_id": request_id,
        "model_call_id": f"M-{request_id}",
        "call_type": workload["call_type"],
        "endpoint": workload["endpoint"],
        "offset_ns": ask.offset_ns,
        "slot": ask.slot,
        "prompt_ref": ask.prompt.ref,
        "input_sha256": ask.prompt.input_sha256,
        "input_tokens": None if tokens is None else len(tokens),
        "output_cap": ask.output_cap,
        "sampling_seed": sampling_seed,
        "temperature": workload["temperature"],
        "top_p": workload["top_p"],
        "top_k": workload["top_k"],
        "stop": list(workload["stop"]),
        "ignore_eos": workload["ignore_eos"],
        "cancel_after_chunks": cancel.get("after_chunks"),
        "cancel_after_ns": None if after_s is None else round(after_s * arrivals.NS_PER_S),
        **_links(part, arrival),
        "prefix_group": ask.prefix_group,
        "items": (workload["scoring"] or {}).get("items"),
    }


def _links(part: Part, arrival: str) -> dict[str, Any]:
    return {
        "step": None if part.step is None else part.step.value,
        "turn": part.turn,
        "branch": part.branch,
        "is_required": part.is_required,
        "after": [arrival + suffix for suffix in part.after],
        "after_completed": part.after_completed,
        "after_least": part.after_least,
        "after_delay_ns": part.after_delay_ns,
        "dependency": part.dependency,
        "history_tokens": part.history_tokens,
        "members": None if part.members is None else canonical(part.members).decode(),
        "on_reply": None if part.on_reply is None else canonical(part.on_reply).decode(),
    }
