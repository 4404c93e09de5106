"""Samples of which each request gave several, one request's after the other's, read a block at a time.

Gaps within one request hang together, so that an interval takes the request as its unit.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from math import fsum

import numpy as np
from numpy.typing import NDArray

from assay.analysis.ordered import Ordered
from assay.analysis.shelf import Shelf

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


class Clusters:
    """``blocks`` reads all samples anew, cut between requests; ``counts`` says how many each request gave."""

    def __init__(
        self,
        blocks: Callable[[], Iterable[Floats]],
        counts: Sequence[int] | Counts,
        shelf: Shelf | None = None,
    ) -> None:
        self._blocks = blocks
        self._shelf = shelf
        sizes = np.asarray(counts, dtype=np.int64)
        self.sizes: Counts = sizes[sizes > 0]

    def __len__(self) -> int:
        return int(self.sizes.sum())

    @cached_property
    def ordered(self) -> Ordered:
        """The samples that are finite, in ascending order."""
        return Ordered((block[np.isfinite(block)] for block in self._blocks()), self._shelf)

    @property
    def all_finite(self) -> bool:
        return len(self.ordered) == len(self)

    def mean(self) -> float:
        """Of the finite ones, exactly rounded."""
        finite = (block[np.isfinite(block)].data for block in self._blocks())
        return fsum(chain.from_iterable(finite)) / len(self.ordered)

    def sums(self) -> Floats:
        """The sum of each request's samples."""
        found = [np.add.reduceat(block, starts) for block, starts in self._of_requests()]
        return np.concatenate(found)

    def up_to(self, value: float) -> Counts:
        """How many of each request's samples lie at or below ``value``."""
        found = [
            np.add.reduceat((block <= value).astype(np.int64), starts)
            for block, starts in self._of_requests()
        ]
        return np.concatenate(found)

    def _of_requests(self) -> Iterator[tuple[Floats, Counts]]:
        """Blocks that are not empty, with where in them each request's samples begin."""
        ends = np.cumsum(self.sizes)
        first = begun = 0
        for block in self._blocks():
            if len(block):
                begun += len(block)
                last = int(np.searchsorted(ends, begun)) + 1
                yield block, ends[first:last] - self.sizes[first:last] - (begun - len(block))
                first = last


def held(samples: Sequence[float] | Floats, counts: Sequence[int] | Counts) -> Clusters:
    """Samples that are in memory."""
    values = np.asarray(samples, dtype=np.float64)
    return Clusters(lambda: [values], counts)
