"""The two roofs of a device with their sources, and the bounds they give."""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.analysis.perfmodel.bounds import Bound, roof_flops_per_s, step_bound
from assay.analysis.perfmodel.operators import Operator


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceRoofs:
    """Roofs and size of a device, with a label for each figure's source; None where it is not known."""

    name: str
    flops_per_s: float
    bandwidth_bytes_per_s: float
    memory_level: str
    memory_bytes: int | None
    sources: tuple[str, ...]

    @property
    def ridge(self) -> float:
        """FLOP per byte of the named level at which both roofs meet."""
        return self.flops_per_s / self.bandwidth_bytes_per_s

    def roof(self, intensity: float) -> float:
        """FLOP/s that the smaller roof allows at an intensity."""
        return roof_flops_per_s(
            intensity,
            peak_flops_per_s=self.flops_per_s,
            bandwidth_bytes_per_s=self.bandwidth_bytes_per_s,
        )

    def bound(self, operators: Sequence[Operator]) -> Bound:
        """Serial bound of a step."""
        return step_bound(
            operators,
            peak_flops_per_s=self.flops_per_s,
            bandwidth_bytes_per_s=self.bandwidth_bytes_per_s,
            memory_level=self.memory_level,
        )
