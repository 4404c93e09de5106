"""What a result of another load client leaves open, as gaps. The reading adds those of the server side."""

from assay.analysis.gaps import gap
from assay.archive.foreign.result import ForeignResult
from runners.protocol.documents import Gap


def gaps_of(result: ForeignResult) -> list[Gap]:
    """Every gap of this archive that no reading could find by itself."""
    found = [
        gap(
            "wire bytes of every reply",
            affects="framing, content classes, token counts, and any column of another tool",
            needed="the stream as it arrived, read by read",
        ),
        gap(
            "artifact identity, chat template and tokenizer",
            affects="every statement on the model that was served, and token counts",
            needed="a run that verifies its artifact",
        ),
        gap(
            "clock and own error of the client that measured",
            affects="every time of this archive",
            needed="the tool's loop lag and send lag, or a run beside an exact mock",
        ),
        gap(
            "scheduled times",
            affects="latency from the scheduled time",
            needed="the plan of the load",
        ),
        *_token_gaps(result),
        *_call_gaps(result),
        *result.gaps,
    ]
    if result.version is None:
        found.append(
            gap(
                "version of the tool",
                affects="which formulas its figures follow",
                needed="the version, which the file does not name",
            )
        )
    return found


def _token_gaps(result: ForeignResult) -> list[Gap]:
    if all(call.usage_tokens is not None for call in result.calls) and result.calls:
        return []
    return [
        gap(
            "what kind of tokens the tool counted",
            affects="TPOT and throughput: usage, or the text counted again by a tokenizer",
            needed="the server's usage of each request",
        )
    ]


def _call_gaps(result: ForeignResult) -> list[Gap]:
    found = []
    if not result.calls:
        found.append(
            gap(
                "single requests",
                affects="every ledger, and every figure: as the tool reported, not computed again",
                needed="the tool's record of each request",
            )
        )
        return found
    if not result.has_starts:
        found.append(
            gap(
                "start times of requests",
                affects="windows, concurrency and every instant of an attempt",
                needed="the tool's start time of each request",
            )
        )
    if not result.instants_are_content:
        found.append(
            gap(
                "which events carried content",
                affects="time to first content: the tool counts a role-only event as the first token",
                needed="the events of each reply",
            )
        )
    found.append(
        gap(
            "finish reasons and error events",
            affects="completed means what the tool calls a success",
            needed="the events of each reply",
        )
    )
    return found
