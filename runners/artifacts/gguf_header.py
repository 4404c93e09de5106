"""Read the header of a GGUF file: metadata and tensor table, no weights.

Layout (GGUF 2 and 3, little endian): magic ``GGUF``, version u32, tensor count u64, metadata count u64; each
metadata entry is key, type u32, value; each tensor entry is name, rank u32, dimensions u64 (fastest first),
type u32, offset u64. Counts and lengths come from the file, so each is checked against the bytes left.
"""

import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MAGIC = b"GGUF"
VERSIONS = (2, 3)

_SCALARS = {
    0: "<B",
    1: "<b",
    2: "<H",
    3: "<h",
    4: "<I",
    5: "<i",
    6: "<f",
    7: "<?",
    10: "<Q",
    11: "<q",
    12: "<d",
}
_STRING, _ARRAY = 8, 9

# ggml type number -> name, elements per block, bytes per block (scales included)
TENSOR_TYPES: Mapping[int, tuple[str, int, int]] = {
    0: ("F32", 1, 4),
    1: ("F16", 1, 2),
    2: ("Q4_0", 32, 18),
    3: ("Q4_1", 32, 20),
    6: ("Q5_0", 32, 22),
    7: ("Q5_1", 32, 24),
    8: ("Q8_0", 32, 34),
    9: ("Q8_1", 32, 36),
    10: ("Q2_K", 256, 84),
    11: ("Q3_K", 256, 110),
    12: ("Q4_K", 256, 144),
    13: ("Q5_K", 256, 176),
    14: ("Q6_K", 256, 210),
    24: ("I8", 1, 1),
    25: ("I16", 1, 2),
    26: ("I32", 1, 4),
    27: ("I64", 1, 8),
    28: ("F64", 1, 8),
    30: ("BF16", 1, 2),
}


class GgufError(Exception):
    """The bytes are not a GGUF header that can be read; the message says where and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """``shape`` is as stored, fastest dimension first; ``offset`` counts from the start of the data."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufHeader:
    version: int
    metadata: Mapping[str, Any]
    tensors: tuple[Tensor, ...]
    data_start: int
    file_bytes: int


class _Cursor:
    def __init__(self, data: mmap.mmap) -> None:
        self.data = data
        self.at = 0

    def take(self, size: int) -> bytes:
        end = self.at + size
        if end > len(self.data):
            raise GgufError(f"ends at byte {len(self.data)}, in the middle of its header")
        taken = self.data[self.at : end]
        self.at = end
        return taken

    def scalar(self, form: str) -> Any:
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def text(self) -> str:
        raw = self.take(self.scalar("<Q"))
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise GgufError(f"holds text that is not UTF-8 before byte {self.at}") from error

    def value(self, kind: int, depth: int = 0) -> Any:
        if form := _SCALARS.get(kind):
            return self.scalar(form)
        if kind == _STRING:
            return self.text()
        if kind == _ARRAY and depth < 2:
            return self.array(depth)
        raise GgufError(f"holds a value of unknown type {kind} at byte {self.at}")

    def array(self, depth: int) -> list[Any]:
        kind, count = self.scalar("<I"), self.scalar("<Q")
        if count > len(self.data) - self.at:  # every element takes at least a byte
            raise GgufError(f"holds an array of {count} elements, more than the bytes left")
        if form := _SCALARS.get(kind):
            packed = f"<{count}{form[1]}"
            return list(struct.unpack(packed, self.take(struct.calcsize(packed))))
        if kind == _STRING:
            return [self.text() for _ in range(count)]
        return [self.value(kind, depth + 1) for _ in range(count)]


def read(path: Path) -> GgufHeader:
    """The header of the file at ``path``. Raises GgufError for anything that is not a whole GGUF file."""
    with path.open("rb") as stream:
        try:
            data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError as error:
            raise GgufError("is empty") from error
        with data:
            return _header(_Cursor(data))


def _header(cursor: _Cursor) -> GgufHeader:
    if (magic := cursor.take(4)) != MAGIC:
        raise GgufError(f"starts with {magic!r}, not {MAGIC!r}")
    version = cursor.scalar("<I")
    if version not in VERSIONS:
        raise GgufError(f"is GGUF version {version}; versions 2 and 3 are read")
    tensor_count, metadata_count = cursor.scalar("<Q"), cursor.scalar("<Q")
    metadata: dict[str, Any] = {}
    for _ in range(metadata_count):
        key = cursor.text()
        metadata[key] = cursor.value(cursor.scalar("<I"))
    tensors = tuple(_tensor(cursor) for _ in range(tensor_count))
    alignment = int(metadata.get("general.alignment", 32))
    data_start = -(-cursor.at // alignment) * alignment
    header = GgufHeader(
        version=version,
        metadata=metadata,
        tensors=tensors,
        data_start=data_start,
        file_bytes=len(cursor.data),
    )
    for tensor in tensors:
        if data_start + tensor.offset + tensor.bytes > header.file_bytes:
            raise GgufError(f"ends at byte {header.file_bytes}, before the end of {tensor.name}")
    return header


def _tensor(cursor: _Cursor) -> Tensor:
    name, rank = cursor.text(), cursor.scalar("<I")
    if rank > 8:
        raise GgufError(f"gives tensor {name} {rank} dimensions")
    shape = tuple(cursor.scalar("<Q") for _ in range(rank))
    kind, offset = cursor.scalar("<I"), cursor.scalar("<Q")
    if kind not in TENSOR_TYPES:
        raise GgufError(f"stores tensor {name} in type {kind}, which is not known here")
    dtype, block, block_bytes = TENSOR_TYPES[kind]
    elements = 1
    for size in shape:
        elements *= size
    return Tensor(
        name=name, dtype=dtype, shape=shape, offset=offset, bytes=elements // block * block_bytes
    )
