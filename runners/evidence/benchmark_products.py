"""Single matrix products by shape and element type: few rows as in decode, many as in a prompt.

A nominal peak is not what a small product reaches; here each shape has its own rate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from runners.evidence.benchmark_patterns import Pattern, Shapes, dtype_name

DECODE_ROWS = (1, 2, 4, 8, 16, 32, 64)
PROMPT_ROWS = (256, 1024)
SQUARE = 2048


def product_patterns(shapes: Shapes, *, dtypes: tuple[str, ...]) -> Iterator[Callable[[], Pattern]]:
    """Makers of patterns, one product each; nothing is allocated before a maker is called."""
    d, f = shapes.d_model, shapes.d_ff
    for dtype in dtypes:
        for rows in (*DECODE_ROWS, *PROMPT_ROWS):
            yield _maker(rows, d, f, dtype)
        for rows in DECODE_ROWS:
            yield _maker(rows, f, d, dtype)
        for rows in (1, 64):
            yield _maker(rows, d, shapes.vocabulary, dtype)
        yield _maker(SQUARE, SQUARE, SQUARE, dtype)


def product_pattern(*, rows: int, inner: int, columns: int, dtype: str) -> Pattern:
    """``rows`` x ``inner`` times ``inner`` x ``columns``: 2 FLOP a multiply-add, every element once."""
    import torch
    from torch.nn import functional

    element: torch.dtype = getattr(torch, dtype)
    weight = torch.full((columns, inner), 0.5).to(element)
    inputs = torch.rand(rows, inner).to(element)
    size = (rows * inner + inner * columns + rows * columns) * weight.element_size()
    return Pattern(
        name=f"gemm.{dtype_name(element)}.{rows}x{inner}x{columns}",
        pattern="one matrix product",
        dtype=dtype_name(element),
        conditions={"rows": rows, "inner": inner, "columns": columns},
        run=lambda: functional.linear(inputs, weight),
        working_set_bytes=size,
        bytes=size,
        flops=2 * rows * inner * columns,
        calls=1,
    )


def _maker(rows: int, inner: int, columns: int, dtype: str) -> Callable[[], Pattern]:
    return lambda: product_pattern(rows=rows, inner=inner, columns=columns, dtype=dtype)
