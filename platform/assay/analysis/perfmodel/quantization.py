"""Stored formats that a configuration declares: none, GPTQ, FP8 by block or tensor, a companion, GGUF types.

Scales count as bits per element; excluded modules keep the configuration's own dtype. A method that is not
listed here is refused by name.
"""

import fnmatch
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.precision import (
    DTYPE_BITS,
    GGUF_FORMATS,
    StoredFormat,
    dtype,
    plain,
)
from assay.analysis.perfmodel.structure import Structure
from assay.analysis.perfmodel.weights import WeightFormats, WeightGroup, by_group, uniform
from runners.protocol.errors import Finding

ASSUMED_DTYPE = "bfloat16"
_ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj")


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """Weight formats and KV dtype that the files declare, with what had to be assumed for them."""

    weights: WeightFormats
    kv_dtype: str
    kv_source: str
    assumptions: tuple[str, ...]


def declared_formats(
    structure: Structure,
    config: Mapping[str, Any],
    *,
    companion: Mapping[str, Any] | None,
    weight_dtype: str | None,
    kv_dtype: str | None,
) -> Declared:
    """Formats from the command line, else the companion ``hf_quant_config``, else the configuration.

    ``weight_dtype`` replaces every format (a dequantizing engine). KV dtype: ``kv_dtype``, else the
    companion's, else ``kv_cache_scheme``, else the configuration's dtype, else bfloat16 as an assumption. A
    RunSpec declares both in its ``artifact.precision``.
    """
    assumptions = []
    precision = (config.get("artifact") or {}).get("precision")
    if precision and weight_dtype is None:
        given_kv = kv_dtype or str(precision["kv"]["dtype"])
        return Declared(
            weights=stored_formats(precision["weights"]),
            kv_dtype=dtype(given_kv, field="artifact.precision.kv"),
            kv_source="command line" if kv_dtype else "artifact.precision",
            assumptions=(),
        )
    own = structure.declared_dtype
    if own is None:
        own = ASSUMED_DTYPE
        if weight_dtype is None:
            assumptions.append(f"no dtype declared: weights taken as {ASSUMED_DTYPE}")
    base = dtype(own, field="torch_dtype")
    if weight_dtype is not None:
        weights = uniform(plain(weight_dtype, field="weight-dtype"))
    else:
        weights = _declared_weights(config, companion, base=base)
    kv, source = _kv_dtype(config, companion, given=kv_dtype, base=base)
    if source == "config" and structure.declared_dtype is None:
        source = "assumed"
        assumptions.append(f"no dtype declared: KV cache taken as {ASSUMED_DTYPE}")
    return Declared(weights=weights, kv_dtype=kv, kv_source=source, assumptions=tuple(assumptions))


def stored_formats(precision: Mapping[str, Any]) -> WeightFormats:
    """Formats of a GGUF artifact's tensors from its declared weight precision.

    Matrices have ``dtype``; the embedding and the norms what ``excluded_dtypes`` says of them.
    """
    excluded = {str(k): str(v) for k, v in (precision.get("excluded_dtypes") or {}).items()}
    main = _stored(str(precision["dtype"]))
    embedding = next((_stored(v) for k, v in excluded.items() if "embd" in k), main)
    vectors = next((_stored(v) for k, v in excluded.items() if "norm" in k), main)

    def of(group: WeightGroup) -> StoredFormat:
        if group.name == "embedding":
            return embedding
        return main if group.matmul else vectors

    return by_group(of, label=main.name)


def _stored(name: str) -> StoredFormat:
    known = GGUF_FORMATS.get(name.lower())
    return known if known else plain(name, field="artifact.precision.weights")


def _declared_weights(
    config: Mapping[str, Any], companion: Mapping[str, Any] | None, *, base: str
) -> WeightFormats:
    rest = StoredFormat(name=base, bits=DTYPE_BITS[base])
    if companion is not None:
        return _companion_weights(companion, rest=rest)
    declared = config.get("quantization_config")
    if declared is None:
        return uniform(rest)
    method = str(declared.get("quant_method", "")).lower()
    excluded = _excluded(declared, ("modules_to_not_convert", "ignored_layers", "ignore"))
    if method == "gptq":
        return _gptq(declared, rest=rest, excluded=excluded)
    if method == "fp8":
        return _fp8(declared, rest=rest, excluded=excluded)
    raise _refused("quantization_config.quant_method", method or "absent", "gptq, fp8")


def _gptq(
    declared: Mapping[str, Any], *, rest: StoredFormat, excluded: Sequence[str]
) -> WeightFormats:
    """GPTQ: packed weights, one 16-bit scale and one packed zero per group, a 4-byte group index per input.

    Groups run along the inputs (columns here). Bits of 2, 4 or 8 pack whole; the index ``g_idx`` is stored
    for every input channel even when the groups are in order.
    """
    bits, group_size = declared.get("bits"), declared.get("group_size")
    if bits not in (2, 4, 8) or not isinstance(group_size, int) or group_size < 1:
        raise _refused(
            "quantization_config.bits/group_size",
            f"{bits}/{group_size}",
            "2, 4 or 8 bits per group",
        )
    stored = StoredFormat(
        name=f"gptq_{bits}bit_g{group_size}",
        bits=bits,
        block=group_size,
        scale_bits=16,
        offset_bits=bits,
    )
    return _formats(
        stored, rest=rest, excluded=excluded, extra=lambda group: 4 * group.columns * group.count
    )


def _fp8(
    declared: Mapping[str, Any], *, rest: StoredFormat, excluded: Sequence[str]
) -> WeightFormats:
    """FP8 with one float32 scale per tile of ``weight_block_size`` (or per tensor when absent)."""
    tile = declared.get("weight_block_size")
    stored = StoredFormat(name="float8_e4m3fn", bits=8)
    if tile is None:
        return _formats(stored, rest=rest, excluded=excluded, extra=lambda group: 4 * group.count)
    height, width = (int(side) for side in tile)

    def tiles(group: WeightGroup) -> int:
        return 4 * -(-group.rows // height) * -(-group.columns // width) * group.count

    return _formats(stored, rest=rest, excluded=excluded, extra=tiles)


def _companion_weights(companion: Mapping[str, Any], *, rest: StoredFormat) -> WeightFormats:
    """ModelOpt's ``hf_quant_config.json``: FP8 per tensor (a weight and an input scale of 4 bytes each)."""
    quantization = companion.get("quantization")
    if not isinstance(quantization, Mapping):
        raise _refused("quant-config.quantization", quantization, "an object")
    algorithm = quantization.get("quant_algo")
    if algorithm is None:
        return uniform(rest)
    if algorithm != "FP8":
        raise _refused("quant-config.quantization.quant_algo", algorithm, "FP8 or null")
    excluded = _excluded(quantization, ("exclude_modules",))
    return _formats(
        StoredFormat(name="float8_e4m3fn", bits=8),
        rest=rest,
        excluded=excluded,
        extra=lambda group: 8 * group.count,
    )


def _formats(
    stored: StoredFormat,
    *,
    rest: StoredFormat,
    excluded: Sequence[str],
    extra: Callable[[WeightGroup], int],
) -> WeightFormats:
    """Projections in ``stored``, everything else (and what is excluded by name) in ``rest``."""

    def quantized(group: WeightGroup) -> bool:
        return group.matmul and group.name != "lm_head"

    def kept(group: WeightGroup) -> int:
        if not quantized(group):
            return 0
        names = [module_name(group.name, layer) for layer in range(group.count)]
        return sum(any(_matches(pattern, name) for pattern in excluded) for name in names)

    return WeightFormats(
        of=lambda group: stored if quantized(group) else rest,
        extra_bytes=lambda group: extra(group) if quantized(group) else 0,
        label=stored.name,
        rest=rest,
        kept=kept,
    )


def module_name(projection: str, layer: int) -> str:
    """The module's name in the checkpoint, which exclusion lists speak of."""
    parent = "self_attn" if projection in _ATTENTION else "mlp"
    return f"model.layers.{layer}.{parent}.{projection}"


def _matches(pattern: str, name: str) -> bool:
    """A pattern is ``re:`` and an expression, a glob over the whole name, or whole parts of the name."""
    if pattern.startswith("re:"):
        return re.match(pattern[3:], name) is not None
    if any(mark in pattern for mark in "*?["):
        return fnmatch.fnmatchcase(name, pattern)
    return f".{pattern}." in f".{name}."


def _excluded(declared: Mapping[str, Any], fields: Sequence[str]) -> list[str]:
    for field in fields:
        if declared.get(field):
            return [str(item) for item in declared[field]]
    return []


def _kv_dtype(
    config: Mapping[str, Any],
    companion: Mapping[str, Any] | None,
    *,
    given: str | None,
    base: str,
) -> tuple[str, str]:
    if given is not None:
        return dtype(given, field="kv-dtype"), "command line"
    algorithm = ((companion or {}).get("quantization") or {}).get("kv_cache_quant_algo")
    if algorithm is not None:
        return dtype(str(algorithm), field="quant-config.kv_cache_quant_algo"), "companion"
    scheme = (config.get("quantization_config") or {}).get("kv_cache_scheme")
    if scheme is not None:
        if scheme.get("num_bits") != 8 or scheme.get("type") != "float":
            raise _refused("quantization_config.kv_cache_scheme", scheme, "8-bit float")
        return "float8_e4m3fn", "kv_cache_scheme"
    return base, "config"


def _refused(field: str, seen: object, allowed: str) -> ModelRefused:
    return ModelRefused(
        Finding(
            field=field,
            seen=str(seen),
            allowed=allowed,
            remedy="This format is not modelled yet; pass --weight-dtype to state the executed type.",
        )
    )
