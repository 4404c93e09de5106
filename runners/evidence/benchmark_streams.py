"""Streams through memory by access pattern, so that a sustained bandwidth says how it was walked.

Bytes count what the pattern must read and write once. Writing may cost more than is counted: a core reads a
line before it writes part of it. A copy says nothing about gathers, so each pattern has a figure of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runners.evidence.benchmark_patterns import BLOCK_TOKENS, Pattern, Shapes

if TYPE_CHECKING:
    import torch

ELEMENT_BYTES = 4  # float32
LINE_BYTES = 64
ROW_ELEMENTS = 64  # of a random gather: 256 bytes, one head of one token


def stream_patterns(shapes: Shapes, *, working_set_bytes: int, label: str) -> list[Pattern]:
    """Seven patterns over one buffer of that size. Source and destination share it, so the level is one."""
    import torch

    elements = max(4096, working_set_bytes // ELEMENT_BYTES)
    buffer = torch.full((elements,), 0.5)
    half, third = elements // 2, elements // 3
    return [
        _read(buffer, label),
        _strided(buffer, label),
        _write(buffer, label),
        _copy(buffer[:half], buffer[half : 2 * half], label),
        _triad([buffer[n * third : (n + 1) * third] for n in range(3)], label),
        _gather(buffer, label, name="random_gather", row_elements=ROW_ELEMENTS),
        _gather(buffer, label, name="paged_gather", row_elements=_page_elements(shapes)),
    ]


def _page_elements(shapes: Shapes) -> int:
    """One block of one layer's K (or V): what a paged attention reads in one piece."""
    return BLOCK_TOKENS * shapes.kv_heads * shapes.d_head


def _read(buffer: torch.Tensor, label: str) -> Pattern:
    size = buffer.numel() * ELEMENT_BYTES
    return _pattern("read", label, size, run=buffer.sum, moved=size, read_share=1.0)


def _strided(buffer: torch.Tensor, label: str) -> Pattern:
    """One element of every line. The bytes are the elements': the lines brought in are 16 times as many."""
    chosen = buffer[:: LINE_BYTES // ELEMENT_BYTES]
    return _pattern(
        "strided_read", label, buffer.numel() * ELEMENT_BYTES, run=chosen.sum,
        moved=chosen.numel() * ELEMENT_BYTES, read_share=1.0, stride_bytes=LINE_BYTES,
        line_bytes_read=chosen.numel() * LINE_BYTES,
    )  # fmt: skip


def _write(buffer: torch.Tensor, label: str) -> Pattern:
    size = buffer.numel() * ELEMENT_BYTES
    return _pattern("write", label, size, run=lambda: buffer.fill_(0.5), moved=size, read_share=0.0)


def _copy(source: torch.Tensor, target: torch.Tensor, label: str) -> Pattern:
    size = 2 * source.numel() * ELEMENT_BYTES
    return _pattern(
        "copy", label, size, run=lambda: target.copy_(source), moved=size, read_share=0.5
    )


def _triad(parts: list[torch.Tensor], label: str) -> Pattern:
    """a = b + s c: two reads and one write."""
    import torch

    a, b, c = parts
    size = 3 * a.numel() * ELEMENT_BYTES
    return _pattern(
        "triad", label, size, run=lambda: torch.add(b, c, alpha=0.5, out=a), moved=size,
        read_share=2 / 3,
    )  # fmt: skip


def _gather(buffer: torch.Tensor, label: str, *, name: str, row_elements: int) -> Pattern:
    """Rows in random order from one half into the other: read and write 1:1, the index apart."""
    import torch

    rows = max(1, buffer.numel() // (2 * row_elements))
    source = buffer[: rows * row_elements].view(rows, row_elements)
    target = buffer[-rows * row_elements :].view(rows, row_elements)
    generator = torch.Generator(device=buffer.device).manual_seed(0)
    order = torch.randperm(rows, generator=generator, device=buffer.device)
    moved = 2 * rows * row_elements * ELEMENT_BYTES
    return _pattern(
        name, label, moved, run=lambda: torch.index_select(source, 0, order, out=target),
        moved=moved, read_share=0.5, piece_bytes=row_elements * ELEMENT_BYTES,
    )  # fmt: skip


def _pattern(
    name: str, label: str, size: int, *, run: Any, moved: int, read_share: float, **conditions: Any
) -> Pattern:
    return Pattern(
        name=f"stream.{name}.{label}",
        pattern=name.replace("_", " "),
        dtype="float32",
        conditions={"set": label, "read_share": read_share, **conditions},
        run=run,
        working_set_bytes=size,
        bytes=moved,
    )
