"""How many bytes an element takes: plain dtypes, and stored formats with their scales.

Effective bits of a block format = element bits + (scale bits + offset bits) / block elements. Sources: IEEE
754, OCP 8-bit floating point; each method's own layout stands in ``quantization/``.
"""

from dataclasses import dataclass
from math import ceil

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
    "float8_e4m3fnuz": 8,
    "float8_e5m2": 8,
    "int8": 8,
    "uint8": 8,
}

DTYPE_ALIASES: dict[str, str] = {
    "fp64": "float64", "fp32": "float32", "float": "float32", "f32": "float32",
    "bf16": "bfloat16", "fp16": "float16", "half": "float16", "f16": "float16",
    "fp8": "float8_e4m3fn", "fp8_e4m3": "float8_e4m3fn", "float8": "float8_e4m3fn",
    "float8_e4m3": "float8_e4m3fn", "e4m3": "float8_e4m3fn", "fp8_e5m2": "float8_e5m2",
    "e5m2": "float8_e5m2",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """One value of ``bits`` for every tile of ``rows`` outputs x ``columns`` inputs; None spans all of them.

    Scales, zero points and indices alike. Tiles never wrap into the next row. ``padded_to``: the tiles along
    the inputs are stored as a multiple of it.
    """

    bits: int
    rows: int | None = 1
    columns: int | None = None
    padded_to: int = 1

    def count(self, rows: int, columns: int) -> int:
        """How many values a tensor of ``rows`` x ``columns`` carries."""
        down = 1 if self.rows is None else ceil(rows / self.rows)
        along = 1 if self.columns is None else ceil(columns / self.columns)
        return down * ceil(along / self.padded_to) * self.padded_to

    @property
    def bits_per_element(self) -> float:
        """Its share of an element; 0 for a value per row, column or tensor: that depends on the shape."""
        if self.rows is None or self.columns is None:
            return 0.0
        return self.bits / (self.rows * self.columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatScale:
    """One value of ``bits`` for every ``elements`` of the flattened tensor; blocks may span rows."""

    bits: int
    elements: int

    def count(self, rows: int, columns: int) -> int:
        """How many values a tensor of ``rows`` x ``columns`` carries."""
        return ceil(rows * columns / self.elements)

    @property
    def bits_per_element(self) -> float:
        return self.bits / self.elements


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFormat:
    """A stored element of ``bits`` with the metadata stored beside it.

    ``row_multiple``: a row is padded to a multiple of so many elements, as whole words hold them.
    """

    name: str
    bits: float
    scales: tuple[Scale | FlatScale, ...] = ()
    row_multiple: int = 1

    @property
    def effective_bits(self) -> float:
        """Bits per element with the metadata of every tile: bits + sum of scale bits / tile elements."""
        return self.bits + sum(scale.bits_per_element for scale in self.scales)

    def tensor_bytes(self, rows: int, columns: int) -> int:
        """Bytes of one tensor: elements x bits, and every scale it carries."""
        stored = rows * ceil(columns / self.row_multiple) * self.row_multiple
        metadata = sum(ceil(s.count(rows, columns) * s.bits / 8) for s in self.scales)
        return ceil(stored * self.bits / 8) + metadata


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
