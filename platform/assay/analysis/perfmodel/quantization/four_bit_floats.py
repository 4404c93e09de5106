"""4-bit floats (E2M1) with block scales: MXFP4 and NVFP4, and the ``mxfp4`` declaration of gpt-oss.

MXFP4: one 8-bit exponent for 32 elements, 4 + 8/32 = 4.25 bits. NVFP4: one FP8 scale for 16 elements and one
float32 a tensor, 4 + 8/16 = 4.5 bits; quantized activations bring one more float32 a tensor. Sources: OCP
Microscaling 1.0; NVIDIA ModelOpt, NVFP4QTensor.
"""

from assay.analysis.perfmodel.precision import Scale, StoredFormat
from assay.analysis.perfmodel.quantization.declaration import Fields, Quantized
from assay.analysis.perfmodel.quantization.fp8 import TENSOR_SCALE
from assay.analysis.perfmodel.quantization.weight_formats import Rule, routed

NVFP4_BLOCK = 16
MXFP4 = StoredFormat(name="mxfp4", bits=4, scales=(Scale(bits=8, columns=32),), row_multiple=2)


def nvfp4(*, block: int = NVFP4_BLOCK, tensor_scales: int = 1) -> StoredFormat:
    """NVFP4 with so many float32 scales a tensor: the weight's own, and one of static activations."""
    return StoredFormat(
        name="nvfp4",
        bits=4,
        scales=(Scale(bits=8, columns=block), *(TENSOR_SCALE,) * tensor_scales),
        row_multiple=2,
    )


def read_mxfp4(fields: Fields, rest: StoredFormat) -> Quantized:
    """Formats of an ``mxfp4`` declaration: only matrices of experts, in every loader that reads it."""
    fields.check_known(("modules_to_not_convert", "dequantize"))
    excluded = fields.excluded(rest, "modules_to_not_convert")
    return Quantized(label=MXFP4.name, rules=(*excluded, Rule(stored=MXFP4, kind=routed)))
