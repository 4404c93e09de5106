"""Consecutive reads of a stream as one run of whole events, each with the time of the read that held it."""

from collections.abc import Sequence
from dataclasses import dataclass

_MOST_BYTES = 1 << 16
_MOST_READS = 1 << 12
_BEGIN, _END = b"data: ", b"\n\n"
_MARK = b"\0"  # between two reads; one that holds it is no plain one
_BORDER = _END + _MARK + _BEGIN


@dataclass(frozen=True, slots=True)
class Run:
    """Bytes of whole events. ``times_ns`` has an entry for every block that an empty line ends."""

    data: bytes
    times_ns: Sequence[int]


def is_plain(data: bytes) -> bool:
    """Whether these bytes begin with an event of data and end with the end of one, by LF alone."""
    return data.startswith(_BEGIN) and data.endswith(_END) and b"\r" not in data


def end_of_plain(reads: Sequence[bytes], start: int) -> int:
    """As ``end_of_run``, and all the rest by one look at it where all of it is plain, as it mostly is."""
    rest = reads[start : start + _MOST_READS]
    marked = _MARK.join(rest)
    borders = len(rest) - 1
    if is_plain(marked) and marked.count(_MARK) == borders == marked.count(_BORDER):
        return start + len(rest)
    return end_of_run(reads, start)


def run_of(times_ns: Sequence[int], reads: Sequence[bytes]) -> Run:
    """Plain reads, one after the other."""
    data = b"".join(reads)
    if data.count(_END) == len(reads):  # each has one at least
        return Run(data, times_ns)
    times: list[int] = []
    for t_ns, read in zip(times_ns, reads, strict=True):
        blocks = read.count(_END)
        if blocks == 1:
            times.append(t_ns)
        else:
            times += [t_ns] * blocks
    return Run(data, times)


def end_of_run(reads: Sequence[bytes], start: int) -> int:
    """Up to which read they are plain, some 64 KiB at most; ``start`` if the first one is not."""
    place, size = start, 0
    while place < len(reads) and size < _MOST_BYTES and is_plain(reads[place]):
        size += len(reads[place])
        place += 1
    return place
