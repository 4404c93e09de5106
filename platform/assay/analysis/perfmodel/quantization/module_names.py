"""The names that one tensor goes by: fused and split matrices, and what families call the same part.

Files of quantization speak of modules by checkpoint name, by the fused name of an engine, or by the name of
another family's port (``mlp.gate`` and ``feed_forward.router``). A tensor answers to each of them.
"""

from functools import cache
from itertools import product

# Matrices that are stored or executed as one, and what they hold.
FUSED: dict[str, tuple[str, ...]] = {
    "qkv_proj": ("q_proj", "k_proj", "v_proj"),
    "query_key_value": ("q_proj", "k_proj", "v_proj"),
    "Wqkv": ("q_proj", "k_proj", "v_proj"),
    "W_pack": ("q_proj", "k_proj", "v_proj"),
    "c_attn": ("q_proj", "k_proj", "v_proj"),
    "gate_up_proj": ("gate_proj", "up_proj"),
    "fused_qkv_a_proj_with_mqa": ("q_a_proj", "kv_a_proj_with_mqa"),
    "in_proj_qkvz": ("in_proj_qkv", "in_proj_z"),
    "in_proj_ba": ("in_proj_b", "in_proj_a"),
}

_PARTS: tuple[tuple[str, ...], ...] = (
    ("mlp", "feed_forward", "block_sparse_moe", "moe"),
    ("shared_experts", "shared_expert"),
    ("gate_proj", "w1"),
    ("up_proj", "w3"),
    ("down_proj", "w2"),
)
_SYNONYMS = {name: group for group in _PARTS for name in group}
_ROUTERS = ("gate", "router")
# What chooses experts or tokens, or weighs the shared expert.
_CHOOSING = (*_ROUTERS, "shared_expert_gate", "weights_proj")
_HOLDERS: dict[str, tuple[str, ...]] = {}
for _fused, _held in FUSED.items():
    for _name in _held:
        _HOLDERS[_name] = (*_HOLDERS.get(_name, ()), _fused)


def is_choosing(module: str) -> bool:
    """Whether it chooses experts or tokens: loaders keep these as they are, whatever a file lists."""
    return module.rpartition(".")[2] in _CHOOSING


@cache
def aliases(module: str) -> tuple[str, ...]:
    """Every name of ``module`` (a path inside its layer), its own first; ``*`` stands for an expert.

    Experts that are fused have no number: ``mlp.experts.*.up_proj`` is also ``mlp.experts.gate_up_proj``.
    """
    parts = module.split(".")
    choices = [_choices(part, last=place == len(parts) - 1) for place, part in enumerate(parts)]
    found = [".".join(chosen) for chosen in product(*choices)]
    return tuple(dict.fromkeys([*found, *(name.replace(".*", "") for name in found)]))


def held_modules(module: str) -> tuple[str, ...]:
    """What a fused tensor holds, as modules of their own; empty where it is not fused."""
    parent, dot, last = module.rpartition(".")
    return tuple(f"{parent}{dot}{name}" for name in FUSED.get(last, ()))


def _choices(part: str, *, last: bool) -> tuple[str, ...]:
    if last and part in _ROUTERS:
        return _ROUTERS
    return (*_SYNONYMS.get(part, (part,)), *(_HOLDERS.get(part, ()) if last else ()))
