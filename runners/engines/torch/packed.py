"""Linear layers whose weights stay in their 4 or 8 bits and are unpacked for every use.

transformers 5.24.0 keeps GGUF blocks packed for three architectures and only where a published kernel for
the device exists; for this model on a CPU it unpacks everything at load. These modules hold the same numbers
of the same blocks (scale, minimum, quants: not one bit is changed), laid out so that a column of the weight
is contiguous and whole blocks unpack in wide strides. The unpacked weight equals the dequantized one bit for
bit.

ggml layouts, 32 elements a block: Q4_1 = d f16, m f16, 16 bytes; element i of 0..15 is the low half of byte
i, element 16+i its high half; w = d*q + m. Q8_0 = d f16, 32 x int8; w = d*q.
"""

import numpy as np
import torch
from torch import nn

BLOCK = 32
SUPPORTED = {"Q4_1": 20, "Q8_0": 34}  # bytes per block
# Columns unpacked at a time: the piece stays in the second-level cache until the product has read it.
PIECE = 2048


class PackedWeight(nn.Module):
    """A (rows, columns) weight of one ggml type; ``unpacked(piece)`` is its transpose, some rows of it."""

    def __init__(self, raw: np.ndarray, *, kind: str, columns: int) -> None:
        super().__init__()
        self.kind = kind
        self.rows, self.columns = raw.shape[0], columns
        blocks = columns // BLOCK
        grouped = torch.from_numpy(raw.reshape(self.rows, blocks, SUPPORTED[kind]).copy())
        header = 4 if kind == "Q4_1" else 2
        floats = grouped[:, :, :header].contiguous().view(torch.float16)
        self.scale = nn.Buffer(floats[:, :, 0].t().contiguous().unsqueeze(1))
        self.minimum = (
            nn.Buffer(floats[:, :, 1].t().contiguous().unsqueeze(1)) if kind == "Q4_1" else None
        )
        quants = grouped[:, :, header:].permute(1, 2, 0).contiguous()
        self.quants = nn.Buffer(quants if kind == "Q4_1" else quants.view(torch.int8))

    def pieces(self) -> list[slice]:
        return [slice(at, min(at + PIECE, self.rows)) for at in range(0, self.rows, PIECE)]

    def unpacked(self, piece: slice, dtype: torch.dtype) -> torch.Tensor:
        """(columns, rows of the piece) in ``dtype``, computed in float32."""
        return self._values(
            self.quants[:, :, piece],
            self.scale[:, :, piece],
            None if self.minimum is None else self.minimum[:, :, piece],
        ).to(dtype)

    def gathered(self, rows: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        """(len(rows), columns): single rows, as an embedding needs them."""
        picked = self._values(
            self.quants.index_select(2, rows),
            self.scale.index_select(2, rows),
            None if self.minimum is None else self.minimum.index_select(2, rows),
        )
        return picked.t().contiguous().to(dtype)

    def _values(
        self, quants: torch.Tensor, scale: torch.Tensor, minimum: torch.Tensor | None
    ) -> torch.Tensor:
        blocks, _, rows = quants.shape
        values = torch.empty(blocks, BLOCK, rows)
        if minimum is None:
            values.copy_(quants)
            values.mul_(scale.float())
        else:
            values[:, :16].copy_(quants & 15)
            values[:, 16:].copy_(quants >> 4)
            torch.addcmul(minimum.float(), values, scale.float(), out=values)
        return values.view(self.columns, rows)


class PackedLinear(nn.Module):
    """``x @ weight.T`` without bias; the weight is unpacked piece by piece."""

    def __init__(self, weight: PackedWeight) -> None:
        super().__init__()
        self.packed = weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = [x @ self.packed.unpacked(piece, x.dtype) for piece in self.packed.pieces()]
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=-1)


class PackedEmbedding(nn.Module):
    """Rows of a packed table by token id."""

    def __init__(self, weight: PackedWeight, dtype: torch.dtype) -> None:
        super().__init__()
        self.packed = weight
        self.dtype = dtype

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        flat = self.packed.gathered(input_ids.flatten(), self.dtype)
        return flat.view(*input_ids.shape, self.packed.columns)
