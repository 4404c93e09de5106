"""compressed-tensors: groups of targets, each with how its weights and inputs are quantized.

A target is a module's name, an ``re:`` expression, or a class (``Linear``); ``ignore`` goes before all. What
is stored beside a weight follows from the format: scales in the scheme's or the model's dtype, packed zero
points of asymmetric weights, ``g_idx`` (int32 an input) where groups are ordered by activation, the shape
(two int64) of packed weights. Source: compressed-tensors, quant_args, quant_scheme and its compressors.
"""

from dataclasses import dataclass

from assay.analysis.perfmodel.precision import DTYPE_BITS, Scale, StoredFormat, dtype
from assay.analysis.perfmodel.quantization.declaration import (
    UNQUANTIZED,
    Activations,
    Fields,
    Quantized,
)
from assay.analysis.perfmodel.quantization.four_bit_floats import MXFP4, nvfp4
from assay.analysis.perfmodel.quantization.module_patterns import ModulePatterns
from assay.analysis.perfmodel.quantization.weight_formats import Rule, any_matrix, linear, table

_KNOWN = [
    "config_groups",
    "ignore",
    "format",
    "quantization_status",
    "global_compression_ratio",
    "sparsity_config",
    "transform_config",
]
_KNOWN_ARGUMENTS = [
    "num_bits",
    "type",
    "symmetric",
    "group_size",
    "strategy",
    "block_structure",
    "dynamic",
    "actorder",
    "observer",
    "observer_kwargs",
    "scale_dtype",
    "zp_dtype",
]
_FORMATS = (
    "pack-quantized",
    "int-quantized",
    "float-quantized",
    "naive-quantized",
    "nvfp4-pack-quantized",
    "mxfp4-pack-quantized",
)
CLASSES = {"Linear": linear, "Embedding": table}
_WORD = 32


def read(fields: Fields, rest: StoredFormat) -> Quantized:
    """Formats of a ``compressed-tensors`` declaration."""
    fields.check_known(_KNOWN)
    # Older exporters write "frozen" beside the same packed tensors.
    fields.choice("quantization_status", ("compressed", "frozen"), "compressed")
    for unread in ("sparsity_config", "transform_config"):
        if fields.get(unread):
            raise fields.refused(unread, "none")
    return read_groups(fields, rest)


def read_groups(fields: Fields, rest: StoredFormat) -> Quantized:
    """Rules of ``config_groups``: what is ignored, then modules by name, then whole classes."""
    groups = fields.part("config_groups")
    read = [_Group.of(groups.part(name), rest, fields) for name in groups.values]
    if not read:
        raise fields.refused("config_groups", "at least one group")
    by_name = [rule for group in read for rule in group.rules(named=True)]
    by_class = [rule for group in read for rule in group.rules(named=False)]
    main = next((group for group in read if group.stored is not rest), read[0])
    return Quantized(
        label=main.stored.name,
        rules=(*fields.excluded(rest, "ignore"), *by_name, *by_class),
        activations=main.activations,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    where: str
    targets: tuple[str, ...]
    stored: StoredFormat
    activations: Activations

    @classmethod
    def of(cls, group: Fields, rest: StoredFormat, whole: Fields) -> "_Group":
        group.check_known(
            ("targets", "weights", "input_activations", "output_activations", "format")
        )
        inputs = group.part("input_activations") if group.get("input_activations") else None
        layout = _layout(group if group.get("format") else whole)
        stored = rest
        if group.get("weights"):
            stored = _weights(group.part("weights"), inputs, layout=layout, rest=rest)
        targets = group.get("targets") or ["Linear"]
        if not isinstance(targets, list):
            raise group.refused("targets", "a list of names and classes")
        return cls(
            where=f"{group.where}.targets",
            targets=tuple(str(target) for target in targets),
            stored=stored,
            activations=UNQUANTIZED if inputs is None else _activations(inputs),
        )

    def rules(self, *, named: bool) -> list[Rule]:
        names = tuple(target for target in self.targets if target not in CLASSES)
        if named:
            patterns = ModulePatterns(entries=names, where=self.where)
            return [Rule(stored=self.stored, kind=any_matrix, names=patterns)] if names else []
        return [
            Rule(stored=self.stored, kind=CLASSES[target])
            for target in self.targets
            if target in CLASSES
        ]


def _layout(fields: Fields) -> str | None:
    """How tensors are packed, as a group or the whole declaration says; None: as the bits imply."""
    layout = fields.get("format")
    if layout is not None and layout not in _FORMATS:
        raise fields.refused("format", ", ".join(_FORMATS))
    return None if layout is None else str(layout)


def _weights(
    weights: Fields, inputs: Fields | None, *, layout: str | None, rest: StoredFormat
) -> StoredFormat:
    weights.check_known(_KNOWN_ARGUMENTS)
    bits, kind = weights.count("num_bits"), weights.choice("type", ("int", "float"), "int")
    static_input = inputs is not None and inputs.get("dynamic") is False
    if kind == "float" and bits == 4:
        if layout == "mxfp4-pack-quantized" or weights.get("group_size") == 32:
            return MXFP4
        block = weights.count("group_size", 16)
        return nvfp4(block=block, tensor_scales=1 if inputs is None else 2)
    scale_bits = _scale_bits(weights, rest)
    scales = [_scale(weights, bits=scale_bits)]
    if static_input:
        scales.append(Scale(bits=scale_bits, rows=None))
    if kind == "float":
        if bits != 8:
            raise weights.refused("num_bits", "4 or 8 for floats")
        return StoredFormat(name="float8_e4m3fn", bits=8, scales=tuple(scales))
    return _integers(weights, scales, bits=bits, layout=layout)


def _integers(
    weights: Fields, scales: list[Scale], *, bits: int, layout: str | None
) -> StoredFormat:
    """8 bits as they are; packed ones in words that hold whole elements only (3 bits: ten a word)."""
    if not 1 <= bits <= 8:
        raise weights.refused("num_bits", "1 to 8 for integers")
    packed = layout == "pack-quantized" or (layout is None and bits < 8)
    a_word = _WORD // bits
    element = _WORD / a_word if packed else 8
    if not weights.choice("symmetric", (True, False), True):
        scales = [*scales, _scale(weights, bits=bits if packed else 8)]
    if packed:
        scales = [*scales, Scale(bits=128, rows=None)]
    if weights.get("actorder") in ("group", "dynamic", True):
        scales = [*scales, Scale(bits=32, rows=None, columns=1)]
    return StoredFormat(
        name=f"int{bits}_{_strategy(weights)}",
        bits=element,
        scales=tuple(scales),
        row_multiple=a_word if packed else 1,
    )


def _scale(weights: Fields, *, bits: int) -> Scale:
    strategy = _strategy(weights)
    if strategy == "tensor":
        return Scale(bits=bits, rows=None)
    if strategy == "channel":
        return Scale(bits=bits)
    if strategy == "block":
        rows, columns = _block(weights)
        return Scale(bits=bits, rows=rows, columns=columns)
    return Scale(bits=bits, columns=weights.count("group_size"))


def _strategy(weights: Fields) -> str:
    """The declared one, else what the group size says: none is a tensor, -1 a channel."""
    size = weights.get("group_size")
    inferred = "tensor" if size is None else "channel" if size == -1 else "group"
    allowed = ("tensor", "channel", "group", "block", "tensor_group")
    return str(weights.choice("strategy", allowed, inferred))


def _block(weights: Fields) -> tuple[int, int]:
    sides = weights.get("block_structure")
    if isinstance(sides, str):
        sides = [int(side) if side.isdecimal() else 0 for side in sides.split("x")]
    if (
        not isinstance(sides, list)
        or len(sides) != 2
        or not all(isinstance(s, int) and s > 0 for s in sides)
    ):
        raise weights.refused("block_structure", "two positive whole numbers")
    return sides[0], sides[1]


def _scale_bits(weights: Fields, rest: StoredFormat) -> int:
    """Scales have the weight's own dtype before it was quantized, unless the scheme names another."""
    declared = weights.get("scale_dtype")
    if declared is None:
        return int(rest.bits)
    return DTYPE_BITS[dtype(str(declared), field=f"{weights.where}.scale_dtype")]


def _activations(inputs: Fields) -> Activations:
    bits, kind = inputs.count("num_bits"), inputs.choice("type", ("int", "float"), "int")
    names = {
        ("float", 8): "float8_e4m3fn",
        ("float", 4): "float4_e2m1fn",
        ("int", 8): "int8",
        ("int", 4): "int4",
    }
    if (kind, bits) not in names:
        raise inputs.refused("num_bits", "4 or 8")
    moving = "static" if inputs.get("dynamic") is False else "dynamic"
    grain = inputs.get("strategy") or ("group" if inputs.get("group_size") else "tensor")
    return Activations(dtype=names[kind, bits], scale=f"{moving} per {grain}")
