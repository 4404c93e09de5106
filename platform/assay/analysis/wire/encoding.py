"""Content encodings of a response body, undone as the bytes arrive.

gzip and deflate (zlib-wrapped as the standard says, or raw as some servers send it) are read; an event's time
stays that of the network read that completed it, so a compressor that holds bytes back shows as late events.
Others are refused by name: br and zstd would need libraries that the reading does not otherwise use.
"""

import zlib

_GZIP = ("gzip", "x-gzip")
_DEFLATE = ("deflate",)
READ_ENCODINGS = (*_GZIP, *_DEFLATE)
_MOST_BYTES = 1 << 28  # of one decoded body: beyond it a small hostile body would fill the memory


class BodyDecoder:
    """A push decoder. ``problem`` says what broke; nothing comes after it."""

    __slots__ = ("_encoding", "_inflate", "_size", "problem")

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding
        self._inflate: zlib._Decompress | None = None
        self._size = 0
        self.problem: str | None = None
        if encoding not in READ_ENCODINGS:
            self.problem = f"content-encoding {encoding} is not read"

    def feed(self, data: bytes) -> bytes:
        """The decoded bytes that these bytes settle."""
        pieces: list[bytes] = []
        while data and self.problem is None:
            inflate = self._inflate or self._begin(data)
            before = inflate.copy()
            try:
                piece = inflate.decompress(data, _MOST_BYTES - self._size + 1)
            except zlib.error as error:
                self.problem = f"content-encoding {self._encoding}: {error}"
                piece, data = _up_to_the_error(before, data), b""
            self._size += len(piece)
            pieces.append(piece)
            if self._size > _MOST_BYTES:
                self.problem = (
                    f"content-encoding {self._encoding}: more than {_MOST_BYTES} bytes decoded"
                )
            # A gzip body may hold several members; what follows the end of one begins the next.
            data = inflate.unused_data if inflate.eof else b""
            if inflate.eof:
                self._inflate = None
        return b"".join(pieces)

    def end(self) -> None:
        """The body is over: a stream that wanted more was cut."""
        if self._inflate is not None and self.problem is None:
            self.problem = f"content-encoding {self._encoding}: the compressed stream was cut"

    def _begin(self, data: bytes) -> "zlib._Decompress":
        if self._encoding in _GZIP:
            bits = 16 + zlib.MAX_WBITS
        else:  # a zlib header has 8 (deflate) in its low half; raw deflate has no header
            bits = zlib.MAX_WBITS if data[0] & 0x0F == 8 else -zlib.MAX_WBITS
        self._inflate = zlib.decompressobj(bits)
        return self._inflate


def _up_to_the_error(inflate: "zlib._Decompress", data: bytes) -> bytes:
    """What could still be decoded, byte by byte, so that the split of the reads changes nothing."""
    pieces = []
    try:
        for position in range(len(data)):
            pieces.append(inflate.decompress(data[position : position + 1]))
    except zlib.error:
        pass
    return b"".join(pieces)
