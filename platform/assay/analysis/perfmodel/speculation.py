"""Speculative rounds: what a round is expected to gain, what it costs, and what it leaves behind.

A round lets a draft propose k tokens and the target check them in one pass. Accepted drafts and the tokens
by which a sequence advances are two counts: the second has the correction or bonus token as well. Sources:
chapter 2.1.3.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from assay.analysis.perfmodel.errors import ModelRefused
from runners.protocol.errors import Finding


class RoundPart(StrEnum):
    """What a whole round is made of; a cost that leaves one out is not the cost of a round."""

    DRAFT = "draft"
    VERIFICATION = "verification"
    CORRECTION = "correction"
    OVERHEAD = "overhead"


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptanceRate:
    """Measured share of drafts that the target accepts, and what it was measured under.

    It belongs to that pair of models, that load and that batch: any other is an extrapolation.
    """

    value: float
    target: str
    draft: str
    load: str
    batch: int
    evidence: str

    def __post_init__(self) -> None:
        if not 0 <= self.value <= 1:
            raise _refused("acceptance_rate", self.value, "0 to 1")
        for field in ("target", "draft", "load", "evidence"):
            if not getattr(self, field):
                raise _refused(f"acceptance_rate.{field}", "empty", "what the rate was measured on")
        if self.batch < 1:
            raise _refused("acceptance_rate.batch", self.batch, "at least 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundCost:
    """Time of a whole round in units of a plain decode step of the same batch, and what is in it."""

    relative: float
    covers: frozenset[RoundPart]

    def __post_init__(self) -> None:
        missing = sorted(frozenset(RoundPart) - self.covers)
        if missing:
            raise _refused(
                "round_cost.covers",
                ", ".join(sorted(self.covers)) or "nothing",
                f"the whole round; {', '.join(missing)} not in it",
            )
        if self.relative <= 0:
            raise _refused("round_cost.relative", self.relative, "more than 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeculativeRound:
    """Expectations for one round. ``speed_up`` below 1 means that speculation is slower."""

    drafts: int
    accepted_drafts: float
    advance: float
    rejected_drafts: float
    cost_per_token: float
    speed_up: float
    break_even_cost: float
    round_s: float | None
    time_per_token_s: float | None
    assumptions: tuple[str, ...]


def accepted_drafts(rate: float, *, drafts: int) -> float:
    """sum of alpha^i, i = 1..k: expected accepted drafts, the correction token not among them."""
    return sum(rate**i for i in range(1, drafts + 1))


def advance(rate: float, *, drafts: int) -> float:
    """1 + accepted drafts: tokens by which a sequence advances, the correction or bonus token included."""
    return 1 + accepted_drafts(rate, drafts=drafts)


def speculative_round(
    rate: AcceptanceRate, *, drafts: int, cost: RoundCost, plain_step_s: float | None
) -> SpeculativeRound:
    """Gain over plain decoding: advance / cost. Without ``plain_step_s`` there are ratios, but no times."""
    if drafts < 1:
        raise _refused("drafts", drafts, "at least 1")
    gained = advance(rate.value, drafts=drafts)
    taken = accepted_drafts(rate.value, drafts=drafts)
    round_s = None if plain_step_s is None else plain_step_s * cost.relative
    return SpeculativeRound(
        drafts=drafts,
        accepted_drafts=taken,
        advance=gained,
        rejected_drafts=drafts - taken,
        cost_per_token=cost.relative / gained,
        speed_up=gained / cost.relative,
        break_even_cost=gained,
        round_s=round_s,
        time_per_token_s=None if round_s is None else round_s / gained,
        assumptions=(
            "each draft is accepted with the same chance, independent of the others",
            f"acceptance {rate.value:g} of {rate.draft} by {rate.target}: {rate.evidence}, "
            f"load {rate.load}, batch {rate.batch}; another load, batch or model is an extrapolation",
            "rejected drafts are paid for in the round's cost and are no output",
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundAccount:
    """One real round in two accounts: tokens put out, and positions kept in the target's cache.

    The newest token of a sequence has no cached position yet, so a round that advances by n keeps n of the
    positions it wrote: the token before it and all put out but the last. The others are rolled back.
    """

    proposed: int
    accepted_by_target: int
    output_tokens: int
    positions_written: int
    positions_committed: int
    cut_by_stop: int

    @property
    def positions_rolled_back(self) -> int:
        return self.positions_written - self.positions_committed

    @property
    def rejected_drafts(self) -> int:
        return self.proposed - self.accepted_by_target


def account_round(
    drafts: Sequence[int], *, accepted: int, correction: int, stops: frozenset[int]
) -> RoundAccount:
    """Settle a round: a stop token inside the accepted prefix cuts output and cached state together."""
    if not 0 <= accepted <= len(drafts):
        raise _refused("accepted", accepted, f"0 to {len(drafts)} drafts")
    advanced = [*drafts[:accepted], correction]
    kept = next((i for i, token in enumerate(advanced, 1) if token in stops), len(advanced))
    return RoundAccount(
        proposed=len(drafts),
        accepted_by_target=accepted,
        output_tokens=kept,
        positions_written=1 + len(drafts),
        positions_committed=kept,
        cut_by_stop=len(advanced) - kept,
    )


def decode_steps(sampled: Sequence[int], *, stops: frozenset[int]) -> int:
    """Plain decode steps that gave ``sampled``: the prompt's own pass samples the first token.

    A first token that stops therefore makes no decode step.
    """
    made = next((i for i, token in enumerate(sampled, 1) if token in stops), len(sampled))
    return max(0, made - 1)


def _refused(field: str, seen: object, allowed: str) -> ModelRefused:
    return ModelRefused(
        Finding(
            field=field,
            seen=str(seen),
            allowed=allowed,
            remedy="Measure the whole round and the acceptance under the load it is meant for.",
        )
    )
