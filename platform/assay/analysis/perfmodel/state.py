"""State of conventional attention as functions of length: resident M(S), read per step Q(S), update F(S).

Bytes per token = 2 (K and V) x L x h_kv x d_head x bytes per element. It holds only for uncompressed K and V
that every layer stores itself (MHA, GQA, MQA); a Structure is always of that kind, since every other one is
refused when its configuration is read. Logical bytes: no block rounding, padding, copies or alignment.
"""

from dataclasses import dataclass

from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.precision import dtype_bytes
from assay.analysis.perfmodel.structure import Structure
from runners.protocol.errors import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class StateClass:
    """One kind of state that a sequence keeps: growth per token, an upper length if any, a constant part.

    ``growth``: linear | constant. ``shared_layers`` of 1 says that each layer has its own copy.
    """

    kind: str
    layers: int
    bytes_per_token: int
    cap_tokens: int | None
    constant_bytes: int
    growth: str
    update_flops_per_token: int

    def resident_bytes(self, tokens: int) -> int:
        """M(S): bytes stored after ``tokens`` tokens of one sequence."""
        return self.constant_bytes + self.bytes_per_token * self._kept(tokens)

    def read_bytes(self, tokens: int) -> int:
        """Q(S): bytes one decode step reads from ``tokens`` stored tokens, each unique element once."""
        return self.constant_bytes + self.bytes_per_token * self._kept(tokens)

    def update_flops(self, tokens: int) -> int:
        """F(S): FLOPs of one decode step over ``tokens`` attended tokens (the new one included)."""
        return self.update_flops_per_token * self._kept(tokens)

    def _kept(self, tokens: int) -> int:
        return tokens if self.cap_tokens is None else min(tokens, self.cap_tokens)


def kv_bytes_per_token(structure: Structure, *, kv_dtype: str) -> int:
    """2 L h_kv d_head b: bytes that one more token adds to a sequence's state. Source: chapter 2.2.3."""
    element = dtype_bytes(kv_dtype, field="kv-dtype")
    return 2 * structure.layers * structure.kv_width * element


def state_classes(structure: Structure, *, kv_dtype: str) -> list[StateClass]:
    """The state of one sequence by class: here one class, the KV cache of every layer.

    Update work per attended token: 2 FLOP for q k and 2 for p v per element, 4 h d_head L.
    """
    return [
        StateClass(
            kind=f"{structure.attention_kind}_kv_cache",
            layers=structure.layers,
            bytes_per_token=kv_bytes_per_token(structure, kv_dtype=kv_dtype),
            cap_tokens=None,
            constant_bytes=0,
            growth="linear",
            update_flops_per_token=4 * structure.layers * structure.q_width,
        )
    ]


def blocks_for(tokens: int, *, block_tokens: int) -> int:
    """KV blocks that ``tokens`` stored tokens occupy: the last one may be part full."""
    if block_tokens < 1:
        raise ModelRefused(
            Finding(
                field="block_tokens",
                seen=str(block_tokens),
                allowed="at least 1",
                remedy="Correct the engine's block size.",
            )
        )
    return -(-tokens // block_tokens)
