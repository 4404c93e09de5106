"""How many bytes an element takes: plain dtypes, and stored formats with their scales.

Effective bits of a block format = element bits + (scale bits + offset bits) / block elements. Sources: the
GGUF specification (ggml-quants.h block structs), IEEE 754, OCP 8-bit floating point.
"""

from dataclasses import dataclass

from assay.analysis.perfmodel.errors import ModelRefused
from runners.protocol.errors import Finding

# Plain element types: stored bits per element.
DTYPE_BITS: dict[str, int] = {
    "float64": 64,
    "float32": 32,
    "tfloat32": 32,  # a compute mode; memory holds 32 bits
    "bfloat16": 16,
    "float16": 16,
    "float8_e4m3fn": 8,
    "float8_e5m2": 8,
    "int8": 8,
    "uint8": 8,
}

DTYPE_ALIASES: dict[str, str] = {
    "fp64": "float64", "fp32": "float32", "float": "float32", "f32": "float32",
    "bf16": "bfloat16", "fp16": "float16", "half": "float16", "f16": "float16",
    "fp8": "float8_e4m3fn", "fp8_e4m3": "float8_e4m3fn", "float8": "float8_e4m3fn",
    "float8_e4m3": "float8_e4m3fn", "fp8_e5m2": "float8_e5m2",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFormat:
    """A stored element with its metadata: ``scale_bits`` and ``offset_bits`` are per block of ``block``."""

    name: str
    bits: float
    block: int = 1
    scale_bits: int = 0
    offset_bits: int = 0

    @property
    def effective_bits(self) -> float:
        return effective_bits(
            self.bits, scale_bits=self.scale_bits + self.offset_bits, block=self.block
        )


# GGUF block formats whose layout is one scale (and one minimum) of 16 bits per block of 32.
GGUF_FORMATS: dict[str, StoredFormat] = {
    "q4_0": StoredFormat(name="q4_0", bits=4, block=32, scale_bits=16),
    "q4_1": StoredFormat(name="q4_1", bits=4, block=32, scale_bits=16, offset_bits=16),
    "q5_0": StoredFormat(name="q5_0", bits=5, block=32, scale_bits=16),
    "q5_1": StoredFormat(name="q5_1", bits=5, block=32, scale_bits=16, offset_bits=16),
    "q8_0": StoredFormat(name="q8_0", bits=8, block=32, scale_bits=16),
}


def effective_bits(bits: float, *, scale_bits: int, block: int) -> float:
    """Bits per element with metadata: bits + scale_bits / block. Source: chapter 3.2.3."""
    return bits + scale_bits / block


def metadata_share(bits: float, *, scale_bits: int, block: int) -> float:
    """Share of the stored bits that is metadata: (scale_bits / block) / effective bits."""
    return (scale_bits / block) / effective_bits(bits, scale_bits=scale_bits, block=block)


def dtype(name: str, *, field: str) -> str:
    """The canonical name of a plain element type; "4bit" and the like are refused."""
    text = str(name).lower().removeprefix("torch.")
    canonical = DTYPE_ALIASES.get(text, text)
    if canonical not in DTYPE_BITS:
        raise ModelRefused(
            Finding(
                field=field,
                seen=str(name),
                allowed=", ".join(sorted({*DTYPE_BITS, *DTYPE_ALIASES})),
                remedy="A bit width alone is no format: name the element type.",
            )
        )
    return canonical


def dtype_bytes(name: str, *, field: str) -> int:
    """Bytes per element of a plain type."""
    return DTYPE_BITS[dtype(name, field=field)] // 8


def plain(name: str, *, field: str) -> StoredFormat:
    """A plain element type as a stored format without metadata."""
    canonical = dtype(name, field=field)
    return StoredFormat(name=canonical, bits=DTYPE_BITS[canonical])
