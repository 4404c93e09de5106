"""AWQ: 4-bit integers, a float16 scale and a zero for every output and group of inputs.

``gemm`` packs eight weights along the outputs, zeros alike: bits x elements with nothing to pad. ``gemv``
packs along the inputs and pads its groups to whole words; ``gemv_fast`` keeps zeros as float16. Without
``zero_point`` no zeros are stored (``marlin``). Source: AutoAWQ, modules/linear.
"""

from math import lcm

from assay.analysis.perfmodel.precision import Scale, StoredFormat
from assay.analysis.perfmodel.quantization.declaration import Fields, Quantized
from assay.analysis.perfmodel.quantization.weight_formats import Rule, layer_linear

_KNOWN = [
    "bits",
    "w_bit",
    "group_size",
    "q_group_size",
    "zero_point",
    "version",
    "modules_to_not_convert",
    "ignore",
]
_VERSIONS = ("gemm", "gemv", "gemv_fast", "marlin", "exllama", "ipex")
_PACKED = 8
# AutoAWQ's calculate_zeros_width: words of zeros are padded to this multiple, by group size.
_WORDS = {64: 2, 32: 4}


def read(fields: Fields, rest: StoredFormat) -> Quantized:
    """Formats of an ``awq`` declaration; the output head is never quantized."""
    fields.check_known(_KNOWN)
    bits = fields.choice("w_bit" if "w_bit" in fields.values else "bits", (4,))
    group = _group(fields)
    version = str(fields.get("version") or "gemm").lower()
    if version not in _VERSIONS:
        raise fields.refused("version", ", ".join(_VERSIONS))
    padded = _padding(fields, group) if version.startswith("gemv") else 1
    scales = [Scale(bits=16, columns=group, padded_to=padded)]
    if fields.choice("zero_point", (True, False), True):
        zero = 16 if version == "gemv_fast" else bits
        scales.append(Scale(bits=zero, columns=group, padded_to=padded))
    stored = StoredFormat(
        name=f"awq_{bits}bit_g{group or 'row'}_{version}", bits=bits, scales=tuple(scales)
    )
    excluded = fields.excluded(rest, "modules_to_not_convert", "ignore")
    return Quantized(label=stored.name, rules=(*excluded, Rule(stored=stored, kind=layer_linear)))


def _group(fields: Fields) -> int | None:
    name = "q_group_size" if "q_group_size" in fields.values else "group_size"
    return None if fields.get(name) == -1 else fields.count(name, 128)


def _padding(fields: Fields, group: int | None) -> int:
    if group is not None and group < 128 and group not in _WORDS:
        raise fields.refused("group_size", "32, 64, or at least 128 with gemv")
    return lcm(_PACKED, _PACKED * _WORDS.get(group or 128, 1))
