"""A whole answer without its declared form is asked for again, as a request of its own, so many times."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runners.load.assembly import Heard
from runners.load.requests import PreparedRequest
from runners.protocol.answer_form import form_problem
from runners.protocol.events import Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """The row of the next try, which is in no plan, and what was wrong with the answer before it."""

    row: Mapping[str, Any]
    problem: str


def asked_again(request: PreparedRequest, heard: Heard | None, *, tries: int) -> Again | None:
    """The regeneration that follows after ``tries`` of them; None if the form is held or no try is left."""
    check = request.on_reply
    if heard is None or check is None or check["use"] != "check" or tries >= check["regenerations"]:
        return None
    problem = form_problem(heard.reply.text, check)
    if problem is None:
        return None
    plan = request.row
    first = str(plan["request_id"]).partition(".R")[0]
    name = f"{first}.R{tries + 1}"
    row = {
        **plan,
        "request_id": name,
        "model_call_id": f"M-{name}",
        "step": Step.regeneration.value,
        # The same seed would give the same answer.
        "sampling_seed": int(plan["sampling_seed"] or 0) + 1,
        "offset_ns": None,
        "slot": None,
        "after": [],
        "after_delay_ns": None,
    }
    return Again(row=row, problem=problem)
