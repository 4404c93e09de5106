"""Parts of config group ``workload``: what an arrival brings beyond one request, and how replies are used.

One arrival of the load is one session (``session``), one task of parallel branches (``branching``) or one
task with a tool in it (``tool_use``). The other rules add something to each request: a reasoning setting, a
constraint on the answer's form, media beside the text.
"""

from dataclasses import dataclass
from enum import StrEnum

from experiments.schema.roles import key_field, variable_field


class History(StrEnum):
    """Whose words stand as the assistant's in the history of a later turn."""

    live = "live"  # the run's own replies; the input is known once it was sent
    scripted = "scripted"  # texts fixed in the plan; the input is counted before the run


@dataclass
class SessionRule:
    """``turns`` requests one after another, each with the whole history.

    The first turn is ``workload.input_tokens`` long; ``turn_input_tokens`` counts the words (one token each)
    of the user's message in turns 2, 3, ...; ``turn_output_tokens`` caps turns 1, 2, ..., empty for
    ``workload.output_tokens`` in all. The last entry of a list goes on.
    """

    turns: int = variable_field(2)
    turn_input_tokens: list[int] = variable_field(lambda: [16])
    turn_output_tokens: list[int] = variable_field(list)
    think_time_s: float = variable_field(0.0)
    history: History = key_field(History.live)


@dataclass
class JoinRule:
    """A continuation that reads the branches' replies. ``words`` is its own part, one token each."""

    words: int = variable_field(8)
    output_tokens: int = variable_field(16)


@dataclass
class BranchRule:
    """``branches`` requests of one task sent together; the last ``optional`` of them may fail or be late.

    ``task_prefix_tokens`` words are shared by the branches of one task. How many must hold, the deadline and
    what a partial answer counts as is the contract's.
    """

    branches: int = variable_field(2)
    optional: int = variable_field(0)
    task_prefix_tokens: int = variable_field(0)
    join: JoinRule | None = key_field(None)


class ToolWire(StrEnum):
    """How definitions, call and result travel."""

    tools = "tools"  # the API's own fields, for engines and templates that expand them
    text = "text"  # as text of the messages, for those that do not


class ToolFallback(StrEnum):
    """What is filled back when the reply holds no call that can be parsed; the reply is recorded as such."""

    none = "none"  # nothing: the task ends there
    scripted = "scripted"  # ``scripted_call`` stands in


@dataclass
class ToolRule:
    """One call, a wait, one continuation with the result.

    ``definitions`` are JSON texts (name, description, parameters as JSON schema). ``dependency`` names an
    entry of ``boundary.external_dependencies`` whose ``fixed_delay_s`` is the function's injected time.
    """

    definitions: list[str] = key_field(list)
    sent_as: ToolWire = key_field(ToolWire.tools)
    dependency: str = key_field("tool")
    call_output_tokens: int = variable_field(32)
    result_tokens: int = variable_field(32)
    tool_call: ToolFallback = key_field(ToolFallback.none)
    scripted_call: str | None = key_field(None)


class ReasoningWire(StrEnum):
    reasoning_effort = "reasoning_effort"
    enable_thinking = "enable_thinking"  # chat_template_kwargs.enable_thinking
    unsent = "unsent"  # the model reasons by itself; the server is told nothing


@dataclass
class ReasoningRule:
    """``effort`` goes with ``reasoning_effort``, ``enabled`` with ``enable_thinking``; the other is null.

    ``tags``: the opening and the closing tag of reasoning that the server leaves inside the answer, such as
    ``<think>`` and ``</think>``; an empty opening one if the prompt's template ends with it, so that replies
    start inside. Null: answers are read as they come.
    """

    sent_as: ReasoningWire = key_field(ReasoningWire.reasoning_effort)
    effort: str | None = variable_field(None)
    enabled: bool | None = variable_field(None)
    tags: list[str] | None = key_field(None)


class Constraint(StrEnum):
    json_schema = "json_schema"
    json_object = "json_object"
    regex = "regex"
    choice = "choice"


class ConstraintWire(StrEnum):
    response_format = "response_format"
    guided = "guided"  # guided_json, guided_regex, guided_choice
    unsent = "unsent"  # the client checks; the server is not told


@dataclass
class StructuredRule:
    """The form an answer must have. A whole answer that fails is asked for again, ``regenerations`` times.

    ``schema`` is a JSON schema as JSON text, ``pattern`` must match the whole answer.
    """

    constraint: Constraint = key_field(Constraint.json_object)
    schema: str | None = key_field(None)
    pattern: str | None = key_field(None)
    choices: list[str] = key_field(list)
    sent_as: ConstraintWire = key_field(ConstraintWire.response_format)
    regenerations: int = key_field(0)


class MediaKind(StrEnum):
    image = "image"
    audio = "audio"
    video = "video"


@dataclass
class MediaItem:
    """One medium of every request. Only images are made and sent: a PNG of that size, seeded.

    ``duration_s`` and ``chunking`` describe audio and video. No token count follows from any of it.
    """

    kind: MediaKind = key_field(MediaKind.image)
    width: int | None = variable_field(None)
    height: int | None = variable_field(None)
    duration_s: float | None = variable_field(None)
    chunking: str | None = key_field(None)
