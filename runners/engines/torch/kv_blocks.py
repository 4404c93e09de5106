"""Which request holds which block of the KV cache. Numbers only: no tensor lives here.

A block holds ``block_tokens`` tokens of every layer. It is either free or in exactly one request's table.
"""

from collections.abc import Sequence


class OutOfBlocks(Exception):
    """More blocks were asked for than are free; the caller decides whether to wait or to preempt."""


class BlockPool:
    """``tables[request]`` lists a request's blocks in token order."""

    def __init__(self, *, total: int, block_tokens: int) -> None:
        self.total = total
        self.block_tokens = block_tokens
        self._free = list(range(total - 1, -1, -1))  # popped from the end: low numbers first
        self._tables: dict[str, list[int]] = {}

    @property
    def free(self) -> int:
        return len(self._free)

    @property
    def used(self) -> int:
        return self.total - len(self._free)

    def blocks_for(self, tokens: int) -> int:
        """Blocks that hold ``tokens`` tokens: ceil(tokens / block_tokens)."""
        return -(-tokens // self.block_tokens)

    def table(self, request: str) -> Sequence[int]:
        return self._tables.get(request, ())

    def missing(self, request: str, tokens: int) -> int:
        """Blocks a request still needs to hold ``tokens`` tokens."""
        return max(0, self.blocks_for(tokens) - len(self.table(request)))

    def take(self, request: str, count: int) -> None:
        """Give a request ``count`` more blocks. Raises OutOfBlocks, changing nothing, if too few are free."""
        if count > len(self._free):
            raise OutOfBlocks(f"{request} needs {count} blocks, {len(self._free)} are free")
        table = self._tables.setdefault(request, [])
        table.extend(self._free.pop() for _ in range(count))

    def release(self, request: str) -> int:
        """Return all blocks of a request; they can be taken again at once. Returns how many."""
        table = self._tables.pop(request, [])
        self._free.extend(reversed(table))
        return len(table)

    def check(self) -> None:
        """Every block is free or in one table, none twice, none lost. Raises AssertionError otherwise."""
        held = [block for table in self._tables.values() for block in table]
        if sorted(held + self._free) != list(range(self.total)):
            raise AssertionError(
                f"{len(held)} held and {len(self._free)} free are not {self.total} blocks"
            )
