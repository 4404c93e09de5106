"""What a mixture of experts sends: the logical payload of a layer, and what it takes to call it traffic.

Payload of dispatch and combine: 2 x tokens x d_model x bytes x chosen. It becomes a statement on the
network only with the share that leaves the device, copies sent twice, metadata and padding, and the batch
it counts. Source: chapter 2.5.2.
"""

from dataclasses import dataclass
from fractions import Fraction

from assay.analysis.perfmodel.parallel.layout import refused

LOGICAL = "logical payload of one layer"
TRAFFIC = "bytes between devices of one layer"


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingPayload:
    """``bytes`` of one layer and step. The other fields are None while they are not stated.

    ``cross_device_share``: share of choices that leave the device; ``copies_per_choice``: sends of a token
    to one rank for several of its experts, 1 when merged; ``metadata_bytes``: headers, indices and
    padding; ``batch_scope``: ``global`` or ``per rank``.
    """

    bytes: int
    cross_device_share: float | None = None
    copies_per_choice: float | None = None
    metadata_bytes: int | None = None
    batch_scope: str | None = None

    def not_stated(self) -> tuple[str, ...]:
        """What keeps the figure a logical payload."""
        fields = {
            "share that crosses devices": self.cross_device_share,
            "duplicate sends to one rank": self.copies_per_choice,
            "metadata and padding": self.metadata_bytes,
            "global or per-rank batch": self.batch_scope,
        }
        return tuple(name for name, value in fields.items() if value is None)

    @property
    def label(self) -> str:
        return LOGICAL if self.not_stated() else TRAFFIC

    @property
    def traffic_bytes(self) -> float:
        """Bytes that leave the device; refused while anything of ``not_stated`` is open."""
        share, copies, extra = self.cross_device_share, self.copies_per_choice, self.metadata_bytes
        if share is None or copies is None or extra is None or self.batch_scope is None:
            raise refused(
                "routing payload",
                f"not stated: {', '.join(self.not_stated())}",
                "all four of them",
                "Without them it is the logical payload of one layer, not network volume.",
            )
        return self.bytes * share * copies + extra


def routing_payload(
    *, tokens: int, d_model: int, element_bytes: float, chosen: int | Fraction
) -> RoutingPayload:
    """2 B d b k: every token's hidden vector to each chosen expert and back, in one layer."""
    return RoutingPayload(bytes=round(2 * tokens * d_model * element_bytes * chosen))


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingRecord:
    """How a run really routed; None with the reason where nobody counted.

    ``skew``: tokens of the busiest expert over the mean; ``capacity_factor``: slots over the mean, None
    also where an engine has no capacity; ``dropped_tokens`` and ``rerouted_tokens`` of a step or run.
    """

    skew: float | None = None
    capacity_factor: float | None = None
    dropped_tokens: int | None = None
    rerouted_tokens: int | None = None
    missing: str | None = "no routing was recorded: counts by expert from the engine would fill it"


def record_routing(
    counts: list[int],
    *,
    capacity_factor: float | None,
    dropped_tokens: int | None,
    rerouted_tokens: int | None,
) -> RoutingRecord:
    """The record of counted tokens by expert of one layer."""
    if not counts or not sum(counts):
        raise refused("counts", counts, "tokens by expert", "Count the choices of a layer.")
    return RoutingRecord(
        skew=max(counts) * len(counts) / sum(counts),
        capacity_factor=capacity_factor,
        dropped_tokens=dropped_tokens,
        rerouted_tokens=rerouted_tokens,
        missing=None,
    )
