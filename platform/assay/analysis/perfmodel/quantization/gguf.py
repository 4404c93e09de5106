"""GGUF: every tensor has a type of its own, in blocks along the inputs with their scales inside.

``Q4_K_M`` and the like are kinds of files, mixtures of types that the header names tensor by tensor; they
are refused as one format. Source: ggml-common.h, the block structs (block elements and bytes).
"""

import fnmatch
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.precision import Scale, StoredFormat, plain
from assay.analysis.perfmodel.quantization.module_names import aliases
from assay.analysis.perfmodel.quantization.module_patterns import canonical
from assay.analysis.perfmodel.quantization.weight_formats import Rule, WeightFormats, any_tensor
from assay.analysis.perfmodel.tensors import Tensor
from runners.protocol.errors import Finding

# type -> elements of a block, its bytes, and how many bits of these are scales, minimums and offsets
_BLOCKS: Mapping[str, tuple[int, int, int]] = {
    "q1_0": (128, 18, 16),
    "q4_0": (32, 18, 16),
    "q4_1": (32, 20, 32),
    "q5_0": (32, 22, 16),
    "q5_1": (32, 24, 32),
    "q8_0": (32, 34, 16),
    "q8_1": (32, 40, 64),
    "q2_k": (256, 84, 128 + 32),
    "q3_k": (256, 110, 96 + 16),
    "q4_k": (256, 144, 96 + 32),
    "q5_k": (256, 176, 96 + 32),
    "q6_k": (256, 210, 128 + 16),
    "q8_k": (256, 292, 32 + 256),
    "iq1_s": (256, 50, 16),
    "iq1_m": (256, 56, 64),
    "iq2_xxs": (256, 66, 16),
    "iq2_xs": (256, 74, 16 + 64),
    "iq2_s": (256, 82, 16 + 64),
    "iq3_xxs": (256, 98, 16),
    "iq3_s": (256, 110, 16 + 32),
    "iq4_nl": (32, 18, 16),
    "iq4_xs": (256, 136, 16 + 48),
    "tq1_0": (256, 54, 16),
    "tq2_0": (256, 66, 16),
    "mxfp4": (32, 17, 8),
    "nvfp4": (64, 36, 32),
}
_PLAIN = {"f32": "float32", "f16": "float16", "bf16": "bfloat16", "f64": "float64", "i8": "int8"}
_MIXTURE = re.compile(r"(?:ud-)?(?:i?q\d_(?:k_)?(?:xs|s|m|l|xl|xxs)|i?q\d_k_\w+|mxfp4_moe)$")

GGUF_FORMATS: Mapping[str, StoredFormat] = {
    name: StoredFormat(
        name=name,
        bits=(8 * size - metadata) / block,
        scales=(Scale(bits=metadata, columns=block),),
        row_multiple=block,
    )
    for name, (block, size, metadata) in _BLOCKS.items()
}

_OUTER = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "transformer.ln_f": "output_norm",
    "transformer.norm_f": "output_norm",
    "backbone.norm_f": "output_norm",
    "transformer.encoder.final_layernorm": "output_norm",
    "transformer.wpe": "position_embd",
}
_INNER = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "self_attn.sinks": "attn_sinks",
    "self_attn.q_a_proj": "attn_q_a",
    "self_attn.q_b_proj": "attn_q_b",
    "self_attn.q_a_layernorm": "attn_q_a_norm",
    "self_attn.kv_a_proj_with_mqa": "attn_kv_a_mqa",
    "self_attn.kv_a_layernorm": "attn_kv_a_norm",
    "self_attn.kv_b_proj": "attn_kv_b",
    "mlp.gate": "ffn_gate_inp",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "mlp.experts.*.gate_proj": "ffn_gate_exps",
    "mlp.experts.*.up_proj": "ffn_up_exps",
    "mlp.experts.*.down_proj": "ffn_down_exps",
    "mlp.shared_experts.gate_proj": "ffn_gate_shexp",
    "mlp.shared_experts.up_proj": "ffn_up_shexp",
    "mlp.shared_experts.down_proj": "ffn_down_shexp",
    "mlp.shared_expert_gate": "ffn_gate_inp_shexp",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}
_FUSED = {"attn_q": "attn_qkv", "attn_k": "attn_qkv", "attn_v": "attn_qkv"}


def gguf_format(name: str, *, field: str) -> StoredFormat:
    """The stored format of a GGUF type, or of a plain element type; a mixture is refused by name."""
    text = name.lower()
    if text in GGUF_FORMATS:
        return GGUF_FORMATS[text]
    if _MIXTURE.match(text):
        raise ModelRefused(
            Finding(
                field=field,
                seen=name,
                allowed=", ".join([*GGUF_FORMATS, *_PLAIN]),
                remedy="That is a kind of file, a mixture of types: give each tensor's, as its header does.",
            )
        )
    return plain(_PLAIN.get(text, text), field=field)


def tensor_formats(types: Mapping[str, str]) -> WeightFormats:
    """Formats from a header: ``types`` maps every tensor (``blk.0.attn_q.weight``) to its type.

    A tensor that the header does not name is refused, never guessed.
    """
    by_type: dict[str, list[str]] = {}
    for tensor, stored in types.items():
        by_type.setdefault(stored.lower(), []).append(tensor)
    rules = [
        Rule(
            stored=gguf_format(stored, field="gguf type"),
            kind=any_tensor,
            names=_HeaderNames(exact=frozenset(named)),
        )
        for stored, named in by_type.items()
    ]
    main = max(by_type, key=lambda stored: len([n for n in by_type[stored] if "norm" not in n]))
    absent = Rule(stored=plain("float32", field="gguf"), kind=any_tensor, names=_NotInHeader())
    return WeightFormats(label=main, rest=plain("float32", field="gguf"), rules=(*rules, absent))


def declared_precision(precision: Mapping[str, Any]) -> WeightFormats:
    """Formats of an artifact from its declared weight precision.

    Matrices have ``dtype``; ``excluded_dtypes`` maps globs of tensor names to the types of the others.
    """
    field = "artifact.precision.weights"
    main = gguf_format(str(precision["dtype"]), field=f"{field}.dtype")
    rules = [
        Rule(
            stored=gguf_format(str(stored), field=f"{field}.excluded_dtypes"),
            kind=any_tensor,
            names=_HeaderNames(globs=(str(glob),)),
        )
        for glob, stored in (precision.get("excluded_dtypes") or {}).items()
    ]
    # Biases of a GGUF file are float32; those of any other have the type of its matrices.
    rest = plain("float32", field=field) if main.name in GGUF_FORMATS else main
    return WeightFormats(
        label=main.name, rest=rest, rules=(*rules, Rule(stored=main, kind=any_tensor))
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _HeaderNames:
    """Tensors by their names in a GGUF file or in a checkpoint, exact or as globs."""

    exact: frozenset[str] = frozenset()
    globs: tuple[str, ...] = ()

    def matched(self, tensor: Tensor, layer: int | None) -> Collection[int]:
        names = _file_names(tensor, layer)
        meant = any(name in self.exact for name in names) or any(
            fnmatch.fnmatchcase(name, glob) for glob in self.globs for name in names
        )
        return range(tensor.copies) if meant else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _NotInHeader:
    """Refuses every tensor that it is asked about: no rule before it knew the tensor."""

    def matched(self, tensor: Tensor, layer: int | None) -> Collection[int]:
        raise ModelRefused(
            Finding(
                field="gguf header",
                seen=f"no type for {tensor.module}"
                + ("" if layer is None else f" of layer {layer}"),
                allowed="a type for every tensor of the model",
                remedy="Use the header of this model's own file.",
            )
        )


def _file_names(tensor: Tensor, layer: int | None) -> list[str]:
    if layer is None:
        own = _OUTER.get(canonical(tensor.module))
        return [f"{name}.weight" for name in (own, tensor.module) if name]
    inner = next((_INNER[name] for name in aliases(tensor.module) if name in _INNER), None)
    found = [f"model.layers.{layer}.{tensor.module}.weight"]
    for name in (inner, _FUSED.get(inner or "")):
        if name:
            found += [f"blk.{layer}.{name}.weight", f"blk.{layer}.{name}"]
    return found
