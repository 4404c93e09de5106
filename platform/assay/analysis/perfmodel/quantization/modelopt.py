"""ModelOpt: one algorithm for the model, or one for each layer, in ``config.json`` or its companion file.

``exclude_modules`` (``ignore`` in ``config.json``) are globs. ``MIXED_PRECISION`` names every quantized
module with its algorithm. Scales of integers are float32; AWQ stores what its inputs are divided by, 16 bits
each. Source: ModelOpt, export/quant_utils.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from assay.analysis.perfmodel.precision import Scale, StoredFormat
from assay.analysis.perfmodel.quantization.compressed_tensors import read_groups
from assay.analysis.perfmodel.quantization.declaration import (
    UNQUANTIZED,
    Activations,
    Fields,
    Quantized,
)
from assay.analysis.perfmodel.quantization.four_bit_floats import MXFP4, nvfp4
from assay.analysis.perfmodel.quantization.fp8 import TENSOR_SCALE
from assay.analysis.perfmodel.quantization.module_patterns import ModulePatterns
from assay.analysis.perfmodel.quantization.weight_formats import Rule, any_matrix, linear

_KNOWN = [
    "quant_algo",
    "kv_cache_quant_algo",
    "group_size",
    "exclude_modules",
    "ignore",
    "has_zero_point",
    "pre_quant_scale",
    "quantized_layers",
    "config_groups",
    "quantization",
]
MIXED = "MIXED_PRECISION"
_PRE_SCALE = Scale(bits=16, rows=None, columns=1)
_FP8 = "float8_e4m3fn"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Algorithm:
    stored: Callable[[int], StoredFormat]
    activations: Activations = UNQUANTIZED
    group: int = 0


def _float8(*scales: Scale) -> StoredFormat:
    return StoredFormat(name=_FP8, bits=8, scales=scales)


def _int4(group: int, *more: Scale) -> StoredFormat:
    scales = (Scale(bits=32, columns=group), _PRE_SCALE, *more)
    return StoredFormat(name=f"int4_awq_g{group}", bits=4, scales=scales)


def _int8(*more: Scale) -> StoredFormat:
    return StoredFormat(name="int8_channel", bits=8, scales=(Scale(bits=32), *more))


def _nvfp4_awq(group: int) -> StoredFormat:
    stored = nvfp4(block=group, tensor_scales=2)
    return StoredFormat(
        name="nvfp4_awq",
        bits=4,
        scales=(*stored.scales, _PRE_SCALE),
        row_multiple=stored.row_multiple,
    )


_STATIC_FP8 = Activations(dtype=_FP8, scale="static per tensor")
_TOKEN_FP8 = Activations(dtype=_FP8, scale="dynamic per token")
_FP4 = Activations(dtype="float4_e2m1fn", scale="dynamic per 16 inputs under a static tensor scale")

ALGORITHMS: Mapping[str, _Algorithm] = {
    "FP8": _Algorithm(
        stored=lambda _: _float8(TENSOR_SCALE, TENSOR_SCALE), activations=_STATIC_FP8
    ),
    "FP8_PER_CHANNEL_PER_TOKEN": _Algorithm(
        stored=lambda _: _float8(Scale(bits=32)), activations=_TOKEN_FP8
    ),
    "FP8_PB_WO": _Algorithm(
        stored=lambda side: _float8(Scale(bits=32, rows=side, columns=side)), group=128
    ),
    "FP8_BLOCK_SCALES": _Algorithm(
        stored=lambda side: _float8(Scale(bits=32, rows=side, columns=side)),
        activations=Activations(dtype=_FP8, scale="dynamic per group of 128 inputs"),
        group=128,
    ),
    "NVFP4": _Algorithm(
        stored=lambda block: nvfp4(block=block, tensor_scales=2), activations=_FP4, group=16
    ),
    "W4A16_NVFP4": _Algorithm(stored=lambda block: nvfp4(block=block), group=16),
    "NVFP4_AWQ": _Algorithm(stored=_nvfp4_awq, activations=_FP4, group=16),
    "W4A8_NVFP4_FP8": _Algorithm(
        stored=lambda block: nvfp4(block=block, tensor_scales=2), activations=_STATIC_FP8, group=16
    ),
    "W4A8_MXFP4_FP8": _Algorithm(stored=lambda _: MXFP4, activations=_STATIC_FP8),
    "W4A16_AWQ": _Algorithm(stored=_int4, group=128),
    "W4A8_AWQ": _Algorithm(
        stored=lambda group: _int4(group, TENSOR_SCALE, TENSOR_SCALE),
        activations=_STATIC_FP8,
        group=128,
    ),
    "W8A16": _Algorithm(stored=lambda _: _int8()),
    "W8A8_SQ_PER_CHANNEL": _Algorithm(
        stored=lambda _: _int8(_PRE_SCALE, TENSOR_SCALE),
        activations=Activations(dtype="int8", scale="static per tensor"),
    ),
}


def read(fields: Fields, rest: StoredFormat) -> Quantized:
    """Formats of a ``modelopt`` declaration in ``config.json``, flat or as the companion writes it."""
    if fields.get("quantization") is not None:
        return read(fields.part("quantization"), rest)
    fields.check_known(_KNOWN)
    algorithm = fields.get("quant_algo")
    if algorithm in (None, "", "NO_QUANT"):
        if fields.get("config_groups"):
            return read_groups(fields, rest)
        return Quantized(label=rest.name, rules=())
    if algorithm == MIXED:
        return _mixed(fields, rest)
    stored, activations = _algorithm(fields)
    excluded = fields.excluded(rest, "exclude_modules", "ignore")
    return Quantized(
        label=stored.name,
        rules=(*excluded, Rule(stored=stored, kind=linear)),
        activations=activations,
    )


def read_companion(companion: Mapping[str, object], rest: StoredFormat) -> Quantized:
    """Formats of a ``hf_quant_config.json``."""
    return read(Fields(values=companion, where="quant-config").part("quantization"), rest)


def _mixed(fields: Fields, rest: StoredFormat) -> Quantized:
    """Modules by name with an algorithm each; what is not named stays as it is."""
    if not fields.get("quantized_layers"):
        return read_groups(fields, rest)
    layers = fields.part("quantized_layers")
    named: dict[StoredFormat, list[str]] = {}
    formats: dict[str, Activations] = {}
    for name in layers.values:
        stored, activations = _algorithm(layers.part(name))
        named.setdefault(stored, []).append(name)
        formats[stored.name] = activations
    rules = [
        Rule(
            stored=stored,
            kind=any_matrix,
            names=ModulePatterns(entries=tuple(names), where=layers.where),
        )
        for stored, names in named.items()
    ]
    main = max(named, key=lambda stored: len(named[stored]))
    return Quantized(
        label=main.name,
        rules=(*fields.excluded(rest, "exclude_modules", "ignore"), *rules),
        activations=formats[main.name],
        assumptions=(
            f"formats differ by layer; most of the named modules are {main.name}: "
            "its activations stand for all",
        ),
    )


def _algorithm(fields: Fields) -> tuple[StoredFormat, Activations]:
    name = fields.choice("quant_algo", tuple(ALGORITHMS))
    found = ALGORITHMS[name]
    group = fields.count("group_size", found.group) if found.group else 0
    return found.stored(group), found.activations
