"""Consecutive reads of a stream as one run of whole events, each with the time of the read that held it."""

from collections.abc import Sequence
from dataclasses import dataclass

_MOST_BYTES = 1 << 16
MOST_READS = 1 << 12  # of one look
_BEGIN, _END = b"data: ", b"\n\n"


@dataclass(frozen=True, slots=True)
class Run:
    """Whole events, each up to and with the empty line that ends it, and the time of each."""

    events: Sequence[bytes]
    times_ns: Sequence[int]

    def size(self, count: int) -> int:
        """How many bytes the first so many events take."""
        return sum(map(len, self.events[:count]))


def is_plain(data: bytes) -> bool:
    """Whether these bytes begin with an event of data and end with the end of one, by LF alone."""
    return data.startswith(_BEGIN) and data.endswith(_END) and b"\r" not in data


def one_each(times_ns: Sequence[int], reads: Sequence[bytes]) -> Run | None:
    """These reads as they are, if each is an event of one line, as most chunks of a body are."""
    data = b"".join(reads)
    if data.count(b"\n") != 2 * len(reads) or b"\r" in data:
        return None
    return Run(reads, times_ns) if [read[-2:] for read in reads].count(_END) == len(reads) else None


def run_of(times_ns: Sequence[int], reads: Sequence[bytes]) -> Run:
    """Plain reads, one after the other."""
    events: list[bytes] = []
    times: list[int] = []
    for t_ns, read in zip(times_ns, reads, strict=True):
        own = _events_of(read)
        events += own
        times += [t_ns] * len(own)
    return Run(events, times)


def _events_of(read: bytes) -> list[bytes]:
    lines = read.split(b"\n")  # by one byte: for two of them, each byte is looked at by itself
    if len(lines) % 2 and not any(lines[1::2]):
        return [line + _END for line in lines[:-1:2]]
    *events, rest = read.split(_END)
    return [*(event + _END for event in events[:-1]), events[-1] + _END + rest]


def end_of_run(reads: Sequence[bytes], start: int) -> int:
    """Up to which read they are plain, some 64 KiB at most; ``start`` if the first one is not."""
    place, size = start, 0
    while place < len(reads) and size < _MOST_BYTES and is_plain(reads[place]):
        size += len(reads[place])
        place += 1
    return place
