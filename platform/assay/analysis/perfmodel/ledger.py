"""The structure and the state of a model as the answer of ``assay predict`` lists them.

The state ledger has three columns: logical bytes, back-end layout, measured allocation; the last two are
empty until evidence fills them. Every class of state stands by itself.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from assay.analysis.perfmodel.mixers.mixer import Mixer, StoredAs
from assay.analysis.perfmodel.quantization.declared import Declared
from assay.analysis.perfmodel.state import (
    StateClass,
    recurrent_answers,
    state_bytes,
    state_classes,
)
from assay.analysis.perfmodel.structure import Layer, Structure

_WIDTHS = ("h", "h_kv", "d_k", "d_v", "window")


def structure_table(structure: Structure) -> dict[str, Any]:
    """Layers by kind, and the heads where all attention layers have the same; else null, see ``by_layer``."""
    mixers = [layer.mixer for layer, _ in structure.kinds() if layer.mixer is not None]
    kinds: Counter[str] = Counter()
    for layer, count in structure.kinds():
        if layer.mixer is not None:
            kinds[layer.mixer.kind] += count
    return {
        "family": structure.family,
        "layers": len(structure.layers),
        "kinds": dict(kinds),
        "h": _same(mixers, "h"),
        "h_kv": _same(mixers, "h_kv"),
        "d_head": _same(mixers, "d_k"),
        "by_layer": [
            {**_layer(kind.layer), "count": kind.count, "positions": list(kind.positions)}
            for kind in structure.layer_kinds
        ],
    }


def state_ledger(structure: Structure, declared: Declared, *, context: int) -> dict[str, Any]:
    """Every class of state with its three functions at ``context``, and the sums of what is state proper."""
    classes = state_classes(structure, kv_dtype=declared.kv_dtype)
    proper = [each for each in classes if each.in_total]
    resident = sum(each.resident_bytes(context) for each in proper)
    return {
        "bytes_per_token": sum(c.bytes_per_token for c in proper if c.growth == "linear"),
        "constant_bytes_per_sequence": sum(c.constant_bytes for c in proper),
        "bytes_at_context": resident,
        "dtype": declared.kv_dtype,
        "dtype_source": declared.kv_source,
        "bytes_at_context_by_recurrent_dtype": _by_recurrent_dtype(structure, declared, context),
        "by_class": [_class(structure, each, declared, context=context) for each in classes],
        "columns": {
            "logical_bytes": resident,
            "backend_layout_bytes": None,
            "measured_allocation_bytes": None,
        },
    }


def crossover_tokens(
    classes: Sequence[StateClass], *, weight_bytes: int, batch: int
) -> float | None:
    """Context at which a decode step of ``batch`` sequences reads as many state bytes as weight bytes.

    Where windows fill before that, only what still grows counts on. None when the state never reaches it.
    For conventional attention: D_w / (2 L B d_kv b_kv).
    """
    growing = [(c.part.read_tokens, c.bytes_per_token) for c in classes if c.bytes_per_token]
    slope = sum(size for _, size in growing)
    fixed, start = sum(c.constant_bytes for c in classes), 0
    for cap, size in sorted((cap, size) for cap, size in growing if cap is not None):
        if batch * (fixed + slope * cap) >= weight_bytes:
            break
        fixed, slope, start = fixed + size * cap, slope - size, cap
    if not slope:
        return None
    return max(float(start), (weight_bytes - batch * fixed) / (batch * slope))


def _same(mixers: Sequence[Mixer], name: str) -> Any:
    """The value that all mixers which have ``name`` share, else None."""
    values = {getattr(mixer, name) for mixer in mixers if hasattr(mixer, name)}
    return values.pop() if len(values) == 1 else None


def _layer(layer: Layer) -> dict[str, Any]:
    mixer, feed_forward = layer.mixer, layer.feed_forward
    return {
        "mixer": None if mixer is None else mixer.kind,
        "feed_forward": None if feed_forward is None else feed_forward.kind,
        **{name: getattr(mixer, name) for name in _WIDTHS if hasattr(mixer, name)},
    }


def _class(
    structure: Structure, state: StateClass, declared: Declared, *, context: int
) -> dict[str, Any]:
    return {
        "class": state.kind,
        "layers": state.layers,
        "reading_layers": state.reading_layers,
        "dtype": state.dtype,
        "bytes_per_token": state.bytes_per_token,
        "cap_tokens": state.cap_tokens,
        "constant_bytes": state.constant_bytes,
        "in_total": state.in_total,
        "alternatives": _alternatives(structure, state, declared),
        "growth": state.growth,
        "resident_bytes_at_context": state.resident_bytes(context),
        "read_bytes_at_context": state.read_bytes(context),
        "update_flops_at_context": state.update_flops(context + 1),
    }


def _by_recurrent_dtype(structure: Structure, declared: Declared, context: int) -> dict[str, int]:
    """The sum at ``context`` for each answer; empty without recurrent state."""
    classes = state_classes(structure, kv_dtype=declared.kv_dtype)
    if not any(each.part.stored_as is StoredAs.RECURRENT for each in classes):
        return {}
    return {
        label: state_bytes(
            structure, tokens=context, kv_dtype=declared.kv_dtype, recurrent_dtype=dtype
        )
        for label, dtype in recurrent_answers(structure).items()
    }


def _alternatives(
    structure: Structure, state: StateClass, declared: Declared
) -> list[dict[str, Any]]:
    """The answers for recurrent state whose element type the configuration does not declare."""
    answers = recurrent_answers(structure)
    if state.part.stored_as is not StoredAs.RECURRENT or len(answers) == 1:
        return []
    found = []
    for label, dtype in answers.items():
        classes = state_classes(structure, kv_dtype=declared.kv_dtype, recurrent_dtype=dtype)
        size = next(c.constant_bytes for c in classes if c.part == state.part)
        found.append({"label": label, "dtype": dtype, "constant_bytes": size})
    return found
