"""Heads of conventional attention: counts, widths and biases as configurations give them."""

from assay.analysis.perfmodel.reading.fields import Fields

GATED_ACTIVATIONS = (
    "silu",
    "swish",
    "gelu",
    "gelu_tanh",
    "gelu_pytorch_tanh",
    "gelu_new",
    "swiglu",
)


def head_width(fields: Fields, *, d_model: int, h: int, remarks: list[str]) -> int:
    """``head_dim`` when declared (it need not be hidden/heads), else hidden/heads if that divides."""
    declared = fields.optional_count("head_dim")
    if declared is not None:
        return declared
    if d_model % h:
        raise fields.refused(
            "head_dim", "absent", f"a value: {d_model} is no multiple of {h} heads"
        )
    remarks.append("head_dim absent: hidden_size / num_attention_heads")
    return d_model // h


def kv_heads(fields: Fields, *, h: int, layers: int) -> list[int]:
    """KV heads of every layer; an absent number is refused, not taken for one per query head."""
    found = fields.per_layer("num_key_value_heads", layers=layers)
    for h_kv in found:
        divisor(fields, "num_key_value_heads", h=h, h_kv=h_kv)
    return found


def divisor(fields: Fields, name: str, *, h: int, h_kv: int) -> None:
    if h % h_kv:
        raise fields.refused(name, h_kv, f"a divisor of the {h} query heads")


def gated(fields: Fields) -> None:
    """The activation must be one of those whose class has a gate of its own."""
    for name in ("hidden_act", "hidden_activation"):
        fields.one_of(name, GATED_ACTIVATIONS)
