"""``assay predict --claim-...``: somebody's figure held against what must be true of it."""

import argparse
from dataclasses import asdict
from typing import Any

from assay.analysis.perfmodel.answer.asked import Asked
from assay.analysis.perfmodel.claim import Claim, check_claim
from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.parallel.laid_out import lay_out
from assay.analysis.perfmodel.quantization.declared import Declared
from assay.analysis.perfmodel.roofs import DeviceRoofs
from assay.analysis.perfmodel.structure import Structure
from runners.protocol.errors import Finding


def add_claim(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--claim-step-ms",
        type=float,
        help="a decode step said to take so long; refused if it can't",
    )
    group.add_argument(
        "--claim-tokens-per-s", type=float, help="the same as a rate of all --batch sequences"
    )


def claim_answer(
    arguments: argparse.Namespace,
    structure: Structure,
    declared: Declared,
    asked: Asked,
    roofs: DeviceRoofs | None,
) -> dict[str, Any] | None:
    """What holds of the claim; None without one. Raises ModelRefused where it can't be true."""
    step_s = _step_s(arguments)
    if step_s is None:
        return None
    if roofs is None:
        raise _refused("device", "absent", "a device: a claim without one can't be checked")
    claim = Claim(step_s=step_s, batch=asked.batch, context=asked.context)
    checked = check_claim(claim, lay_out(structure, declared, asked.layout), roofs)
    finding = checked.finding(claim)
    if finding is not None:
        raise ModelRefused(finding)
    return {"claimed_step_s": step_s, "claimed_tokens_per_s": claim.tokens_per_s, **asdict(checked)}


def claim_line(answer: dict[str, Any]) -> str:
    """The claim as one line below the table."""
    claim = answer["claim"]
    return f"claim: {claim['claimed_step_s'] * 1e3:.4g} ms a step is {claim['verdict']}: {claim['reason']}"


def _step_s(arguments: argparse.Namespace) -> float | None:
    step_ms, rate = arguments.claim_step_ms, arguments.claim_tokens_per_s
    if step_ms is not None and rate is not None:
        raise _refused("claim-step-ms, claim-tokens-per-s", "both", "one of them")
    for field, value in (("claim-step-ms", step_ms), ("claim-tokens-per-s", rate)):
        if value is not None and value <= 0:
            raise _refused(field, str(value), "more than 0")
    if rate is not None:
        return float(arguments.batch / rate)
    return None if step_ms is None else float(step_ms / 1e3)


def _refused(field: str, seen: str, allowed: str) -> ModelRefused:
    return ModelRefused(
        Finding(field=field, seen=seen, allowed=allowed, remedy="State the claim with its device.")
    )
