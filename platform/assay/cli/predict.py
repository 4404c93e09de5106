"""``assay predict``: what a model's configuration alone says, with no model, no GPU and no database."""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from assay.analysis.devices.catalogue import device, peak_flops_per_s
from assay.analysis.devices.machine import best_flops, best_read_bandwidth
from assay.analysis.perfmodel.config_reader import read_structure
from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.quantization import Declared, declared_formats
from assay.analysis.perfmodel.report import DeviceRoofs, predict
from assay.analysis.perfmodel.structure import Structure
from assay.analysis.perfmodel.units import bandwidth_text, capacity_text
from assay.analysis.perfmodel.weights import weight_bytes
from assay.archive.benchmarks import stored_benchmarks
from assay.archive.paths import home_from_environment
from assay.cli.exits import DONE, print_json, refuse
from runners.protocol.errors import Finding

HELP = "Parameters, state, weights, work and lower bounds from a config.json; refuses what it does not know."
THIS_HOST = "this-host"
DEFAULT_CONTEXT = 4096


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", required=True, help="a Hugging Face config.json, or a RunSpec")
    parser.add_argument("--quant-config", help="a companion hf_quant_config.json")
    parser.add_argument(
        "--device", help=f"a catalogued device, or {THIS_HOST} (stored measurements)"
    )
    parser.add_argument("--batch", type=int, default=1, help="sequences that decode together")
    parser.add_argument("--context", type=int, help=f"stored tokens (default {DEFAULT_CONTEXT})")
    parser.add_argument("--weight-dtype", help="element type the weights are executed in")
    parser.add_argument("--kv-dtype", help="element type of the KV cache")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


def run(arguments: argparse.Namespace) -> int:
    try:
        answer = _answer(arguments)
    except ModelRefused as refusal:
        return refuse([refusal.finding], as_json=arguments.json)
    if arguments.json:
        print_json(answer)
    else:
        print(_table(answer))  # noqa: T201
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
    compute = _compute_dtype(structure, declared)
    roofs = _roofs(arguments.device, structure, declared, compute) if arguments.device else None
    return predict(
        structure,
        declared,
        batch=arguments.batch,
        context=context,
        compute_dtype=compute,
        roofs=roofs,
    )


def _compute_dtype(structure: Structure, declared: Declared) -> str:
    """The element type of activations: the weights' own if plain, else what the configuration declares."""
    label = declared.weights.label
    plain = {"float32", "bfloat16", "float16", "float64"}
    if label in plain:
        return label
    return structure.declared_dtype or "bfloat16"


def _roofs(name: str, structure: Structure, declared: Declared, compute: str) -> DeviceRoofs:
    """Rated figures of a catalogued device, or the best ones measured on this host.

    The matrix peak is that of the element type the products run in: FP8 where weights are FP8, else the type
    of the activations.
    """
    if name == THIS_HOST:
        return _measured_roofs(weight_bytes(structure, declared.weights), compute)
    entry = device(name)
    product = "float8_e4m3fn" if declared.weights.label == "float8_e4m3fn" else compute
    if product == "float8_e4m3fn" and product not in entry.peaks:
        product = compute
    peak = peak_flops_per_s(entry, product)
    bandwidth, size = entry.memory_bandwidth, entry.memory_bytes
    return DeviceRoofs(
        name=entry.name,
        flops_per_s=peak.value,
        bandwidth_bytes_per_s=bandwidth.value,
        memory_level=entry.memory_level,
        memory_bytes=int(size.value),
        sources=(
            f"dense {product} peak: {peak.column}, {peak.source}, {peak.date}",
            f"bandwidth: {bandwidth.column}, {bandwidth.source}, {bandwidth.date}",
            f"memory: {size.column} (decimal), {size.source}, {size.date}",
        ),
    )


def _measured_roofs(size: int, compute: str) -> DeviceRoofs:
    documents = stored_benchmarks(home_from_environment())
    bandwidth = best_read_bandwidth(documents, working_set_bytes=size)
    flops = best_flops(documents, dtype=compute)
    if bandwidth is None or flops is None:
        lacking = f"{compute} products" if flops is None else f"reads of {capacity_text(size)}"
        raise ModelRefused(
            Finding(
                field="device",
                seen=f"{THIS_HOST}: no stored measurement of {lacking}",
                allowed="a catalogued device, or a measured host",
                remedy=f"Measure it: assay device measure --working-set-bytes {size}",
            )
        )
    memory = documents[-1]["host"]["memory_bytes"]
    return DeviceRoofs(
        name=THIS_HOST,
        flops_per_s=flops.value,
        bandwidth_bytes_per_s=bandwidth.value,
        memory_level=bandwidth.memory_level,
        memory_bytes=memory,
        sources=(
            f"{compute} products: micro-benchmark, {flops.parameter['reference']}",
            f"bandwidth: micro-benchmark, {bandwidth.parameter['reference']}",
            "memory: observed, /proc/meminfo",
        ),
    )


def _read(path: str, *, field: str) -> Mapping[str, Any]:
    try:
        text = Path(path).read_text(encoding="utf-8")
        document = json.loads(text, parse_constant=_no_constant)
    except (OSError, ValueError, RecursionError) as error:
        raise _unreadable(field, f"{path}: {error}") from error
    if not isinstance(document, Mapping):
        raise _unreadable(field, f"{path}: not a JSON object")
    return document


def _no_constant(word: str) -> NoReturn:
    """NaN and Infinity are Python's words, not JSON's, and no size of a model."""
    raise ValueError(f"{word} is not a JSON number")


def _unreadable(field: str, seen: str) -> ModelRefused:
    return ModelRefused(
        Finding(
            field=field, seen=seen, allowed="a readable JSON object", remedy="Give another file."
        )
    )


def _table(answer: Mapping[str, Any]) -> str:
    structure, state, weights = answer["structure"], answer["state"], answer["weights"]
    rows = [
        ("parameters", f"{answer['parameters']['total']:,}"),
        ("structure", f"{structure['layers']} layers, {structure['h']} heads, "
                      f"{structure['h_kv']} KV heads of {structure['d_head']}"),
        ("state", f"{state['bytes_per_token']:,} B a token ({state['dtype']}, {state['dtype_source']}), "
                  f"{capacity_text(state['bytes_at_context'])} at context"),
        ("weights", f"{capacity_text(weights['bytes'])}, {weights['bits_per_parameter']:.2f} bits each"),
    ]  # fmt: skip
    for name, work in (("decode step", answer["decode"]), ("prompt", answer["prefill"])):
        bound = (
            "no device named"
            if work["bound_s"] is None
            else f"at least {work['bound_s'] * 1e3:.3f} ms, {work['bound_by']} ({work['memory_level']})"
        )
        rows.append(
            (name, f"{work['flops'] / 1e9:.2f} GFLOP, {work['bytes'] / 1e9:.3f} GB; {bound}")
        )
    if answer["device"]:
        found = answer["device"]
        rows.append(
            ("device", f"{found['name']}, {bandwidth_text(found['bandwidth_bytes_per_s'])}")
        )
        rows.append(("memory", f"{answer['memory']['fits']}, for "
                               f"{answer['memory']['sequences_that_fit']} sequences at most"))  # fmt: skip
    width = max(len(name) for name, _ in rows)
    lines = [f"{name:<{width}}  {text}" for name, text in rows]
    notes = [f"- {text}" for text in (*answer["assumptions"], *answer["not_modelled"])]
    return "\n".join([*lines, "", *notes])
