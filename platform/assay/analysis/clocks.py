"""Instants of clocks, and what may be said of two of them.

A clock domain is boot id + time namespace + clock kind. Inside one domain instants are subtracted exactly.
Across domains a difference exists only if both carry an error bound on a shared axis; it is then an interval
of half-width epsilon_A + epsilon_B, and a point value is reported only while that is smaller than the
estimate. Without bounds the difference is refused, and what can still be had is named. Absolute values of
monotonic clocks mean nothing and are never interpreted.
"""

from collections.abc import Collection
from dataclasses import dataclass

from assay.analysis.absence import Absent
from assay.analysis.errors import ClaimRefused

INSTEAD = "same-end round-trip time, send/acknowledge events, or causal order only"


@dataclass(frozen=True, slots=True, kw_only=True)
class Instant:
    """``t_ns`` in ``clock_domain``; ``error_ns`` is the bound of its mapping onto the shared axis.

    None means that no mapping is known; it is fine inside the domain and refused outside it.
    """

    t_ns: int
    clock_domain: str
    error_ns: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """``later - earlier`` in ns: the interval it lies in, and the point value where one may be stated."""

    low_ns: int
    high_ns: int
    estimate_ns: int
    half_width_ns: int

    @property
    def point_ns(self) -> int | None:
        """The estimate, or None when the error is not smaller than the estimate."""
        if self.half_width_ns == 0 or self.half_width_ns < abs(self.estimate_ns):
            return self.estimate_ns
        return None

    @property
    def point_reportable(self) -> bool:
        return self.point_ns is not None


def difference(earlier: Instant, later: Instant) -> Difference | Absent:
    """``later - earlier``; Absent with the reason when the two clocks are not tied to each other."""
    estimate = later.t_ns - earlier.t_ns
    if earlier.clock_domain == later.clock_domain:
        return Difference(low_ns=estimate, high_ns=estimate, estimate_ns=estimate, half_width_ns=0)
    if earlier.error_ns is None or later.error_ns is None:
        return Absent(
            f"clock domains {earlier.clock_domain} and {later.clock_domain} are not calibrated "
            f"to each other; available instead: {INSTEAD}"
        )
    half_width = earlier.error_ns + later.error_ns
    return Difference(
        low_ns=estimate - half_width,
        high_ns=estimate + half_width,
        estimate_ns=estimate,
        half_width_ns=half_width,
    )


def elapsed_ns(earlier: Instant, later: Instant) -> int:
    """End-to-end time: the exact difference of two instants of one domain. Any other pair is refused."""
    if earlier.clock_domain != later.clock_domain:
        raise ClaimRefused(
            field="clock_domain",
            seen=f"{earlier.clock_domain} and {later.clock_domain}",
            allowed="two instants of one clock domain",
            remedy=f"Report local intervals; available across domains: {INSTEAD}.",
        )
    return later.t_ns - earlier.t_ns


def one_way_delay(earlier: Instant, later: Instant) -> Difference:
    """A one-way delay between two domains: refused without calibration, else an interval."""
    found = difference(earlier, later)
    if isinstance(found, Absent):
        raise ClaimRefused(
            field="one-way delay",
            seen=found.reason,
            allowed="two instants with error bounds on one axis",
            remedy=f"Exchange four-timestamp probes, or report {INSTEAD}.",
        )
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundaryResidual:
    """What lies between two local durations of one call. Not "the network": it may hold serialisation,
    proxy and asynchronous work, and it has no direction."""

    outer_ns: int
    inner_ns: int
    name: str = "boundary residual"

    @property
    def value_ns(self) -> int:
        return self.outer_ns - self.inner_ns


# What a split of a boundary residual into "before" and "after" needs, all of it.
SPLIT_NEEDS = (
    "same call",
    "comparable clock rates",
    "fixed end-point meaning",
    "cross-domain mapping evidence",
)


def named_network(residual: BoundaryResidual) -> str:
    """Refused always: no duration pair shows that its residual is network time."""
    raise ClaimRefused(
        field="name of the boundary residual",
        seen="network",
        allowed=residual.name,
        remedy="Split it only with " + ", ".join(SPLIT_NEEDS) + ".",
    )


def split_residual(
    residual: BoundaryResidual, before: Difference | Absent, held: Collection[str]
) -> tuple[Difference, Difference] | Absent:
    """The parts before and after the inner duration, as intervals, if all of ``SPLIT_NEEDS`` are held.

    ``before`` is the cross-domain difference from the outer start to the inner start.
    """
    missing = [need for need in SPLIT_NEEDS if need not in held]
    if missing or isinstance(before, Absent):
        why = ", ".join(missing) if missing else "cross-domain mapping evidence"
        return Absent(f"the boundary residual stays unsplit: missing {why}")
    total = residual.value_ns
    after = Difference(
        low_ns=total - before.high_ns,
        high_ns=total - before.low_ns,
        estimate_ns=total - before.estimate_ns,
        half_width_ns=before.half_width_ns,
    )
    return before, after
