"""``assay predict --estimate-for ENGINE``: a conditional estimate of the step beside its bound."""

import argparse
from typing import Any

from assay.analysis.device_estimate.answer import step_estimate
from assay.analysis.device_estimate.terms import StepLoad
from assay.analysis.devices.catalogue import device
from assay.analysis.devices.device_roofs import THIS_HOST
from assay.analysis.errors import ClaimRefused
from assay.analysis.perfmodel.answer.asked import Asked
from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.parallel.laid_out import lay_out
from assay.analysis.perfmodel.quantization.declared import Declared
from assay.analysis.perfmodel.structure import Structure
from assay.archive.published import published_parameters
from runners.protocol.errors import Finding


def add_estimate(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--estimate-for",
        metavar="ENGINE",
        help="estimate the step by parameters fitted on published measurements: vllm, sglang, gpt-fast, ...",
    )
    group.add_argument(
        "--output-tokens", type=int, help="of each answer: prompts of --context run in between"
    )


def estimate_answer(
    arguments: argparse.Namespace, structure: Structure, declared: Declared, asked: Asked
) -> dict[str, Any] | None:
    """The estimate, or None if none was asked for. Raises ModelRefused where a parameter is not known."""
    engine = arguments.estimate_for
    if engine is None:
        return None
    if arguments.device in (None, THIS_HOST):
        raise ModelRefused(
            Finding(
                field="device",
                seen=str(arguments.device),
                allowed="a catalogued accelerator",
                remedy="Name one; this host is forecast with its run, from its own micro-benchmark.",
            )
        )
    load = StepLoad(
        batch=asked.batch,
        context=asked.context,
        new=asked.context - asked.reused_tokens if arguments.output_tokens else None,
        reused=asked.reused_tokens,
        output=arguments.output_tokens,
    )
    try:
        found = step_estimate(
            lay_out(structure, declared, asked.layout),
            load,
            device_name=device(arguments.device).name,
            engine=engine,
            table=published_parameters(),
        )
    except ClaimRefused as refusal:
        raise ModelRefused(refusal.finding) from refusal
    return dict(found)


def estimate_line(answer: dict[str, Any]) -> str:
    """The estimate as one line below the table."""
    found = answer["estimate"]
    low, high = found["range_s"]
    beyond = f" ({', '.join(found['beyond'])})" if found["beyond"] else ""
    parts = ", ".join(
        f"{part['parameter']} {part['seconds'] * 1e3:.3g} ms ({part['source']})"
        for part in found["parts"][:3]
    )
    return (
        f"estimate for {found['engine']}: {found['step_s'] * 1e3:.4g} ms a step, "
        f"{low * 1e3:.4g} to {high * 1e3:.4g} for {found['coverage']:.0%} of held-out steps; "
        f"{found['validity']}{beyond}; largest parts: {parts}"
    )
