"""What a reply's words are worth to its task, noted while they are at hand: its form, and the call in it."""

from dataclasses import dataclass

from assay.analysis.structures.planned import PlannedRequest
from assay.analysis.wire.attempt import Attempt
from runners.protocol.answer_form import call_in_fields, call_in_text, form_problem
from runners.protocol.events import ClientState


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerFacts:
    """``form_problem`` is empty where the form holds, None where no form is declared or no answer is whole.

    ``has_call``: whether a call of a declared tool could be parsed; None where none was asked for.
    """

    form_problem: str | None = None
    has_call: bool | None = None


def answer_facts(attempt: Attempt, planned: PlannedRequest | None) -> AnswerFacts | None:
    """Facts of one attempt; None where its plan asks for none."""
    use = planned.on_reply if planned is not None else None
    if use is None or attempt.state is not ClientState.completed:
        return None
    reply = attempt.reply
    if use["use"] == "check":
        return AnswerFacts(form_problem=form_problem(reply.text, use) or "")
    if use["sent_as"] == "tools":
        calls = [{"id": c.id, "name": c.name, "arguments": c.arguments} for c in reply.tool_calls]
        return AnswerFacts(has_call=call_in_fields(calls, use["names"]) is not None)
    return AnswerFacts(has_call=call_in_text(reply.text, use["names"]) is not None)
