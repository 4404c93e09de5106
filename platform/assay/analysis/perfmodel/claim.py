"""A claimed time or rate held against what must be true: the model must fit, and no step beats its bound.

``refused``: weights and state do not fit in the stated devices, so that the claim has no run behind it.
``contradicted``: it fits, and the claim is faster than the bound. Else it is ``not contradicted``, which is
no confirmation. The conditions that the verdict rests on are part of it.
"""

from dataclasses import dataclass
from enum import StrEnum

from assay.analysis.perfmodel.parallel.laid_out import LaidOut
from assay.analysis.perfmodel.roofs import DeviceRoofs
from runners.protocol.errors import Finding


class Verdict(StrEnum):
    refused = "refused"
    contradicted = "contradicted"
    not_contradicted = "not contradicted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A step of ``batch`` sequences over ``context`` stored tokens is said to take ``step_s``."""

    step_s: float
    batch: int
    context: int
    busy_replicas: int | None = None

    @property
    def tokens_per_s(self) -> float:
        return self.batch / self.step_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """``bound_s`` stands beside a refusal as well: it says what would hold on devices that are large
    enough."""

    verdict: Verdict
    reason: str
    bound_s: float
    tokens_per_s_at_most: float
    held_bytes: int
    device_bytes: int | None
    conditions: tuple[str, ...]

    def finding(self, claim: Claim) -> Finding | None:
        """What is wrong with the claim, for a caller that refuses it; None if nothing is."""
        if self.verdict is Verdict.not_contradicted:
            return None
        return Finding(
            field="claim",
            seen=f"{claim.step_s * 1e3:.3g} ms a step ({claim.tokens_per_s:.4g} token/s): {self.reason}",
            allowed=f"at least {self.bound_s * 1e3:.3g} ms a step, at most "
            f"{self.tokens_per_s_at_most:.4g} token/s, on devices that hold the model",
            remedy="State format, number of devices and batch as they ran: "
            + "; ".join(self.conditions),
        )


def check_claim(claim: Claim, model: LaidOut, roofs: DeviceRoofs) -> Checked:
    """The verdict on one claim; activations, workspace and messages count nothing here."""
    operators = model.decode(
        batch=claim.batch, context=claim.context, busy_replicas=claim.busy_replicas
    )
    bound_s = roofs.bound(operators).seconds
    replicas = claim.busy_replicas or model.layout.data
    held = model.held_bytes(sequences=-(-claim.batch // replicas), context=claim.context)
    verdict, reason = _verdict(claim, model, held=held, size=roofs.memory_bytes, bound_s=bound_s)
    return Checked(
        verdict=verdict,
        reason=reason,
        bound_s=bound_s,
        tokens_per_s_at_most=claim.batch / bound_s,
        held_bytes=held,
        device_bytes=roofs.memory_bytes,
        conditions=_conditions(claim, model, roofs),
    )


def _verdict(
    claim: Claim, model: LaidOut, *, held: int, size: int | None, bound_s: float
) -> tuple[Verdict, str]:
    if size is not None and held > size:
        return (
            Verdict.refused,
            f"{model.rank.weight_bytes / 1e9:.4g} GB of weights and "
            f"{(held - model.rank.weight_bytes) / 1e9:.3g} GB of state do not fit in "
            f"{size / 1e9:.4g} GB of one device",
        )
    if claim.step_s < bound_s:
        return (
            Verdict.contradicted,
            f"reading weights and state once takes {bound_s * 1e3:.3g} ms, "
            f"{bound_s / claim.step_s:.3g} times the claim",
        )
    return Verdict.not_contradicted, f"the bound is {bound_s / claim.step_s:.0%} of the claim"


def _conditions(claim: Claim, model: LaidOut, roofs: DeviceRoofs) -> tuple[str, ...]:
    layout, declared = model.layout, model.declared
    return (
        f"{layout.devices} x {roofs.name} (tensor {layout.tensor}, expert {layout.expert}, "
        f"data {layout.data})",
        f"weights in {declared.weights.label}, K/V in {declared.kv_dtype}",
        f"batch {claim.batch}, {claim.context} stored tokens",
        "every weight is read once a step, of experts the union expected under uniform routing",
        *roofs.sources,
    )
