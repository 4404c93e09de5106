"""The methods of quantization that a configuration can declare."""

from collections.abc import Callable, Mapping

from assay.analysis.perfmodel.precision import StoredFormat
from assay.analysis.perfmodel.quantization import (
    awq,
    bitsandbytes,
    compressed_tensors,
    four_bit_floats,
    fp8,
    gptq,
    modelopt,
)
from assay.analysis.perfmodel.quantization.declaration import Fields, Quantized

METHODS: Mapping[str, Callable[[Fields, StoredFormat], Quantized]] = {
    "awq": awq.read,
    "bitsandbytes": bitsandbytes.read,
    "compressed-tensors": compressed_tensors.read,
    "fbgemm_fp8": fp8.read_by_channel,
    "fp8": fp8.read,
    "gptq": gptq.read,
    "modelopt": modelopt.read,
    "modelopt_fp4": modelopt.read,
    "mxfp4": four_bit_floats.read_mxfp4,
}


def read_declaration(fields: Fields, rest: StoredFormat) -> Quantized:
    """Formats of a ``quantization_config``; a method that is not listed is refused by name."""
    method = str(fields.get("quant_method") or _implied(fields)).lower()
    if method not in METHODS:
        raise fields.refused("quant_method", ", ".join(METHODS))
    return METHODS[method](fields, rest)


def _implied(fields: Fields) -> str:
    """ModelOpt names itself as library or producer; loaders take a load flag for bitsandbytes."""
    if fields.get("load_in_4bit") or fields.get("load_in_8bit"):
        return "bitsandbytes"
    producer = fields.get("producer")
    named = producer.get("name") if isinstance(producer, Mapping) else None
    return "modelopt" if "modelopt" in (fields.get("quant_library"), named) else ""
