"""How one model is spread over devices, by tensor, pipeline, expert and data parallel, and over which links.

Ranks are numbered tensor first, then data, then pipeline, so that a tensor group is contiguous. Experts
are spread over ``expert`` of the ``tensor x data`` ranks of a stage. Devices are never taken for one large
device: every figure is of a rank, with the messages between them.
"""

from dataclasses import dataclass

from assay.analysis.perfmodel.errors import ModelRefused
from runners.protocol.errors import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Degrees of each kind; 1 means not in use. ``domain`` devices share the fast link."""

    tensor: int = 1
    pipeline: int = 1
    expert: int = 1
    data: int = 1
    domain: int = 8

    def __post_init__(self) -> None:
        for field in ("tensor", "pipeline", "expert", "data", "domain"):
            if getattr(self, field) < 1:
                raise refused(field, getattr(self, field), "at least 1", "Correct the degree.")
        if self.stage_ranks % self.expert:
            raise refused(
                "expert",
                self.expert,
                f"a divisor of tensor x data = {self.stage_ranks}",
                "Experts are spread over ranks that hold tensor and data shards.",
            )

    @property
    def stage_ranks(self) -> int:
        """Ranks of one pipeline stage."""
        return self.tensor * self.data

    @property
    def devices(self) -> int:
        return self.stage_ranks * self.pipeline

    def tensor_in_domain(self) -> bool:
        """Whether every tensor group lies inside one domain."""
        return self.domain % self.tensor == 0

    def experts_in_domain(self) -> bool:
        """Whether every expert group lies inside one domain."""
        return self.domain % self.expert == 0

    def crossing_boundaries(self) -> int:
        """Pipeline boundaries at which some rank sends to another domain."""
        ranks = self.stage_ranks
        return sum(
            any(r // self.domain != (r + ranks) // self.domain for r in range(start, start + ranks))
            for start in range(0, (self.pipeline - 1) * ranks, ranks)
        )


def refused(field: str, seen: object, allowed: str, remedy: str) -> ModelRefused:
    """A refusal that names a field of the layout."""
    return ModelRefused(Finding(field=field, seen=str(seen), allowed=allowed, remedy=remedy))
