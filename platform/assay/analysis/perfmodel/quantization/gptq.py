"""GPTQ: integers packed along the inputs, a 16-bit scale and a packed zero for every group of inputs.

``qweight`` bits x elements; ``scales`` float16 and ``qzeros`` of ``bits`` for each output and group, stored
for symmetric weights as well; ``g_idx`` int32 for each input, stored whether or not inputs are reordered
(``desc_act``). The ``marlin`` layout stores neither zeros nor indices. Source: AutoGPTQ and GPTQModel,
QuantLinear.
"""

from collections.abc import Mapping
from typing import Any

from assay.analysis.perfmodel.precision import Scale, StoredFormat
from assay.analysis.perfmodel.quantization.declaration import Fields, Quantized
from assay.analysis.perfmodel.quantization.module_patterns import ModulePatterns
from assay.analysis.perfmodel.quantization.weight_formats import (
    Rule,
    any_matrix,
    layer_linear,
    linear,
)

_BITS = (2, 3, 4, 8)
_KNOWN = [
    "bits",
    "group_size",
    "desc_act",
    "sym",
    "lm_head",
    "dynamic",
    "checkpoint_format",
    "format",
    "is_marlin_format",
    "modules_in_block_to_quantize",
    "modules_to_not_convert",
]


def read(fields: Fields, rest: StoredFormat) -> Quantized:
    """Formats of a ``gptq`` declaration. ``dynamic`` names modules with other bits, or (``-:``) without."""
    fields.check_known(_KNOWN)
    stored = _stored(fields)
    own = [*_dynamic(fields, rest), *fields.excluded(rest, "modules_to_not_convert")]
    everywhere = linear if fields.choice("lm_head", (False, True), False) else layer_linear
    chosen = _chosen_modules(fields)
    return Quantized(
        label=stored.name, rules=(*own, Rule(stored=stored, kind=everywhere, names=chosen))
    )


def _stored(fields: Fields) -> StoredFormat:
    bits = fields.choice("bits", _BITS)
    group = None if fields.get("group_size") == -1 else fields.count("group_size")
    layout = fields.get("checkpoint_format") or fields.get("format") or "gptq"
    if layout not in ("gptq", "gptq_v2", "marlin"):
        raise fields.refused("checkpoint_format", "gptq, gptq_v2, marlin")
    scales = [Scale(bits=16, columns=group)]
    if layout != "marlin" and not fields.get("is_marlin_format"):
        scales += [Scale(bits=bits, columns=group), Scale(bits=32, rows=None, columns=1)]
    return StoredFormat(name=f"gptq_{bits}bit_g{group or 'row'}", bits=bits, scales=tuple(scales))


def _dynamic(fields: Fields, rest: StoredFormat) -> list[Rule]:
    """``{"-:expression": {}}`` leaves modules alone, ``{"+:expression": {"bits": 8}}`` overrides fields."""
    if not fields.get("dynamic"):
        return []
    part = fields.part("dynamic")
    return [_override(fields, part, name, rest) for name in part.values]


def _override(fields: Fields, part: Fields, name: str, rest: StoredFormat) -> Rule:
    names = ModulePatterns(
        entries=(f"re:{name.removeprefix('-:').removeprefix('+:')}",), where=part.where
    )
    if name.startswith("-:"):
        return Rule(stored=rest, kind=any_matrix, names=names)
    changed: Mapping[str, Any] = {**fields.values, **part.part(name).values}
    stored = _stored(Fields(values=changed, where=f"{part.where}.{name}"))
    return Rule(stored=stored, kind=any_matrix, names=names)


def _chosen_modules(fields: Fields) -> ModulePatterns | None:
    """``modules_in_block_to_quantize``: lists of names, quantized together; nothing else is."""
    lists = fields.get("modules_in_block_to_quantize")
    if not lists:
        return None
    flat = tuple(str(name) for names in lists for name in names)
    return ModulePatterns(entries=flat, where=f"{fields.where}.modules_in_block_to_quantize")
