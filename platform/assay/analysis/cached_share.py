"""The share of prompt tokens that the server says it took from a cache: the cache-hit condition of a run."""

from collections.abc import Sequence
from dataclasses import replace

from assay.analysis.absence import Absent
from assay.analysis.aggregates import Scope, aggregate
from assay.analysis.documents import Aggregate
from assay.analysis.wire.attempt import Attempt
from runners.protocol.events import ClientState

RULE = "prompt.cached_share"


def cached_share(attempts: Sequence[Attempt], scope: Scope) -> Aggregate:
    """Cached over prompt tokens, summed over completed attempts. A server that says nothing has no share."""
    completed = [a for a in attempts if a.state is ClientState.completed]
    told = [
        (a.reply.cached_tokens, a.prompt_tokens)
        for a in completed
        if a.reply.cached_tokens is not None and a.prompt_tokens is not None
    ]
    prompt = sum(tokens for _, tokens in told)
    value: float | Absent
    if len(told) < len(completed):
        silent = len(completed) - len(told)
        value = Absent(f"the server reported no cached tokens for {silent} of {len(completed)}")
    elif not prompt:
        value = Absent("no completed attempt with prompt tokens")
    else:
        value = sum(cached for cached, _ in told) / prompt
    named = replace(scope, population=f"completed {scope.population}")
    return aggregate(RULE, "ratio", "1", value, n=len(told), of=len(attempts), scope=named)
