"""Mixers of one layer that run side by side on the same input, as attention and Mamba-2 in Falcon-H1."""

from dataclasses import dataclass

from assay.analysis.perfmodel.mixers.mixer import Mixer, StatePart
from assay.analysis.perfmodel.tensors import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class SideBySide:
    """The weights, state and work of all ``mixers`` together."""

    mixers: tuple[Mixer, ...]

    @property
    def kind(self) -> str:
        return "+".join(mixer.kind for mixer in self.mixers)

    def tensors(self, d_model: int) -> tuple[Tensor, ...]:
        return tuple(tensor for mixer in self.mixers for tensor in mixer.tensors(d_model))

    def state(self) -> tuple[StatePart, ...]:
        return tuple(part for mixer in self.mixers for part in mixer.state())

    def reads(self) -> tuple[StatePart, ...]:
        return tuple(part for mixer in self.mixers for part in mixer.reads())
