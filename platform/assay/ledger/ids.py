"""UUIDv7 (RFC 9562): sortable by time of creation, so that a list of runs reads in order.

Python 3.11 has no ``uuid.uuid7``; the layout is 48 bits of Unix milliseconds, version, 12 + 62 random bits.
"""

import secrets
import time
import uuid


def uuid7() -> uuid.UUID:
    return uuid7_from(unix_ms=time.time_ns() // 1_000_000, random_bits=secrets.randbits(74))


def uuid7_from(*, unix_ms: int, random_bits: int) -> uuid.UUID:
    """The id of a given millisecond; ``random_bits`` holds 74 bits."""
    high, low = random_bits >> 62, random_bits & (2**62 - 1)
    value = (unix_ms & (2**48 - 1)) << 80 | 0x7 << 76 | (high & 0xFFF) << 64 | 0b10 << 62 | low
    return uuid.UUID(int=value)
