"""What has to be known before a kernel may be said to make a run faster.

Three questions with three kinds of evidence: does the algorithm move less intermediate data, does it fit
this shape and hardware, did the engine call it in this run. And three layers: an algorithm, the library's
kernel, the engine's dispatch. Neither a micro-benchmark nor high utilisation answers the last one.
Sources: chapter 2.8.3 and 3.3.3.
"""

from dataclasses import dataclass

from assay.analysis.perfmodel.errors import ModelRefused
from runners.protocol.errors import Finding
from runners.protocol.events import EvidenceStrength


@dataclass(frozen=True, slots=True, kw_only=True)
class Implementation:
    """Which algorithm, which kernel of which library, which decision of the engine, and how that is
    known."""

    algorithm: str
    library_kernel: str
    engine_dispatch: str
    strength: EvidenceStrength
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelGain:
    """Answers to the three questions; None is "nobody looked". Shares are measured times, old over new.

    ``traffic_ratio``: intermediate bytes new / old, derived from the algorithm.
    ``microbenchmark_speed_up`` holds for ``benchmark_shape`` on one device.
    """

    traffic_ratio: float | None
    microbenchmark_speed_up: float | None
    benchmark_shape: str | None
    called: Implementation | None

    def open_questions(self) -> tuple[str, ...]:
        """What is still to be answered, with the evidence that would."""
        asked = (
            (self.traffic_ratio, "less intermediate traffic? (the algorithm's byte count)"),
            (self.microbenchmark_speed_up, "fits shape and hardware? (a micro-benchmark of the shape)"),
            (self._traced, "did the engine call it? (a trace of this run)"),
        )  # fmt: skip
        return tuple(question for answer, question in asked if not answer)

    @property
    def _traced(self) -> bool:
        return self.called is not None and self.called.strength is EvidenceStrength.trace


def end_to_end_speed_up(gain: KernelGain, *, before_s: float, after_s: float) -> float:
    """Measured old time over new time, credited to the kernel only if a trace shows that it ran.

    Lower traffic or a faster micro-benchmark is refused in its place.
    """
    open_questions = gain.open_questions()
    if any("trace" in question for question in open_questions):
        seen = "no implementation named"
        if gain.called is not None:
            seen = f"{gain.called.library_kernel} ({gain.called.strength})"
        raise _refused(
            "called",
            seen,
            "evidence of strength trace",
            "Trace this run; a library name is no path.",
        )
    return before_s / after_s


def share_of_bound(*, bound_s: float | None, measured_s: float) -> float:
    """Bound over measured time: the only figure that says how near the bound a run was.

    Utilisation counters count busy cycles, not useful work, and cannot stand in for a missing bound.
    """
    if bound_s is None:
        raise _refused(
            "bound_s",
            "none (utilisation is no bound)",
            "a bound from work, bytes and roofs",
            "Name a device, so that a bound can be computed.",
        )
    if measured_s < bound_s:
        raise _refused(
            "measured_s",
            measured_s,
            f"at least the bound, {bound_s:g} s",
            "Work, roof or clock is wrong: no run beats its bound.",
        )
    return bound_s / measured_s


def _refused(field: str, seen: object, allowed: str, remedy: str) -> ModelRefused:
    return ModelRefused(Finding(field=field, seen=str(seen), allowed=allowed, remedy=remedy))
