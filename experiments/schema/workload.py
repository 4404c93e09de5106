"""Config group ``workload``: what is asked, apart from when it is asked (``load``)."""

from dataclasses import dataclass
from enum import StrEnum

from experiments.schema.prompts import (
    Disjoint,
    LengthRule,
    PromptFile,
    PromptSource,
    ScoringRule,
)
from experiments.schema.roles import context_field, key_field, variable_field
from experiments.schema.structures import (
    BranchRule,
    MediaItem,
    ReasoningRule,
    SessionRule,
    StructuredRule,
    ToolRule,
)


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


class Endpoint(StrEnum):
    """``responses`` is OpenAI's newer API, ``messages`` Anthropic's; neither takes a sampling seed."""

    chat = "chat"
    completions = "completions"
    responses = "responses"
    messages = "messages"
    embeddings = "embeddings"
    rerank = "rerank"
    score = "score"


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
    most that one of them may take; likewise with ``file``, and with lengths drawn by ``input_lengths`` and
    ``output_lengths``. ``shared_prefix_tokens`` counts tokens of the message's own content; of
    ``shared_prefixes`` different ones each request has one, drawn from the seed. ``scoring`` belongs to
    embedding, rerank and score, which produce no tokens: their ``output_tokens`` is 0.
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
    # The share of the load's requests that their client gives up, and by which rule; drawn from the seed.
    cancel_share: float = variable_field(0.0)
    cancel: CancelRule | None = key_field(None)
    warmup_requests: int = key_field(2)
    warmup_input_tokens: int = key_field(32)
    warmup_output_tokens: int = key_field(8)
    seed: int = key_field(0)
    session: SessionRule | None = key_field(None)
    branching: BranchRule | None = key_field(None)
    tool_use: ToolRule | None = key_field(None)
    reasoning: ReasoningRule | None = key_field(None)
    structured: StructuredRule | None = key_field(None)
    media: list[MediaItem] = key_field(list)
    file: PromptFile | None = key_field(None)
    input_lengths: LengthRule | None = key_field(None)
    output_lengths: LengthRule | None = key_field(None)
    shared_prefixes: int = variable_field(1)
    scoring: ScoringRule | None = key_field(None)
    disjoint: Disjoint = key_field(Disjoint.cells)
