"""UUIDv7 (RFC 9562): sortable by time of creation, so that a list of runs reads in order.

Python 3.11 has no ``uuid.uuid7``; the layout is 48 bits of Unix milliseconds, version, 12 + 62 random bits.
Ids of one process rise even within one millisecond: runs are claimed in the order of their study's id.
"""

import secrets
import threading
import time
import uuid

_lock = threading.Lock()
_last = (0, 0)  # milliseconds and random bits of the newest id of this process


def uuid7() -> uuid.UUID:
    global _last
    with _lock:
        drawn = (time.time_ns() // 1_000_000, secrets.randbits(73))  # one bit is left to count in
        _last = max(drawn, (_last[0], _last[1] + 1))
        unix_ms, random_bits = _last
    return uuid7_from(unix_ms=unix_ms, random_bits=random_bits)


def uuid7_from(*, unix_ms: int, random_bits: int) -> uuid.UUID:
    """The id of a given millisecond; ``random_bits`` holds 74 bits."""
    high, low = random_bits >> 62, random_bits & (2**62 - 1)
    value = (unix_ms & (2**48 - 1)) << 80 | 0x7 << 76 | (high & 0xFFF) << 64 | 0b10 << 62 | low
    return uuid.UUID(int=value)
