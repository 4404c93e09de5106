"""8-bit floats: one float32 scale for a tensor, for each output, or for each tile of a matrix.

``activation_scheme`` speaks of the other operand and is recorded apart: ``static`` stores one float32 scale
a tensor beside the weights, ``dynamic`` stores nothing. ``scale_fmt`` (ue8m0) rounds scales and stores them
as float32 all the same. Source: transformers FineGrainedFP8 and FbgemmFp8, DeepSeek-V3's checkpoint.
"""

from assay.analysis.perfmodel.precision import Scale, StoredFormat, dtype
from assay.analysis.perfmodel.quantization.declaration import Activations, Fields, Quantized
from assay.analysis.perfmodel.quantization.weight_formats import Rule, layer_linear

TENSOR_SCALE = Scale(bits=32, rows=None)
_KNOWN = [
    "activation_scheme",
    "fmt",
    "weight_block_size",
    "scale_fmt",
    "modules_to_not_convert",
    "ignored_layers",
    "dequantize",
]
_KNOWN_FBGEMM = ["activation_scale_ub", "modules_to_not_convert"]


def read(fields: Fields, rest: StoredFormat) -> Quantized:
    """Formats of an ``fp8`` declaration: by tile of ``weight_block_size``, else by tensor."""
    fields.check_known(_KNOWN)
    scheme = fields.choice("activation_scheme", ("dynamic", "static"), "dynamic")
    fields.choice("scale_fmt", ("ue8m0", "float", "none"), "none")
    element = dtype(str(fields.get("fmt") or "e4m3"), field=f"{fields.where}.fmt")
    tile = fields.get("weight_block_size")
    weight_scale = TENSOR_SCALE if tile is None else _tile(fields)
    scales = (weight_scale, TENSOR_SCALE) if scheme == "static" else (weight_scale,)
    grain = "tensor" if tile is None else f"group of {tile[1]} inputs"
    return _everywhere(
        StoredFormat(name=element, bits=8, scales=scales),
        fields.excluded(rest, "modules_to_not_convert", "ignored_layers"),
        Activations(dtype=element, scale=f"{scheme} per {grain}"),
    )


def read_by_channel(fields: Fields, rest: StoredFormat) -> Quantized:
    """Formats of an ``fbgemm_fp8`` declaration: one scale for each output, activations by token."""
    fields.check_known(_KNOWN_FBGEMM)
    stored = StoredFormat(name="float8_e4m3fn", bits=8, scales=(Scale(bits=32),))
    return _everywhere(
        stored,
        fields.excluded(rest, "modules_to_not_convert"),
        Activations(dtype="float8_e4m3fn", scale="dynamic per token"),
    )


def _everywhere(
    stored: StoredFormat, excluded: tuple[Rule, ...], activations: Activations
) -> Quantized:
    return Quantized(
        label=stored.name,
        rules=(*excluded, Rule(stored=stored, kind=layer_linear)),
        activations=activations,
    )


def _tile(fields: Fields) -> Scale:
    sides = fields.get("weight_block_size")
    if not isinstance(sides, list) or len(sides) != 2 or not all(_is_side(s) for s in sides):
        raise fields.refused("weight_block_size", "two positive whole numbers, or null")
    return Scale(bits=32, rows=sides[0], columns=sides[1])


def _is_side(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
