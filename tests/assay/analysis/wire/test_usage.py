"""Usage that comes late, grows, or is each chunk's own."""

import json

import pytest

from assay.analysis.wire.reply import Reply
from assay.analysis.wire.usage import UsageForm
from tests.fuzz.wire_invariants import read

FINISH = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'


def reply(*reports: int | None, total: int | None = None) -> Reply:
    """Content events with these completion counts, then perhaps a usage event without choices."""
    events = []
    for report in reports:
        chunk: dict[str, object] = {"choices": [{"index": 0, "delta": {"content": "x"}}]}
        if report is not None:
            chunk["usage"] = {"completion_tokens": report}
        events.append(f"data: {json.dumps(chunk)}\n\n")
    if total is not None:
        last = {"choices": [], "usage": {"completion_tokens": total}}
        events.append(f"data: {json.dumps(last)}\n\n")
    return read(["".join([*events, FINISH]).encode()]).reply


@pytest.mark.req("6.05")
@pytest.mark.parametrize(
    ("found", "form", "tokens", "usage"),
    [
        (reply(None, None, total=7), UsageForm.late, [None, None], 7),
        (reply(1, 3, 4, total=4), UsageForm.cumulative, [1, 2, 1], 4),
        # 2, 1, 3 falls, so each counts its own chunk: 2 + 1 + 3 = 6
        (reply(2, 1, 3), UsageForm.per_chunk, [2, 1, 3], 6),
        # it stands still and the total afterwards is the sum: 1 + 1 + 1 = 3
        (reply(1, 1, 1, total=3), UsageForm.per_chunk, [1, 1, 1], 3),
        # it stands still and nothing proves either: one token may have been shown in two pieces
        (reply(1, 1), UsageForm.cumulative, [1, None], 1),
        (reply(2, None, 3), UsageForm.cumulative, [2, None, None], 3),
        (reply(None, None), None, [None, None], None),
    ],
)
def test_reports_are_read_in_their_form(
    found: Reply, form: UsageForm | None, tokens: list[int | None], usage: int | None
) -> None:
    assert found.usage_form is form
    assert list(found.chunk_tokens) == tokens
    assert found.usage_tokens == usage
