"""The work-determining structure of a dense decoder with MHA, GQA or MQA attention."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
    """Counts and widths that fix work, weights and state of one dense llama-like decoder.

    ``layers`` blocks of attention (``h`` query heads, ``h_kv`` KV heads of ``d_head``) and a feed-forward of
    width ``d_ff`` (``gated``: three matrices, else two). ``vocabulary`` rows in the embedding; ``tied`` means
    the output head is the same matrix. Bias and norm switches count parameters. ``max_length`` is in tokens.
    ``declared_dtype`` is what the configuration says of its weights, or None.
    """

    family: str
    layers: int
    d_model: int
    h: int
    h_kv: int
    d_head: int
    d_ff: int
    vocabulary: int
    max_length: int | None
    tied: bool
    gated: bool
    qkv_bias: bool
    output_bias: bool
    mlp_bias: bool
    qk_norm: bool
    declared_dtype: str | None
    assumptions: tuple[str, ...] = ()
    not_modelled: tuple[str, ...] = ()

    @property
    def attention_kind(self) -> str:
        """``mha`` when every query head has its own KV head, ``mqa`` when one serves all, else ``gqa``."""
        if self.h_kv == self.h:
            return "mha"
        return "mqa" if self.h_kv == 1 else "gqa"

    @property
    def q_width(self) -> int:
        return self.h * self.d_head

    @property
    def kv_width(self) -> int:
        return self.h_kv * self.d_head

    def with_assumption(self, text: str) -> "Structure":
        return replace(self, assumptions=(*self.assumptions, text))
