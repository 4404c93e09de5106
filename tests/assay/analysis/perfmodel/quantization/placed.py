"""Tensors in their places, and what a declaration makes of them."""

from typing import Any

from assay.analysis.perfmodel.precision import plain
from assay.analysis.perfmodel.quantization.declaration import Fields, Quantized
from assay.analysis.perfmodel.quantization.methods import read_declaration
from assay.analysis.perfmodel.quantization.weight_formats import WeightFormats
from assay.analysis.perfmodel.tensors import PlacedTensor, Tensor, TensorKind

BFLOAT16 = plain("bfloat16", field="dtype")


def placed(module: str, *, layers: int = 1, **given: Any) -> PlacedTensor:
    """A tensor of 256 outputs x 512 inputs, 131,072 elements, unless other sides are given."""
    sides = {"rows": 256, "columns": 512} | given
    return PlacedTensor(tensor=Tensor(module=module, **sides), layers=tuple(range(layers)))


Q = placed("self_attn.q_proj")
HEAD = PlacedTensor(tensor=Tensor(module="lm_head", rows=256, columns=512))
TABLE = PlacedTensor(
    tensor=Tensor(module="model.embed_tokens", rows=256, columns=512, kind=TensorKind.TABLE)
)
NORM = placed("input_layernorm", rows=1, kind=TensorKind.VECTOR)
PLAIN_BYTES = 256 * 512 * 2


def read(**declaration: Any) -> Quantized:
    return read_declaration(Fields(values=declaration, where="quantization_config"), rest=BFLOAT16)


def formats(**declaration: Any) -> WeightFormats:
    quantized = read(**declaration)
    return WeightFormats(label=quantized.label, rest=BFLOAT16, rules=quantized.rules)
