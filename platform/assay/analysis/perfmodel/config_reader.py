"""Read a model's configuration into a Structure, or refuse and name the field that was not understood.

Two forms are read: a Hugging Face ``config.json`` and the ``artifact.config`` of a RunSpec. Nothing is filled
in by similarity: a missing ``num_key_value_heads`` is refused, not taken for MHA.
"""

from collections.abc import Mapping
from typing import Any

from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.families import (
    ARCHITECTURES,
    FAMILIES,
    NEUTRAL,
    REQUIRED,
    USED,
    Family,
    names_a_size,
    speaks_of_structure,
)
from assay.analysis.perfmodel.structure import Structure
from runners.protocol.errors import Finding

_GATED_ACTIVATIONS = ("silu", "swish")
_ARTIFACT_FIELDS = ("L", "d_model", "h", "d_head", "d_ff", "V")


def read_structure(config: Mapping[str, Any]) -> Structure:
    """The structure that a configuration declares.

    Raises ModelRefused, naming the field, for any structure but a dense MHA, GQA or MQA decoder of the
    families in ``families.FAMILIES``.
    """
    if "L" in config and "d_model" in config:
        return read_artifact_config(config)
    artifact = config.get("artifact")
    if isinstance(artifact, Mapping) and isinstance(artifact.get("config"), Mapping):
        return read_artifact_config(artifact["config"])
    return read_hf_config(config)


def read_hf_config(config: Mapping[str, Any]) -> Structure:
    """Structure of a Hugging Face ``config.json`` (field names of transformers 4 and 5)."""
    name, family = _family(config)
    for field in REQUIRED:
        _count(config, field)
    _refuse_windows(config)
    flagged = _check_unknown(config)
    if config.get("hidden_act") not in _GATED_ACTIVATIONS:
        raise _refused(
            "hidden_act",
            config.get("hidden_act"),
            " or ".join(_GATED_ACTIVATIONS) + " (gated feed-forward of three matrices)",
        )
    h, h_kv = _count(config, "num_attention_heads"), _count(config, "num_key_value_heads")
    d_model = _count(config, "hidden_size")
    d_head, assumptions = _head_dim(config, d_model=d_model, h=h)
    tied = _flag(config, "tie_word_embeddings")
    if config.get("tie_word_embeddings") is None:
        tied = family.tied_default
        assumptions.append(f"tie_word_embeddings absent: {tied}, the default of {name}")
    own_bias = _flag(config, "attention_bias")
    return _checked(
        Structure(
            family=name,
            layers=_count(config, "num_hidden_layers"),
            d_model=d_model,
            h=h,
            h_kv=h_kv,
            d_head=d_head,
            d_ff=_count(config, "intermediate_size"),
            vocabulary=_count(config, "vocab_size"),
            max_length=_optional_count(config, "max_position_embeddings"),
            tied=tied,
            gated=True,
            qkv_bias=own_bias if family.qkv_bias is None else family.qkv_bias,
            output_bias=own_bias if family.qkv_bias is None else False,
            mlp_bias=_flag(config, "mlp_bias"),
            qk_norm=family.qk_norm,
            declared_dtype=_dtype(config),
            assumptions=tuple(assumptions),
            not_modelled=tuple(flagged),
        )
    )


def read_artifact_config(config: Mapping[str, Any]) -> Structure:
    """Structure of a RunSpec's ``artifact.config`` (see experiments/schema/artifact.py)."""
    architecture = str(config.get("architecture", ""))
    name = ARCHITECTURES.get(architecture, architecture.lower())
    if name not in FAMILIES:
        raise _refused("artifact.config.architecture", architecture, _allowed_families())
    for field in ("moe", "recurrent_state"):
        if config.get(field) is not None:
            raise _refused(f"artifact.config.{field}", config[field], "null (dense decoder)")
    for field in (*_ARTIFACT_FIELDS, "h_kv"):
        _count(config, field, prefix="artifact.config.")
    family = FAMILIES[name]
    own_bias = _flag(config, "attention_bias")
    return _checked(
        Structure(
            family=name,
            layers=int(config["L"]),
            d_model=int(config["d_model"]),
            h=int(config["h"]),
            h_kv=int(config["h_kv"]),
            d_head=int(config["d_head"]),
            d_ff=int(config["d_ff"]),
            vocabulary=int(config["V"]),
            max_length=_optional_count(config, "max_length"),
            tied=bool(config["tie_word_embeddings"]),
            gated=bool(config.get("gated_mlp", True)),
            qkv_bias=own_bias if family.qkv_bias is None else family.qkv_bias,
            output_bias=own_bias if family.qkv_bias is None else False,
            mlp_bias=False,
            qk_norm=family.qk_norm,
            declared_dtype=None,
        )
    )


def _family(config: Mapping[str, Any]) -> tuple[str, Family]:
    """Family by ``model_type``; ``architectures`` must name the same one when it is there."""
    declared = config.get("model_type")
    architectures = config.get("architectures") or []
    if not isinstance(architectures, list):
        raise _refused("architectures", architectures, "a list of class names")
    by_class = [ARCHITECTURES.get(str(item)) for item in architectures]
    if declared is None and len(by_class) == 1 and by_class[0]:
        declared = by_class[0]
    if not isinstance(declared, str) or declared not in FAMILIES:
        raise _refused("model_type", _with_mechanisms(declared, config), _allowed_families())
    if architectures and declared not in by_class:
        raise _refused("architectures", architectures, f"a causal decoder of {declared}")
    return declared, FAMILIES[declared]


def _refuse_windows(config: Mapping[str, Any]) -> None:
    """A sliding window that is switched on is another structure; one that is off is ignored."""
    window = config.get("sliding_window")
    switch = config.get("use_sliding_window")
    if window is not None and switch is not False:
        raise _refused("sliding_window", window, "null, or use_sliding_window false")
    if switch:
        raise _refused("use_sliding_window", switch, "false or absent")
    kinds = config.get("layer_types")
    if kinds is None:
        return
    if not isinstance(kinds, list):
        raise _refused("layer_types", kinds, "a list, one kind for each layer")
    others = sorted({str(kind) for kind in kinds} - {"full_attention"})
    if others:
        raise _refused("layer_types", others[0], "full_attention in every layer")


def _check_unknown(config: Mapping[str, Any]) -> list[str]:
    """Refuse unknown fields that speak of structure; return a line for every other unknown one."""
    flagged = []
    for field, value in config.items():
        if field in USED or field in NEUTRAL or value in (None, False, 0, [], {}, ""):
            continue
        if speaks_of_structure(field) or names_a_size(field):
            raise _refused(field, value, "absent: this structure is not understood")
        flagged.append(f"config field {field} is not known to this model and was not used")
    return flagged


def _head_dim(config: Mapping[str, Any], *, d_model: int, h: int) -> tuple[int, list[str]]:
    """``head_dim`` when declared (it need not be hidden/heads), else hidden/heads if that divides."""
    if config.get("head_dim") is not None:
        return _count(config, "head_dim"), []
    if d_model % h:
        raise _refused("head_dim", "absent", f"a value: {d_model} is no multiple of {h} heads")
    return d_model // h, ["head_dim absent: hidden_size / num_attention_heads"]


def _with_mechanisms(declared: object, config: Mapping[str, Any]) -> str:
    """The unknown model type beside the fields that announce what would have to be modelled."""
    fields = [
        field
        for field, value in config.items()
        if field not in USED
        and field not in NEUTRAL
        and value not in (None, False, 0, [], {}, "")
        and speaks_of_structure(field)
    ]
    return f"{declared}" + (f" with {', '.join(fields[:4])}" if fields else "")


def _dtype(config: Mapping[str, Any]) -> str | None:
    value = config.get("torch_dtype") or config.get("dtype")
    return str(value).removeprefix("torch.") if value else None


def _checked(structure: Structure) -> Structure:
    if structure.h % structure.h_kv:
        raise _refused(
            "num_key_value_heads", structure.h_kv, f"a divisor of the {structure.h} query heads"
        )
    return structure


def _count(config: Mapping[str, Any], field: str, *, prefix: str = "") -> int:
    value = config.get(field)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        seen = "absent" if value is None else value
        raise _refused(
            prefix + field, seen, "a whole number of at least 1, the same in every layer"
        )
    return value


def _flag(config: Mapping[str, Any], field: str) -> bool:
    """True or false; absent and null are false. The text "false" would otherwise count as true."""
    value = config.get(field)
    if value not in (None, True, False):
        raise _refused(field, value, "true, false or absent")
    return bool(value)


def _optional_count(config: Mapping[str, Any], field: str) -> int | None:
    return None if config.get(field) is None else _count(config, field)


def _allowed_families() -> str:
    return ", ".join(sorted(FAMILIES)) + " (dense MHA, GQA or MQA decoders)"


def _refused(field: str, seen: object, allowed: str) -> ModelRefused:
    text = str(seen)
    return ModelRefused(
        Finding(
            field=field,
            seen=text if len(text) <= 120 else text[:117] + "...",
            allowed=allowed,
            remedy="This structure is not modelled yet; no figure is given in its place.",
        )
    )
