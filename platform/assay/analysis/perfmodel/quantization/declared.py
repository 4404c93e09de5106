"""What the files of a model say of its four precisions, and what an engine then executes.

Weights, activations and K/V are declared apart. No file of a model declares the type that products are
accumulated in: kernels decide, so that it stays unknown unless a RunSpec states it. Stored and executed
weights are apart as well: an engine may dequantize at load.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypedDict

from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.precision import dtype, plain
from assay.analysis.perfmodel.quantization import modelopt
from assay.analysis.perfmodel.quantization.declaration import (
    UNQUANTIZED,
    Activations,
    Fields,
    Quantized,
)
from assay.analysis.perfmodel.quantization.gguf import declared_precision
from assay.analysis.perfmodel.quantization.kv_cache import kv_cache_dtype
from assay.analysis.perfmodel.quantization.methods import read_declaration
from assay.analysis.perfmodel.quantization.weight_formats import WeightFormats, uniform
from assay.analysis.perfmodel.structure import Structure
from runners.protocol.errors import Finding

ASSUMED_DTYPE = "bfloat16"
ACCUMULATION_UNKNOWN = "no file declares it: the kernels decide, see the run's own evidence"


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """The formats in force, where K/V's was found, and what had to be assumed.

    ``stored`` is what the files hold (None: not understood), ``weights`` what a step reads. ``model_dtype``
    is the plain type of everything that is not quantized.
    """

    stored: WeightFormats | None
    weights: WeightFormats
    activations: Activations
    model_dtype: str
    kv_dtype: str
    kv_source: str
    assumptions: tuple[str, ...]
    accumulation: str | None = None

    @property
    def product_dtype(self) -> str:
        """The type both operands of a product have, as far as files say: that of the activations."""
        return self.activations.dtype or self.model_dtype

    def precisions(self) -> "Precisions":
        """The four precisions apart; what is accumulated in stays null until a run shows it."""
        return Precisions(
            weights=self.weights.label,
            weights_stored=None if self.stored is None else self.stored.label,
            unquantized=self.model_dtype,
            activations=self.product_dtype,
            activation_scale=self.activations.scale,
            accumulation=self.accumulation,
            accumulation_absent=ACCUMULATION_UNKNOWN if self.accumulation is None else None,
            kv=self.kv_dtype,
            kv_source=self.kv_source,
        )


class Precisions(TypedDict):
    """The four precisions as the answer of ``assay predict`` lists them; ``unquantized`` is of the rest."""

    weights: str
    weights_stored: str | None
    unquantized: str
    activations: str
    activation_scale: str
    accumulation: str | None
    accumulation_absent: str | None
    kv: str
    kv_source: str


def declared_formats(
    structure: Structure,
    config: Mapping[str, Any],
    *,
    companion: Mapping[str, Any] | None,
    weight_dtype: str | None,
    kv_dtype: str | None,
) -> Declared:
    """Formats from the command line, else the companion ``hf_quant_config``, else the configuration.

    ``weight_dtype`` replaces every executed format (a dequantizing engine). KV dtype: ``kv_dtype``, else the
    companion's, else ``kv_cache_scheme``, else the configuration's dtype, else bfloat16 as an assumption. A
    RunSpec declares both in its ``artifact.precision``.
    """
    precision = (config.get("artifact") or {}).get("precision")
    found = (
        _of_artifact(structure, precision, kv_dtype=kv_dtype)
        if precision
        else _of_files(structure, config, companion, kv_dtype=kv_dtype, executed=weight_dtype)
    )
    return found if weight_dtype is None else _dequantized(found, weight_dtype)


def declared_quantization(config: Mapping[str, Any]) -> Fields | None:
    """The ``quantization_config`` of a configuration, of its text part in a multimodal one."""
    text = config.get("text_config")
    parts = (("", config), ("text_config.", text if isinstance(text, Mapping) else {}))
    for where, part in parts:
        for name in ("quantization_config", "compression_config"):
            if part.get(name):
                return _object(part[name], f"{where}{name}")
    return None


def _object(value: Any, where: str) -> Fields:
    if not isinstance(value, Mapping):
        raise ModelRefused(
            Finding(field=where, seen=str(value), allowed="an object", remedy="Check the file.")
        )
    return Fields(values=value, where=where)


def _of_artifact(
    structure: Structure, precision: Mapping[str, Any], *, kv_dtype: str | None
) -> Declared:
    """A RunSpec declares all four; its activations are what the engine computes in."""
    weights = declared_precision(precision["weights"])
    given_kv = kv_dtype or str(precision["kv"]["dtype"])
    computed = (precision.get("activations") or {}).get("dtype")
    accumulated = (precision.get("accumulation") or {}).get("dtype")
    model_dtype = str(computed or structure.declared_dtype or ASSUMED_DTYPE)
    return Declared(
        stored=weights,
        weights=weights,
        activations=UNQUANTIZED,
        model_dtype=dtype(model_dtype, field="artifact.precision.activations"),
        kv_dtype=dtype(given_kv, field="artifact.precision.kv"),
        kv_source="command line" if kv_dtype else "artifact.precision",
        accumulation=None
        if accumulated is None
        else dtype(str(accumulated), field="artifact.precision.accumulation"),
        assumptions=()
        if computed
        else (f"no type of activations declared: taken as {model_dtype}",),
    )


def _of_files(
    structure: Structure,
    config: Mapping[str, Any],
    companion: Mapping[str, Any] | None,
    *,
    kv_dtype: str | None,
    executed: str | None,
) -> Declared:
    assumptions = []
    if structure.declared_dtype is None and executed is None:
        assumptions.append(f"no dtype declared: weights taken as {ASSUMED_DTYPE}")
    base = dtype(structure.declared_dtype or ASSUMED_DTYPE, field="torch_dtype")
    declared = declared_quantization(config)
    beside = None if companion is None else Fields(values=companion, where="quant-config")
    kv, source = kv_cache_dtype(declared, beside, given=kv_dtype, base=base)
    if source == "config" and structure.declared_dtype is None:
        source = "assumed"
        assumptions.append(f"no dtype declared: KV cache taken as {ASSUMED_DTYPE}")
    try:
        quantized = _quantized(declared, companion, base=base)
    except ModelRefused as refusal:
        if executed is None:
            raise
        quantized = Quantized(label="unknown", rules=())
        finding = refusal.finding
        assumptions.append(
            f"what the files store is not understood ({finding.field}: {finding.seen})"
        )
    stored = WeightFormats(
        label=quantized.label, rest=plain(base, field="torch_dtype"), rules=quantized.rules
    )
    return Declared(
        stored=stored if quantized.label != "unknown" else None,
        weights=stored,
        activations=quantized.activations,
        model_dtype=base,
        kv_dtype=kv,
        kv_source=source,
        assumptions=(*assumptions, *quantized.assumptions),
    )


def _quantized(
    declared: Fields | None, companion: Mapping[str, Any] | None, *, base: str
) -> Quantized:
    rest = plain(base, field="torch_dtype")
    if companion is not None:
        return modelopt.read_companion(companion, rest)
    if declared is None:
        return Quantized(label=rest.name, rules=())
    return read_declaration(declared, rest)


def _dequantized(found: Declared, weight_dtype: str) -> Declared:
    """Weights are unpacked at load, so that both operands are of the stated type."""
    executed = plain(weight_dtype, field="weight-dtype")
    return replace(
        found, weights=uniform(executed), activations=UNQUANTIZED, model_dtype=executed.name
    )
