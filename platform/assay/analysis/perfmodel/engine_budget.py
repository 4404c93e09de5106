"""How much memory an engine grants to its KV pool, in the form that vLLM states in its log:

    KV bytes = total x utilization - (weights + peak activation + non-torch)

Peak activation and what lies outside the framework's allocator come from the engine's own profiling run.
Where they are not published apart they are one input, the *remainder*, which a caller has to state; the
remainder that a grant implies is a residual and is never put back in as an input of the same row.
"""

from dataclasses import dataclass

from assay.analysis.perfmodel.errors import ModelRefused
from runners.protocol.errors import Finding

BLOCK_TOKENS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineBudget:
    """One rank's memory in bytes. ``total_bytes`` is what the driver reports, not the maker's decimal size.

    ``utilization`` is a share of the total here; engines that take it of the *free* memory need another
    form.
    """

    total_bytes: int
    utilization: float
    weight_bytes: int
    remainder_bytes: int
    remainder_source: str

    def __post_init__(self) -> None:
        if not 0 < self.utilization <= 1:
            raise _refused("utilization", self.utilization, "more than 0, at most 1")
        if self.total_bytes < 1:
            raise _refused("total-bytes", self.total_bytes, "at least 1")
        if self.remainder_bytes < 0:
            raise _refused("remainder-bytes", self.remainder_bytes, "at least 0")

    @property
    def kv_bytes(self) -> int:
        """Bytes left for the KV pool; negative when the rest alone exceeds the budget."""
        allowed = int(self.total_bytes * self.utilization)
        return allowed - self.weight_bytes - self.remainder_bytes


def granted_blocks(
    budget: EngineBudget, *, bytes_per_token: int, block_tokens: int = BLOCK_TOKENS
) -> int:
    """Whole KV blocks of one rank: floor(KV bytes / (block tokens x bytes per token)).

    ``bytes_per_token`` is of the rank, with KV heads that are replicated counted as they lie there.
    """
    if bytes_per_token < 1:
        raise _refused("bytes_per_token", bytes_per_token, "state that grows with tokens")
    return max(0, budget.kv_bytes // (bytes_per_token * block_tokens))


def stated_tokens(blocks: int, *, block_tokens: int, longest_request: int) -> int:
    """How many tokens vLLM says its pool holds: requests of the longest length, times that length.

    Such a request takes whole blocks, so where its length is no multiple of a block the figure is below
    blocks x block tokens, although shorter requests could fill them. One block of the pool is the engine's
    own (it stands for no block) and is in the figure all the same.
    """
    if block_tokens < 1 or longest_request < 1:
        raise _refused(
            "longest_request", longest_request, "at least 1 token, in blocks of 1 or more"
        )
    blocks_of_request = -(-longest_request // block_tokens)
    return blocks * longest_request // blocks_of_request


def implied_remainder_bytes(
    budget: EngineBudget, *, blocks: int, bytes_per_token: int, block_tokens: int = BLOCK_TOKENS
) -> int:
    """The remainder that a real grant of ``blocks`` implies: budget - weights - granted KV bytes."""
    allowed = int(budget.total_bytes * budget.utilization)
    return allowed - budget.weight_bytes - blocks * block_tokens * bytes_per_token


def _refused(field: str, seen: object, allowed: str) -> ModelRefused:
    return ModelRefused(
        Finding(
            field=field, seen=str(seen), allowed=allowed, remedy="Correct the engine's setting."
        )
    )
