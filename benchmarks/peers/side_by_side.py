"""What five public models of the same job say of each configuration, beside what this one says.

    PYTHONPATH=platform:. python benchmarks/peers/side_by_side.py    write the tables of docs/side-by-side.md

The peers' figures are data (``tests/data/peers/``, made with ``drive.py``); ours are computed here, under the
same conditions: decode, 4,096 stored tokens, one device. What a peer counts as weights is compared with the
same quantity of ours, so a difference of definition is no difference of value.
"""

import json
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from assay.analysis.devices.catalogue import device, peak_flops_per_s
from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.operators import decode_sequences, total_useful_flops
from assay.analysis.perfmodel.precision import dtype_bytes
from assay.analysis.perfmodel.quantization.declared import Declared, declared_formats
from assay.analysis.perfmodel.reading.reader import read_structure
from assay.analysis.perfmodel.roofs import DeviceRoofs
from assay.analysis.perfmodel.state import kv_elements_per_token, state_bytes
from assay.analysis.perfmodel.structure import Structure
from assay.analysis.perfmodel.weights import placed_tensors, step_weight_bytes, weight_bytes
from assay.analysis.perfmodel.work import prepare

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = ROOT / "experiments/models"
DATA = ROOT / "tests/data/peers"
DOCUMENT = ROOT / "docs/side-by-side.md"
TOLERANCE = 0.01
SHOWN = 4  # models named one by one
QUANTITIES = ("weight_bytes", "kv_bytes_per_token", "decode_flops")
# What a peer's weights are: all of them, those that a step reads, or the layers' alone.
WEIGHTS_ARE = {
    "llm-viewer": "read", "genz": "read", "llm-analysis": "total", "infersim": "layers",
    "aiconfigurator": "total",
}  # fmt: skip
# Peers that take the quantization of the configuration into account; the others were run with 16 bits.
READS_QUANTIZATION = ("aiconfigurator",)
# Peers that state what a sequence stores at its length, a token; the others what one more token adds.
STATE_AT_LENGTH = {"aiconfigurator": 4096 + 2}
DEVICE_OF = {
    "nvidia_H100": "H100-SXM", "h100-sxm-80gb": "H100-SXM", "H100_GPU": "H100-SXM",
    "h100_sxm": "H100-SXM", "H200": "H200-SXM",
}  # fmt: skip
BATCHES = (1, 32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One quantity of one model, theirs and ours."""

    peer: str
    model: str
    quantity: str
    theirs: float
    ours: float

    @property
    def relative(self) -> float:
        return self.theirs / self.ours - 1

    @property
    def agrees(self) -> bool:
        return abs(self.relative) <= TOLERANCE


def peers() -> dict[str, dict[str, Any]]:
    """The stored answers by peer."""
    found = {}
    for name in WEIGHTS_ARE:
        found[name] = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    return found


def models() -> list[str]:
    names = [p.stem for p in CONFIGS.glob("*.json") if not p.name.endswith(".hf_quant_config.json")]
    return sorted(name.replace("__", "/") for name in names)


@cache
def ours(model: str, *, peer: str, context: int) -> dict[str, float]:
    """Our figures of one model under the conditions of one peer; raises ModelRefused if we cannot read it."""
    structure, declared = _read(model, as_declared=peer in READS_QUANTIZATION)
    found = {
        "weight_bytes": _weights(structure, declared, WEIGHTS_ARE[peer]),
        "kv_bytes_per_token": _state(structure, declared, length=STATE_AT_LENGTH.get(peer)),
    }
    prepared = prepare(
        structure, formats=declared.weights, kv_dtype=declared.kv_dtype,
        activation_dtype=declared.model_dtype,
    )  # fmt: skip
    for batch in BATCHES:
        load = prepared.load(decode_sequences(batch=batch, context=context))
        operators = prepared.operators(load, sampled=batch)
        if batch == 1:
            found["decode_flops"] = total_useful_flops(operators)
        for name in {"H100-SXM", "H200-SXM"}:
            found[f"bound_s.{name}.{batch}"] = _roofs(name).bound(operators).seconds
    return found


def compared(peer: str, answer: dict[str, Any]) -> list[Compared]:
    """Every quantity that the peer gave of a model that we read too."""
    rows = []
    for row in answer["rows"]:
        if "error" in row:
            continue
        mine = ours(row["model"], peer=peer, context=answer["context"])
        rows += [
            Compared(
                peer=peer, model=row["model"], quantity=name, theirs=row[name], ours=mine[name]
            )
            for name in QUANTITIES
            if row.get(name)
        ]
    return rows


def step_times(peer: str, answer: dict[str, Any], *, field: str = "step_s") -> list[Compared]:
    """The peer's step times beside our lower bound of the same device; ``quantity`` names the batch."""
    rows = []
    for row in answer["rows"]:
        for batch, seconds in row.get(field, {}).items():
            name = f"bound_s.{DEVICE_OF[row['device']]}.{batch}"
            mine = ours(row["model"], peer=peer, context=answer["context"])[name]
            rows.append(
                Compared(
                    peer=peer, model=row["model"], quantity=f"batch {batch}", theirs=seconds,
                    ours=mine,
                )
            )  # fmt: skip
    return rows


def _read(model: str, *, as_declared: bool) -> tuple[Structure, Declared]:
    stem = model.replace("/", "__")
    config = json.loads((CONFIGS / f"{stem}.json").read_text(encoding="utf-8"))
    structure = read_structure(config)
    sixteen_bits = None if as_declared else "bfloat16"
    companion = CONFIGS / f"{stem}.hf_quant_config.json"
    declared = declared_formats(
        structure,
        config,
        companion=json.loads(companion.read_text(encoding="utf-8"))
        if as_declared and companion.is_file()
        else None,
        weight_dtype=sixteen_bits,
        kv_dtype=sixteen_bits,
    )
    return structure, declared


def _weights(structure: Structure, declared: Declared, kind: str) -> int:
    if kind == "total":
        return weight_bytes(structure, declared.weights)
    if kind == "read":
        return step_weight_bytes(structure, declared.weights, rows=1)
    return sum(declared.weights.bytes_of(p) for p in placed_tensors(structure) if p.layers)


def _state(structure: Structure, declared: Declared, *, length: int | None) -> float:
    if length is None:
        return kv_elements_per_token(structure) * dtype_bytes(declared.kv_dtype, field="kv-dtype")
    return state_bytes(structure, tokens=length, kv_dtype=declared.kv_dtype) / length


def _roofs(name: str) -> DeviceRoofs:
    entry = device(name)
    return DeviceRoofs(
        name=name,
        flops_per_s=peak_flops_per_s(entry, "bfloat16").value,
        bandwidth_bytes_per_s=entry.memory_bandwidth.value,
        memory_level=entry.memory_level,
        memory_bytes=None,
        sources=(),
    )


def reading_table() -> list[str]:
    """Who reads what: agrees, differs by so much, or cannot read it."""
    answers = peers()
    by_peer = {peer: _by_model(compared(peer, answer)) for peer, answer in answers.items()}
    errors = {
        peer: {row["model"] for row in answer["rows"] if "error" in row}
        for peer, answer in answers.items()
    }
    lines = [
        "| model | this model | " + " | ".join(answers) + " |",
        "|---|---|" + "---|" * len(answers),
    ]
    for model in models():
        cells = [
            "-" if model in errors[peer] else _cell(by_peer[peer].get(model, []))
            for peer in answers
        ]
        lines.append(f"| {model} | {_own_cell(model)} | " + " | ".join(cells) + " |")
    return lines


def time_table() -> list[str]:
    """Decode step times: how many, the median ratio to our bound, and how many lie below it."""
    lines = [
        "| peer | device | points | median of theirs / our bound | lowest | below the bound |",
        "|---|---|---|---|---|---|",
    ]
    for peer, answer in peers().items():
        for field, label in (("step_s", ""), ("silicon_step_s", ", kernels measured")):
            times = step_times(peer, answer, field=field)
            if not times:
                continue
            ratios = sorted(t.theirs / t.ours for t in times)
            device_name = next(row["device"] for row in answer["rows"] if "device" in row)
            below = sum(ratio < 1 - TOLERANCE for ratio in ratios)
            lines.append(
                f"| {peer}{label} | {device_name} | {len(ratios)} | {ratios[len(ratios) // 2]:.2f} | "
                f"{ratios[0]:.2f} | {below} |"
            )
    return lines


def _by_model(rows: list[Compared]) -> dict[str, list[Compared]]:
    found: dict[str, list[Compared]] = {}
    for row in rows:
        found.setdefault(row.model, []).append(row)
    return found


_SHORT = {"weight_bytes": "weights", "kv_bytes_per_token": "KV", "decode_flops": "FLOP"}


def _cell(rows: list[Compared]) -> str:
    differing = [f"{_SHORT[r.quantity]} {r.relative:+.0%}" for r in rows if not r.agrees]
    return ", ".join(differing) if differing else "agrees"


def _own_cell(model: str) -> str:
    try:
        found = ours(model, peer="llm-viewer", context=4096)
    except ModelRefused as refusal:
        return f"refused: {refusal.finding.field}"
    return (
        f"{found['weight_bytes'] / 1e9:.2f} GB read, {found['kv_bytes_per_token']:,.0f} B, "
        f"{found['decode_flops'] / 1e9:.2f} GFLOP"
    )


def reasons_table() -> list[str]:
    """Every difference with its reason, and for how many models it holds."""
    found: dict[tuple[str, str], dict[str, list[str]]] = {}
    for reason in json.loads((DATA / "differences.json").read_text(encoding="utf-8")):
        quantities = found.setdefault((reason["peer"], reason["why"]), {})
        quantities[_SHORT[reason["quantity"]]] = reason["models"]
    lines = ["| tool | what | models | why |", "|---|---|---|---|"]
    for (peer, why), quantities in found.items():
        touched = sorted({model for models in quantities.values() for model in models})
        shown = ", ".join(touched) if len(touched) <= SHOWN else f"{len(touched)} of them"
        lines.append(f"| {peer} | {', '.join(quantities)} | {shown} | {why} |")
    return lines


def written(text: str) -> str:
    """The document with its tables as they are computed now."""
    tables = {"reading": reading_table(), "reasons": reasons_table(), "times": time_table()}
    for name, lines in tables.items():
        before, start, rest = text.partition(f"<!-- {name} -->\n")
        _old, end, after = rest.partition("<!-- end -->")
        text = before + start + "\n".join(lines) + "\n" + end + after
    return text


def main() -> int:
    text = DOCUMENT.read_text(encoding="utf-8")
    DOCUMENT.write_text(written(text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
