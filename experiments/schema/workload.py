"""Config group ``workload``: what is asked, apart from when it is asked (``load``)."""

from dataclasses import dataclass
from enum import StrEnum

from experiments.schema.roles import context_field, key_field, variable_field


class Structure(StrEnum):
    single_turn = "single_turn"
    linear_session = "linear_session"
    branching = "branching"
    tool_use = "tool_use"


class CallType(StrEnum):
    generation = "generation"
    embedding = "embedding"
    rerank = "rerank"
    score = "score"


class ContextLocation(StrEnum):
    """Where conversation context lives."""

    client = "client"
    server_session = "server_session"
    kv_reuse = "kv_reuse"


class PromptSource(StrEnum):
    synthetic = "synthetic"
    text = "text"


class Endpoint(StrEnum):
    chat = "chat"
    completions = "completions"


@dataclass
class CancelRule:
    """The client closes the connection after so many content chunks, or so long after the send."""

    after_chunks: int | None = key_field(None)
    after_s: float | None = key_field(None)


@dataclass
class ArchiveCase:
    """One archive case, sent alone before the load: short, long input, long output or active cancel."""

    name: str = key_field()
    input_tokens: int = variable_field()
    output_tokens: int = variable_field()
    cancel: CancelRule | None = key_field(None)


@dataclass
class WorkloadConfig:
    """``input_tokens`` and ``output_tokens`` are per request; input is exact after template and tokenizer.

    With ``prompt_source: text`` each entry of ``texts`` is sent once, in order, and ``input_tokens`` is the
    most that one of them may take. ``shared_prefix_tokens`` counts tokens of the message's own content.
    """

    name: str = context_field()
    structure: Structure = key_field(Structure.single_turn)
    call_type: CallType = key_field(CallType.generation)
    context_location: ContextLocation = key_field(ContextLocation.client)
    endpoint: Endpoint = key_field(Endpoint.chat)
    prompt_source: PromptSource = key_field(PromptSource.synthetic)
    texts: list[str] = key_field(list)
    input_tokens: int = variable_field()
    output_tokens: int = variable_field()
    requests: int = variable_field()
    shared_prefix_tokens: int = variable_field(0)
    ignore_eos: bool = key_field(True)
    temperature: float = key_field(0.0)
    top_p: float = key_field(1.0)
    top_k: int = key_field(0)
    stop: list[str] = key_field(list)
    cases: list[ArchiveCase] = key_field(list)
    warmup_requests: int = key_field(2)
    warmup_input_tokens: int = key_field(32)
    warmup_output_tokens: int = key_field(8)
    seed: int = key_field(0)
