"""What a prediction is asked for: a load, a layout, an engine's memory setting. Checked against the
model."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite

from assay.analysis.perfmodel.engine_budget import BLOCK_TOKENS, EngineBudget
from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.parallel.layout import Layout
from assay.analysis.perfmodel.parallel.messages import Account, Link
from assay.analysis.perfmodel.structure import Structure
from runners.protocol.errors import Finding

MAX_BATCH = 100_000
MAX_POINTS = 4096  # of a sweep
SWEEP_BATCHES = (1, 4, 16, 64, 256)
SWEEP_CONTEXTS = (512, 2048, 8192, 32768)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineMemory:
    """An engine that takes a share of the device's total memory; see ``engine_budget``.

    ``total_bytes`` is what the driver reports; None takes the device's rated size, which is another figure.
    """

    utilization: float
    remainder_bytes: int
    remainder_source: str
    total_bytes: int | None = None
    block_tokens: int = BLOCK_TOKENS

    def budget(self, *, device_bytes: int | None, weight_bytes: int) -> EngineBudget | None:
        """The budget of a device or rank with these weights; None where no total is known."""
        total = device_bytes if self.total_bytes is None else self.total_bytes
        if total is None:
            return None
        return EngineBudget(
            total_bytes=total,
            utilization=self.utilization,
            weight_bytes=weight_bytes,
            remainder_bytes=self.remainder_bytes,
            remainder_source=self.remainder_source,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WayBack:
    """Sustained rates at which weights come back into device memory; None is not known."""

    storage_bytes_per_s: float | None = None
    host_link_bytes_per_s: float | None = None
    source: str = "not given"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One load: ``batch`` sequences that decode over ``context`` stored tokens, and prompts of that length.

    ``reused_tokens`` of each prompt come from a prefix cache; ``chunk_tokens`` of each prompt run in one
    step, all prompts side by side. ``batches`` x ``contexts`` are the points of the sweep.
    """

    batch: int
    context: int
    reused_tokens: int = 0
    chunk_tokens: int | None = None
    batches: tuple[int, ...] = SWEEP_BATCHES
    contexts: tuple[int, ...] = SWEEP_CONTEXTS
    experts_touched: float | None = None
    layout: Layout = field(default_factory=Layout)
    links: Mapping[Account, Link] = field(default_factory=dict)
    engine: EngineMemory | None = None
    way_back: WayBack = field(default_factory=WayBack)

    def check(self, structure: Structure) -> None:
        """Raise ModelRefused for a load that the model cannot take."""
        longest = structure.max_length
        for name, values in (("batch", (self.batch, *self.batches)), ("context", (self.context,))):
            for value in values:
                _at_least_one(name, value)
        for value in self.contexts:
            _at_least_one("context", value)
        if max(self.batch, *self.batches, 1) > MAX_BATCH:
            raise _refused("batch", max(self.batch, *self.batches), f"at most {MAX_BATCH}")
        if len(self.batches) * len(self.contexts) > MAX_POINTS:
            raise _refused("sweep", len(self.batches) * len(self.contexts), f"{MAX_POINTS} points")
        if longest is not None and self.context > longest:
            raise _refused("context", self.context, f"at most {longest} tokens, the model's own")
        if not 0 <= self.reused_tokens < self.context:
            raise _refused("reused-tokens", self.reused_tokens, f"0 to {self.context - 1}")
        if self.chunk_tokens is not None:
            _at_least_one("chunk-tokens", self.chunk_tokens)
        _above_zero("experts-touched", self.experts_touched)
        _above_zero("storage-gb-per-s", self.way_back.storage_bytes_per_s)
        _above_zero("host-link-gb-per-s", self.way_back.host_link_bytes_per_s)

    def sweep_contexts(self, structure: Structure) -> tuple[int, ...]:
        """The contexts that the model takes, in order."""
        longest = structure.max_length
        fitting = {c for c in self.contexts if longest is None or c <= longest}
        return tuple(sorted(fitting or {self.context}))


def _at_least_one(name: str, value: int) -> None:
    if value < 1:
        raise _refused(name, value, "at least 1")


def _above_zero(name: str, value: float | None) -> None:
    if value is not None and not (isfinite(value) and value > 0):
        raise _refused(name, value, "more than 0, finite")


def _refused(name: str, seen: object, allowed: str) -> ModelRefused:
    return ModelRefused(
        Finding(field=name, seen=str(seen), allowed=allowed, remedy="Correct the value.")
    )
