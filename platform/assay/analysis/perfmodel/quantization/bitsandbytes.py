"""bitsandbytes: 8-bit rows with one float32 each, or 4-bit codes in flat blocks of 64.

4 bits: a float32 maximum for 64 elements; with double quantization 8 bits for 64 and a float32 for 256 of
those, 4 + 8/64 + 32/16384 = 4.127 bits. Each tensor brings its table of 16 codes in float32, with double
quantization one of 256 more; a description of some hundred bytes is not counted. Source: bitsandbytes,
QuantState.
"""

from assay.analysis.perfmodel.precision import FlatScale, Scale, StoredFormat
from assay.analysis.perfmodel.quantization.declaration import (
    UNQUANTIZED,
    Activations,
    Fields,
    Quantized,
)
from assay.analysis.perfmodel.quantization.weight_formats import Rule, layer_linear

BLOCK = 64
NESTED_BLOCK = 256
_INT8_ACTIVATIONS = Activations(
    dtype="int8", scale="dynamic per token, outlying inputs unquantized"
)
_KNOWN = [
    "load_in_8bit",
    "load_in_4bit",
    "bnb_4bit_quant_type",
    "bnb_4bit_use_double_quant",
    "bnb_4bit_compute_dtype",
    "bnb_4bit_quant_storage",
    "llm_int8_skip_modules",
    "llm_int8_threshold",
    "llm_int8_has_fp16_weight",
    "llm_int8_enable_fp32_cpu_offload",
]


def read(fields: Fields, rest: StoredFormat) -> Quantized:
    """Formats of a ``bitsandbytes`` declaration; the output head is left alone by its loaders."""
    values = {name.removeprefix("_"): value for name, value in fields.values.items()}
    fields = Fields(values=values, where=fields.where)
    fields.check_known(_KNOWN)
    eight, four = (
        fields.choice(name, (False, True), False) for name in ("load_in_8bit", "load_in_4bit")
    )
    if eight is four:
        raise fields.refused("load_in_4bit", "either load_in_4bit or load_in_8bit")
    stored = (
        _four_bit(fields)
        if four
        else StoredFormat(name="bnb_int8", bits=8, scales=(Scale(bits=32),))
    )
    excluded = fields.excluded(rest, "llm_int8_skip_modules")
    return Quantized(
        label=stored.name,
        rules=(*excluded, Rule(stored=stored, kind=layer_linear)),
        activations=UNQUANTIZED if four else _INT8_ACTIVATIONS,
    )


def _four_bit(fields: Fields) -> StoredFormat:
    code = fields.choice("bnb_4bit_quant_type", ("fp4", "nf4"), "fp4")
    table = Scale(bits=16 * 32, rows=None)
    if not fields.choice("bnb_4bit_use_double_quant", (False, True), False):
        return StoredFormat(
            name=f"bnb_{code}", bits=4, scales=(FlatScale(bits=32, elements=BLOCK), table)
        )
    nested = (
        FlatScale(bits=8, elements=BLOCK),
        FlatScale(bits=32, elements=BLOCK * NESTED_BLOCK),
        Scale(bits=256 * 32, rows=None),
    )
    return StoredFormat(name=f"bnb_{code}_double", bits=4, scales=(*nested, table))
