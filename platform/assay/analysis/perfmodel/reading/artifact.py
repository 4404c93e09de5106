"""The ``artifact.config`` of a RunSpec: a dense decoder by its symbols (experiments/schema/artifact.py)."""

from collections.abc import Mapping
from typing import Any

from assay.analysis.perfmodel.dense_decoder import dense_decoder, plain_attention
from assay.analysis.perfmodel.feed_forward.feed_forward import DenseFeedForward
from assay.analysis.perfmodel.mixers.attention import HeadNorm
from assay.analysis.perfmodel.reading import experts
from assay.analysis.perfmodel.reading.fields import Fields
from assay.analysis.perfmodel.reading.heads import divisor
from assay.analysis.perfmodel.reading.llama_like import FACTS
from assay.analysis.perfmodel.reading.outline import MOST_LAYERS
from assay.analysis.perfmodel.reading.registry import FAMILIES
from assay.analysis.perfmodel.structure import Structure

_DENSE = tuple(sorted(name for name, facts in FACTS.items() if facts.feed_forward is experts.dense))


def read_artifact_config(config: Mapping[str, Any]) -> Structure:
    """Raises ModelRefused, naming the field, for anything but a dense llama-like decoder."""
    fields = Fields(config, path="artifact.config.")
    architecture = str(config.get("architecture", ""))
    by_class = {name: family for family, entry in FAMILIES.items() for name in entry.classes}
    name = by_class.get(architecture, architecture.lower())
    if name not in _DENSE:
        raise fields.refused("architecture", architecture, ", ".join(_DENSE))
    for field in ("moe", "recurrent_state"):
        if fields.has(field):
            raise fields.refused(field, config[field], "null (dense decoder)")
    facts, own_bias = FACTS[name], fields.flag("attention_bias")
    h, h_kv = fields.count("h"), fields.count("h_kv")
    divisor(fields, "h_kv", h=h, h_kv=h_kv)
    layers = fields.count("L")
    if layers > MOST_LAYERS:
        raise fields.refused("L", layers, f"at most {MOST_LAYERS}")
    return dense_decoder(
        family=name,
        layers=layers,
        d_model=fields.count("d_model"),
        vocabulary=fields.count("V"),
        attention=plain_attention(
            h=h,
            h_kv=h_kv,
            d_head=fields.count("d_head"),
            qkv_bias=own_bias if facts.qkv_bias is None else facts.qkv_bias,
            output_bias=own_bias if facts.output_bias is None else facts.output_bias,
            qk_norm=facts.head_norm is HeadNorm.PER_HEAD,
        ),
        feed_forward=DenseFeedForward(
            width=fields.count("d_ff"), gated=fields.flag("gated_mlp", default=True)
        ),
        tied=fields.flag("tie_word_embeddings"),
        max_length=fields.optional_count("max_length"),
    )
