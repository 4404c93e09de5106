"""What each public client would have kept of an attempt of ours: four readings of the same recorded stream.

Only an attempt whose wire bytes were read can be read again this way. Each tool is given what it looks at:
which events it takes for tokens, where its latency ends, what it calls a success, where it takes token
counts from.
"""

import numpy as np

from assay.analysis.compat.rows import NO_INSTANTS, Instants, ToolRow
from assay.analysis.wire.attempt import Attempt


def was_read(attempt: Attempt) -> bool:
    """Whether this attempt is a request of ours with what came back, if anything did, byte for byte."""
    reply = attempt.reply
    return attempt.start_ns is not None and (reply.body_bytes > 0 or not len(reply.chunk_times_ns))


def by_vllm_bench(attempt: Attempt) -> ToolRow:
    """Every event with a choice is a token instant; a clean end after one of them is a success."""
    instants = _with_bare_choices(attempt)
    usage = attempt.reply.usage_tokens
    return _row(
        attempt,
        instants,
        ok=_clean(attempt) and len(instants) > 0,
        prompt_tokens=attempt.reply.prompt_tokens,
        output_tokens=attempt.retokenized if usage is None else usage,
    )


def by_sglang_bench(attempt: Attempt) -> ToolRow:
    """Events with text; latency to ``[DONE]``, else to the end of the body; a clean end is a success.

    It counts the prompt itself before the chat template is applied: no count of ours is that one.
    """
    return _row(
        attempt,
        _content(attempt),
        ok=_clean(attempt),
        end_ns=attempt.done_ns,
        prompt_tokens=None,
        output_tokens=attempt.reply.usage_tokens,
    )


def by_aiperf(attempt: Attempt) -> ToolRow:
    """Events with content; latency to the last one; an error event, or no content, is an error.

    Token counts are the server's, as with ``--use-server-token-count``.
    """
    instants = _content(attempt)
    return _row(
        attempt,
        instants,
        ok=_clean(attempt) and attempt.reply.error_ns is None and len(instants) > 0,
        prompt_tokens=attempt.reply.prompt_tokens,
        output_tokens=attempt.reply.usage_tokens,
    )


def by_guidellm(attempt: Attempt) -> ToolRow:
    """Events with text; latency until it stopped reading, at ``[DONE]``; no text is an error."""
    instants = _content(attempt)
    return _row(
        attempt,
        instants,
        ok=_clean(attempt) and len(instants) > 0,
        end_ns=attempt.done_ns,
        prompt_tokens=attempt.reply.prompt_tokens,
        output_tokens=attempt.reply.usage_tokens,
    )


def _row(
    attempt: Attempt,
    instants: Instants,
    *,
    ok: bool,
    prompt_tokens: int | None,
    output_tokens: int | None,
    end_ns: int | None = None,
) -> ToolRow:
    start = attempt.sent_ns if attempt.sent_ns is not None else attempt.start_ns
    return ToolRow(
        ok=ok and attempt.sent_ns is not None,
        start_ns=start or 0,
        times_ns=instants,
        end_ns=end_ns,
        prompt_tokens=prompt_tokens,
        output_tokens=output_tokens,
    )


def _clean(attempt: Attempt) -> bool:
    """HTTP 200 and a body that was read to its end, with no exception on the way."""
    gave_up, end = attempt.gave_up_ns, attempt.body_end_ns
    return (
        attempt.status in (None, 200)
        and end is not None
        and (gave_up is None or end <= gave_up)
        and attempt.reply.problem is None
    )


def _content(attempt: Attempt) -> Instants:
    times = attempt.reply.chunk_times_ns
    return np.array(times, dtype=np.int64) if len(times) else NO_INSTANTS


def _with_bare_choices(attempt: Attempt) -> Instants:
    bare = attempt.reply.bare_choice_times_ns
    if not len(bare):
        return _content(attempt)
    return np.sort(np.concatenate([_content(attempt), np.array(bare, dtype=np.int64)]))
