"""State of one sequence by class, as functions of length: resident M(S), read per step Q(S), update F(S).

A class is one kind of state (``mixers.mixer.StatePart``) in all layers that have it. K and V of attention,
compressed latents, recurrent state, convolution columns and index keys are classes of their own and are never
summed into one "KV size". State that several layers share is counted once. Logical bytes: no block rounding,
padding, copies or alignment.
"""

from dataclasses import dataclass

from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.mixers.attention import Attention
from assay.analysis.perfmodel.mixers.mixer import StatePart, StoredAs
from assay.analysis.perfmodel.precision import dtype_bytes
from assay.analysis.perfmodel.structure import Structure
from runners.protocol.errors import Finding

ASSUMED_CONVOLUTION = "bfloat16"
# Sparse indices keep 8-bit keys with a scale beside them; no configuration declares it.
ASSUMED_INDEX = "float8_e4m3fn"
# What engines keep a recurrent state in when the configuration declares nothing; both answers are given.
UNDECLARED_RECURRENT = ("float32", "bfloat16")


@dataclass(frozen=True, slots=True, kw_only=True)
class StateClass:
    """One kind of state: ``layers`` hold it, ``reading_layers`` compute on it, elements are of ``dtype``."""

    part: StatePart
    layers: int
    reading_layers: int
    dtype: str

    @property
    def kind(self) -> str:
        return self.part.kind

    @property
    def growth(self) -> str:
        """``linear`` with length, ``bounded`` by a window or chunk, or ``constant``."""
        if not self.part.per_token:
            return "constant"
        return "linear" if self.part.kept_tokens is None else "bounded"

    @property
    def in_total(self) -> bool:
        """Whether it belongs to the state proper; index keys are listed apart."""
        return self.part.stored_as is not StoredAs.INDEX

    @property
    def cap_tokens(self) -> int | None:
        return self.part.kept_tokens

    @property
    def bytes_per_token(self) -> int:
        one = self.part.per_token * self._element + self.part.extra_bytes_per_token
        return self.layers * one

    @property
    def constant_bytes(self) -> int:
        return self.layers * self.part.constant * self._element

    def resident_bytes(self, tokens: int) -> int:
        """M(S): bytes stored after ``tokens`` tokens of one sequence."""
        return self.constant_bytes + self.bytes_per_token * self.part.kept(tokens)

    def read_bytes(self, tokens: int) -> int:
        """Q(S): bytes one decode step reads from ``tokens`` stored tokens, each unique element once."""
        return self.constant_bytes + self.bytes_per_token * self.part.read(tokens)

    def update_flops(self, tokens: int) -> int:
        """F(S): FLOPs of one decode step over ``tokens`` tokens (the new one included)."""
        return self.reading_layers * self.part.useful_flops(new=1, stored=tokens - 1)

    @property
    def _element(self) -> int:
        return dtype_bytes(self.dtype, field=f"{self.part.stored_as}-dtype")


def state_classes(
    structure: Structure, *, kv_dtype: str, recurrent_dtype: str | None = None
) -> list[StateClass]:
    """The state of one sequence by class, in order of the layers.

    ``recurrent_dtype`` goes before what the configuration declares; with neither it is the first of
    ``UNDECLARED_RECURRENT`` (see ``recurrent_answers``). Convolution columns have the model's own dtype.
    """
    dtypes = {
        StoredAs.KV: kv_dtype,
        StoredAs.RECURRENT: recurrent_dtype or next(iter(recurrent_answers(structure).values())),
        StoredAs.CONVOLUTION: structure.declared_dtype or ASSUMED_CONVOLUTION,
        StoredAs.INDEX: ASSUMED_INDEX,
    }
    held: dict[StatePart, int] = {}
    reading: dict[StatePart, int] = {}
    for layer, count in structure.kinds():
        if layer.mixer is None:
            continue
        for part in layer.mixer.reads():
            reading[part] = reading.get(part, 0) + count
        for part in layer.mixer.state():
            held[part] = held.get(part, 0) + count
    return [
        StateClass(
            part=part,
            layers=held.get(part, 0),
            reading_layers=layers,
            dtype=dtypes[part.stored_as],
        )
        for part, layers in reading.items()
    ]


def recurrent_answers(structure: Structure) -> dict[str, str]:
    """Element type of recurrent state by label: the declared one, or one for each type engines choose."""
    if structure.recurrent_dtype is not None:
        return {"declared": structure.recurrent_dtype}
    return {f"undeclared, if {dtype}": dtype for dtype in UNDECLARED_RECURRENT}


def kv_elements_per_token(structure: Structure) -> int:
    """Elements that one more token adds in all layers while no window is full; index keys apart."""
    return sum(
        count * part.per_token
        for layer, count in structure.kinds()
        if layer.mixer is not None
        for part in layer.mixer.state()
        if part.stored_as is StoredAs.KV
    )


def state_bytes(
    structure: Structure, *, tokens: int, kv_dtype: str, recurrent_dtype: str | None = None
) -> int:
    """M(S) of all classes that count as state proper."""
    classes = state_classes(structure, kv_dtype=kv_dtype, recurrent_dtype=recurrent_dtype)
    return sum(each.resident_bytes(tokens) for each in classes if each.in_total)


def kv_bytes_per_token(structure: Structure, *, kv_dtype: str) -> int:
    """2 L h_kv d_head b: bytes that one more token adds to a sequence's state. Source: chapter 2.2.3.

    Raises ModelRefused, by the name of the other kind of state, unless every layer stores all its own
    uncompressed K and V with heads of one width; ``state_classes`` has the formulas of the others.
    """
    for layer, _ in structure.kinds():
        if (why := _unconventional(layer.mixer)) is not None:
            raise ModelRefused(
                Finding(
                    field="state",
                    seen=why,
                    allowed="MHA, GQA or MQA, uncompressed and unshared, over all tokens in every layer",
                    remedy="2 L h_kv d_head b does not hold here: take the state by class.",
                )
            )
    return kv_elements_per_token(structure) * dtype_bytes(kv_dtype, field="kv-dtype")


def _unconventional(mixer: object) -> str | None:
    """Why 2 L h_kv d_head b does not hold for a layer, or None."""
    if not isinstance(mixer, Attention):
        return "a layer without attention" if mixer is None else str(getattr(mixer, "kind", mixer))
    if mixer.shares_layer is not None:
        return "kv_shared_between_layers"
    if mixer.window is not None:
        return mixer.kind
    return None if mixer.d_k == mixer.d_v else f"{mixer.kind}_k_and_v_of_unlike_width"


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
