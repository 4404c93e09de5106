"""The share of prompt tokens that the server says it took from a cache: the cache-hit condition of a run."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from assay.analysis.absence import Absent
from assay.analysis.aggregates import Scope, aggregate
from assay.analysis.columns import number, where
from assay.analysis.documents import Aggregate
from assay.analysis.wire.attempt import Attempt
from runners.protocol.events import ClientState

RULE = "prompt.cached_share"


def cached_share(attempts: Sequence[Attempt], scope: Scope) -> Aggregate:
    """Cached over prompt tokens, summed over completed attempts. A server that says nothing has no share."""
    is_completed = where(attempts, "state", lambda state: state is ClientState.completed)
    cached, says_cached = number(attempts, "reply.cached_tokens")
    prompts, says_prompt = number(attempts, "prompt_tokens")
    told = is_completed & says_cached & says_prompt
    n, completed = (int(np.count_nonzero(which)) for which in (told, is_completed))
    prompt = int(prompts[told].sum())
    value: float | Absent
    if n < completed:
        value = Absent(f"the server reported no cached tokens for {completed - n} of {completed}")
    elif not prompt:
        value = Absent("no completed attempt with prompt tokens")
    else:
        value = int(cached[told].sum()) / prompt
    named = replace(scope, population=f"completed {scope.population}")
    return aggregate(RULE, "ratio", "1", value, n=n, of=len(attempts), scope=named)
