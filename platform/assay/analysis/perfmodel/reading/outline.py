"""What every decoder's configuration says, whatever its layers are: sizes, tying, dtypes, draft layers."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from assay.analysis.perfmodel.feed_forward.feed_forward import norm
from assay.analysis.perfmodel.mixers.mixer import StoredAs
from assay.analysis.perfmodel.reading.fields import Fields
from assay.analysis.perfmodel.structure import Layer, Structure
from assay.analysis.perfmodel.tensors import Tensor

_DRAFT = (
    "num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules", "mtp_transformer_layers",
    "use_mtp",
)  # fmt: skip
_DRAFT_DETAILS = ("mtp_use_dedicated_embeddings", "mtp_loss_scaling_factor")
MOST_LAYERS = 10_000
_RECURRENT = ("mamba_ssm_dtype", "mamba_ssm_cache_dtype", "ssm_cache_dtype")


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """How a family's configuration calls the common sizes, and what its class assumes when it is silent."""

    tied_default: bool = False
    d_model: tuple[str, ...] = ("hidden_size",)
    layers: tuple[str, ...] = ("num_hidden_layers",)
    vocabulary: tuple[str, ...] = ("vocab_size",)
    length: tuple[str, ...] = ("max_position_embeddings",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """The frame that layers are put into. ``remarks`` collects assumptions, ``omitted`` what is left out."""

    fields: Fields
    family: str
    d_model: int
    layers: int
    vocabulary: int
    tied: bool
    max_length: int | None
    declared_dtype: str | None
    recurrent_dtype: str | None
    remarks: list[str] = field(default_factory=list)
    omitted: list[str] = field(default_factory=list)

    def structure(
        self,
        layers: Sequence[Layer],
        *,
        outer: Sequence[Tensor] | None = None,
        head_bias: bool = False,
    ) -> Structure:
        """The structure, once every field was read; ``outer`` is the final norm unless given."""
        self._check_experts(layers)
        self._remark_on_state(layers)
        return Structure(
            family=self.family,
            d_model=self.d_model,
            vocabulary=self.vocabulary,
            layers=tuple(layers),
            tied=self.tied,
            outer=(norm("model.norm", self.d_model),) if outer is None else tuple(outer),
            head_bias=head_bias,
            max_length=self.max_length,
            declared_dtype=self.declared_dtype,
            recurrent_dtype=self.recurrent_dtype,
            assumptions=tuple(self.remarks),
            not_modelled=(*self.omitted, *self.fields.left_over()),
        )

    def _remark_on_state(self, layers: Sequence[Layer]) -> None:
        """Element types that no configuration or only some declare."""
        mixers = {layer.mixer for layer in layers if layer.mixer is not None}
        kept = {part.stored_as for mixer in mixers for part in mixer.state()}
        if StoredAs.RECURRENT in kept and self.recurrent_dtype is None:
            self.remarks.append(
                "dtype of recurrent state undeclared: sums take float32, bounds bfloat16; both are listed"
            )
        if StoredAs.INDEX in kept:
            self.remarks.append(
                "index keys: one byte an element and a float32 scale a token; engines choose their layout"
            )

    def _check_experts(self, layers: Sequence[Layer]) -> None:
        """No token can be sent to more experts than there are."""
        for part in {layer.feed_forward for layer in layers if layer.feed_forward is not None}:
            for tensor in part.tensors(self.d_model):
                if tensor.chosen is not None and tensor.chosen > tensor.copies:
                    raise self.fields.refused(
                        "num_experts_per_tok", tensor.chosen, f"at most the {tensor.copies} experts"
                    )


def read_outline(fields: Fields, family: str, names: Names | None = None) -> Outline:
    """The common part; draft layers are named as left out."""
    names = names or Names()
    remarks: list[str] = []
    layers = fields.count(*names.layers)
    if layers > MOST_LAYERS:
        raise fields.refused(names.layers[0], layers, f"at most {MOST_LAYERS}")
    tied = fields.value("tie_word_embeddings", "tie_embedding")
    if tied is None:
        tied = names.tied_default
        remarks.append(f"tie_word_embeddings absent: {tied}, the default of {family}")
    elif not isinstance(tied, bool):
        raise fields.refused("tie_word_embeddings", tied, "true, false or absent")
    return Outline(
        fields=fields,
        family=family,
        d_model=fields.count(*names.d_model),
        layers=layers,
        vocabulary=fields.count(*names.vocabulary),
        tied=tied,
        max_length=fields.optional_count(*names.length),
        declared_dtype=_dtype(fields, "torch_dtype", "dtype"),
        recurrent_dtype=_dtype(fields, *_RECURRENT),
        remarks=remarks,
        omitted=_draft_layers(fields),
    )


def _draft_layers(fields: Fields) -> list[str]:
    """Multi-token-prediction layers are announced by their fields but are no part of the main model."""
    fields.without_effect(_DRAFT_DETAILS)
    return [
        f"{name} {value}: draft (MTP) layers are announced but not counted"
        for name in _DRAFT
        if (value := fields.value(name))
    ]


def _dtype(fields: Fields, *names: str) -> str | None:
    value = fields.value(*names)
    return str(value).removeprefix("torch.") if value else None
