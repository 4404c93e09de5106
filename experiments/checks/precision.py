"""Is each of the four precisions described in full? A single word ("4bit", "FP8") is not a description.

What is needed: an exact format, stored bits, granularity, and for anything under 16 bits the scale factors
(elements per scale, the scale's own dtype, zero point). Layers left out are named with their own dtype.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from experiments.errors import Finding

# format -> stored bits per element, without scale factors
FORMATS: Mapping[str, float] = {
    "float64": 64,
    "float32": 32,
    "bfloat16": 16,
    "float16": 16,
    "float8_e4m3fn": 8,
    "float8_e5m2": 8,
    "float4_e2m1": 4,
    "int32": 32,
    "int8": 8,
    "uint8": 8,
    "int4": 4,
    "uint4": 4,
    "Q2_K": 2,
    "Q3_K": 3,
    "Q4_0": 4,
    "Q4_1": 4,
    "Q4_K": 4,
    "Q5_0": 5,
    "Q5_1": 5,
    "Q5_K": 5,
    "Q6_K": 6,
    "Q8_0": 8,
}
GRANULARITIES = ("tensor", "channel", "token", "block", "none")
SCALED_BELOW_BITS = 16


def check(precision: Mapping[str, Any] | None) -> Iterator[Finding]:
    """Everything that is missing from or contradicts itself in the four precisions; null has none."""
    for name, described in (precision or {}).items():
        yield from _one(f"artifact.precision.{name}", described)


def _one(field: str, described: Mapping[str, Any]) -> Iterator[Finding]:
    dtype, bits, scale = described["dtype"], described["bits"], described["scale"]
    if dtype not in FORMATS:
        yield Finding(
            field=f"{field}.dtype",
            seen=str(dtype),
            allowed=", ".join(FORMATS),
            remedy="A single word is no description of a precision: name the exact format, with bits, "
            "granularity, scale factors and excluded layers.",
        )
        return
    if bits != FORMATS[dtype]:
        yield _wrong(f"{field}.bits", bits, f"{FORMATS[dtype]} for {dtype}")
    if described["granularity"] not in GRANULARITIES:
        yield _wrong(f"{field}.granularity", described["granularity"], ", ".join(GRANULARITIES))
    if bits < SCALED_BELOW_BITS and described["granularity"] == "none":
        yield _wrong(f"{field}.granularity", "none", f"what one scale of {dtype} covers")
    if bits < SCALED_BELOW_BITS and scale is None:
        yield _wrong(
            f"{field}.scale", "null", f"block, dtype and zero_point of the scales of {dtype}"
        )
    if scale is not None and (scale["block"] < 1 or scale["dtype"] not in FORMATS):
        yield _wrong(f"{field}.scale", scale, "block of at least 1 element and an exact dtype")
    layers, dtypes = described["excluded_layers"], described["excluded_dtypes"]
    if set(layers) != set(dtypes):
        yield _wrong(f"{field}.excluded_dtypes", dtypes, f"the dtype of each of {layers}")
    for pattern, excluded in dtypes.items():
        if str(excluded) not in FORMATS and str(excluded) not in ("F32", "F16", "BF16"):
            yield _wrong(f"{field}.excluded_dtypes.{pattern}", excluded, ", ".join(FORMATS))


def _wrong(field: str, seen: Any, allowed: str) -> Finding:
    return Finding(
        field=field, seen=str(seen), allowed=allowed, remedy="Say all of it, as the file stores it."
    )
