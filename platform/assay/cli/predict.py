"""``assay predict``: what a model's configuration alone says, with no model, no GPU and no database."""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.analysis.devices.device_roofs import THIS_HOST, measured_roofs, rated_roofs
from assay.analysis.perfmodel.answer.asked import SWEEP_BATCHES, SWEEP_CONTEXTS
from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.quantization.declared import Declared, declared_formats
from assay.analysis.perfmodel.reading.reader import read_structure
from assay.analysis.perfmodel.report import predict
from assay.analysis.perfmodel.roofs import DeviceRoofs
from assay.analysis.perfmodel.structure import Structure
from assay.analysis.perfmodel.weights import weight_bytes
from assay.archive.benchmarks import stored_benchmarks
from assay.archive.paths import home_from_environment
from assay.cli.exits import DONE, print_json, refuse
from assay.cli.predict_asked import asked_from
from assay.cli.predict_claim import add_claim, claim_answer, claim_line
from assay.cli.predict_estimate import add_estimate, estimate_answer, estimate_line
from assay.cli.predict_table import table
from runners.protocol.errors import Finding

HELP = "Parameters, state, weights, work and lower bounds from a config.json; refuses what it does not know."
DEFAULT_CONTEXT = 4096


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", required=True, help="a Hugging Face config.json, or a RunSpec")
    parser.add_argument("--quant-config", help="a companion hf_quant_config.json")
    parser.add_argument("--weight-dtype", help="element type the weights are executed in")
    parser.add_argument("--kv-dtype", help="element type of the KV cache")
    parser.add_argument(
        "--device", help=f"a catalogued device, or {THIS_HOST} (stored measurements)"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    _add_load(parser.add_argument_group("load"))
    _add_layout(parser.add_argument_group("layout and links"))
    _add_memory(parser.add_argument_group("memory"))
    add_claim(parser.add_argument_group("claim"))
    add_estimate(parser.add_argument_group("estimate"))


def _add_load(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--batch", type=int, default=1, help="sequences that decode together")
    group.add_argument("--context", type=int, help=f"stored tokens (default {DEFAULT_CONTEXT})")
    group.add_argument("--reused-tokens", type=int, default=0, help="of each prompt, from a cache")
    group.add_argument("--chunk-tokens", type=int, help="new tokens of each prompt in one step")
    group.add_argument(
        "--experts-touched", type=float, help="distinct experts a layer reads, if counted"
    )
    group.add_argument(
        "--batches", type=_counts, default=SWEEP_BATCHES, help="of the sweep: 1,8,64"
    )
    group.add_argument("--contexts", type=_counts, default=SWEEP_CONTEXTS, help="of the sweep")


def _add_layout(group: argparse._ArgumentGroup) -> None:
    for name, what in (("tp", "tensor"), ("pp", "pipeline"), ("ep", "expert"), ("dp", "data")):
        group.add_argument(f"--{name}", type=int, default=1, help=f"{what} parallel ranks")
    group.add_argument("--domain", type=int, default=8, help="devices that share the fast link")
    links = (
        ("link", "inside a domain"),
        ("across", "across domains"),
        ("remote", "of moved state"),
    )
    for name, where in links:
        group.add_argument(
            f"--{name}-alpha-us", type=float, help=f"fixed time of a message {where}"
        )
        group.add_argument(
            f"--{name}-gb-per-s", type=float, help=f"bandwidth in one direction {where}"
        )


def _add_memory(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--utilization", type=float, help="share of the total an engine takes")
    group.add_argument(
        "--remainder-bytes", type=int, help="peak activation and non-torch memory of that engine"
    )
    group.add_argument(
        "--total-bytes", type=int, help="the device's total as its driver reports it"
    )
    group.add_argument("--storage-gb-per-s", type=float, help="sustained, weights to host memory")
    group.add_argument("--host-link-gb-per-s", type=float, help="sustained, host to device")


def run(arguments: argparse.Namespace) -> int:
    try:
        answer = _answer(arguments)
    except ModelRefused as refusal:
        return refuse([refusal.finding], as_json=arguments.json)
    if arguments.json:
        print_json(answer)
    else:
        print(table(answer))  # noqa: T201
        if "claim" in answer:
            print(claim_line(answer))  # noqa: T201
        if "estimate" in answer:
            print(estimate_line(answer))  # noqa: T201
    return DONE


def _answer(arguments: argparse.Namespace) -> dict[str, Any]:
    config = _read(arguments.config, field="config")
    companion = (
        _read(arguments.quant_config, field="quant-config") if arguments.quant_config else None
    )
    structure = read_structure(config)
    declared = declared_formats(
        structure,
        config,
        companion=companion,
        weight_dtype=arguments.weight_dtype,
        kv_dtype=arguments.kv_dtype,
    )
    context = arguments.context
    if context is None:
        longest = structure.max_length or DEFAULT_CONTEXT
        context = min(DEFAULT_CONTEXT, longest)
        structure = structure.with_assumption(f"no --context given: {context} tokens")
    asked = asked_from(arguments, context=context)
    roofs = _roofs(arguments, structure, declared)
    added = {
        "claim": claim_answer(arguments, structure, declared, asked, roofs),
        "estimate": estimate_answer(arguments, structure, declared, asked),
    }
    answer = predict(structure, declared, asked, roofs=roofs)
    return answer | {name: part for name, part in added.items() if part is not None}


def _roofs(
    arguments: argparse.Namespace, structure: Structure, declared: Declared
) -> DeviceRoofs | None:
    if arguments.device is None:
        return None
    if arguments.device != THIS_HOST:
        return rated_roofs(arguments.device, declared)
    return measured_roofs(
        stored_benchmarks(home_from_environment()),
        working_set_bytes=weight_bytes(structure, declared.weights),
        dtype=declared.model_dtype,
    )


def _counts(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


def _read(path: str, *, field: str) -> Mapping[str, Any]:
    try:
        text = Path(path).read_text(encoding="utf-8")
        document = json.loads(text)  # Python's own: some configurations hold Infinity
    except (OSError, ValueError, RecursionError) as error:
        raise _unreadable(field, f"{path}: {error}") from error
    if not isinstance(document, Mapping):
        raise _unreadable(field, f"{path}: not a JSON object")
    return document


def _unreadable(field: str, seen: str) -> ModelRefused:
    return ModelRefused(
        Finding(
            field=field, seen=seen, allowed="a readable JSON object", remedy="Give another file."
        )
    )
