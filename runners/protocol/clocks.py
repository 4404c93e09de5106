"""Which clock a time belongs to, how clocks of this machine stand to each other, and how well both are known.

Every ``*_ns`` of a run is CLOCK_MONOTONIC of one clock domain. Two processes share a domain only if boot id,
time namespace and clock kind are all equal; a monotonic value means nothing outside its domain.
"""

import ctypes
import errno
import os
import socket
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TypedDict

from runners.protocol.documents import Anchor, ClockDomain

CLOCK_KIND = "monotonic"
ANCHOR_READS = 7

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_TIME_NAMESPACE = Path("/proc/self/ns/time")
_STATUS_UNSYNCHRONISED = 0x0040  # STA_UNSYNC, linux/timex.h
_STATUS_NANOSECONDS = 0x2000  # STA_NANO: offset is in ns, else in us
_TIME_ERROR = 5  # adjtimex(2): the clock is not synchronised
_MAX_ERROR_UNKNOWN_US = 16_000_000  # the kernel's NTP_PHASE_LIMIT: it stops counting there


class ClockSync(TypedDict):
    """What the kernel says of its wall clock; every figure is null where the kernel did not give it."""

    state: str  # synchronised | unsynchronised | unknown
    reason: str | None  # why unknown
    max_error_ns: int | None
    estimated_error_ns: int | None
    offset_ns: int | None
    frequency_ppm: float | None
    status_bits: int | None
    tai_offset_s: int | None


class _Timex(ctypes.Structure):
    """``struct timex`` of adjtimex(2) on 64-bit Linux, with its reserved tail."""

    _fields_ = [
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("constant", ctypes.c_long),
        ("precision", ctypes.c_long),
        ("tolerance", ctypes.c_long),
        ("time_s", ctypes.c_long),
        ("time_us", ctypes.c_long),
        ("tick", ctypes.c_long),
        ("ppsfreq", ctypes.c_long),
        ("jitter", ctypes.c_long),
        ("shift", ctypes.c_int),
        ("stabil", ctypes.c_long),
        ("jitcnt", ctypes.c_long),
        ("calcnt", ctypes.c_long),
        ("errcnt", ctypes.c_long),
        ("stbcnt", ctypes.c_long),
        ("tai", ctypes.c_int),
        ("reserved", ctypes.c_int * 11),
    ]


def utc(moment: datetime | None = None, *, timespec: str = "seconds") -> str:
    """A moment (default: now) as ISO 8601 text in UTC, ended by ``Z``: for people, never for a difference."""
    shown = (moment or datetime.now(UTC)).astimezone(UTC).isoformat(timespec=timespec)
    return shown.replace("+00:00", "Z")


def boot_id() -> str:
    """The kernel's id of this boot (a UUID). Raises OSError where the kernel offers none."""
    return _BOOT_ID.read_text(encoding="ascii").strip()


def time_namespace() -> str:
    """The inode of this process's time namespace as text; ``initial`` on kernels without time namespaces."""
    try:
        return str(_TIME_NAMESPACE.stat().st_ino)
    except FileNotFoundError:
        return "initial"


def clock_domain() -> str:
    """Id of the domain of ``time.monotonic_ns()`` here: ``<boot id>/<time namespace inode>/monotonic``.

    Read at each call, since a process may move to another time namespace between fork and exec.
    """
    return f"{boot_id()}/{time_namespace()}/{CLOCK_KIND}"


def domain_document(*, calibration: str, error_ns: int | None) -> ClockDomain:
    """The domain of this process for ``clocks.json``.

    ``calibration`` is reference, same_domain, bounded or uncalibrated; ``error_ns`` is the bound on a
    difference between this domain and the reference, 0 within the reference itself, null where unknown.
    """
    return ClockDomain(
        id=clock_domain(),
        host=socket.gethostname(),
        boot_id=boot_id(),
        time_namespace=time_namespace(),
        clock=CLOCK_KIND,
        calibration=calibration,
        error_ns=error_ns,
    )


def anchor(
    *,
    reads: int = ANCHOR_READS,
    monotonic: Callable[[], int] = time.monotonic_ns,
    wall: Callable[[], int] = time.time_ns,
    boottime: Callable[[], int] | None = None,
) -> Anchor:
    """Monotonic, wall and boottime of one moment, all in ns; the tightest of ``reads`` tries.

    Each try brackets the wall and boottime reads between two monotonic reads ``m0 <= m1``. ``monotonic_ns``
    is their middle and ``spread_ns = m1 - m0``: both other reads happened inside it, so that either is
    tied to ``monotonic_ns`` to within ``anchor_error_ns``. The tightest try is the one preempted least.
    """
    if reads < 1:
        raise ValueError(f"reads: {reads} (allowed: 1 or more)")
    read_boottime = boottime or _boottime_ns
    best: Anchor | None = None
    for _ in range(reads):
        before = monotonic()
        wall_ns = wall()
        boottime_ns = read_boottime()
        after = monotonic()
        if best is None or after - before < best["spread_ns"]:
            best = Anchor(
                monotonic_ns=before + (after - before) // 2,
                wall_ns=wall_ns,
                boottime_ns=boottime_ns,
                spread_ns=after - before,
            )
    assert best is not None
    return best


def anchor_error_ns(tie: Anchor) -> int:
    """Bound on the error of one anchor: half its spread, rounded up, in ns.

    The true monotonic time of the wall read lies in [m0, m1] and ``monotonic_ns`` is the middle.
    """
    return (tie["spread_ns"] + 1) // 2


def clock_sync() -> ClockSync:
    """The kernel's synchronisation state of the wall clock, by adjtimex(2) with nothing set.

    ``frequency_ppm`` is the correction in force (the kernel's 16-bit fraction). ``unknown`` carries its
    reason: no adjtimex here, or the call refused (some sandboxes).
    """
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        adjtimex = libc.adjtimex
    except (OSError, AttributeError) as error:
        return _unknown_sync(f"no adjtimex on this system ({error})")
    reading = _Timex(modes=0)
    state = adjtimex(ctypes.byref(reading))
    if state < 0:
        number = ctypes.get_errno()
        name = errno.errorcode.get(number, str(number))
        return _unknown_sync(f"adjtimex refused: {name} ({os.strerror(number)})")
    return _sync_of(reading, state)


def _sync_of(reading: _Timex, state: int) -> ClockSync:
    unsynchronised = state == _TIME_ERROR or bool(reading.status & _STATUS_UNSYNCHRONISED)
    offset_unit_ns = 1 if reading.status & _STATUS_NANOSECONDS else 1000
    bounded = reading.maxerror < _MAX_ERROR_UNKNOWN_US
    return ClockSync(
        state="unsynchronised" if unsynchronised else "synchronised",
        reason=None,
        max_error_ns=reading.maxerror * 1000 if bounded else None,
        estimated_error_ns=reading.esterror * 1000 if bounded else None,
        offset_ns=reading.offset * offset_unit_ns,
        frequency_ppm=reading.freq / 65536,
        status_bits=reading.status,
        tai_offset_s=reading.tai or None,  # the kernel keeps 0 until somebody sets it
    )


def _unknown_sync(reason: str) -> ClockSync:
    return ClockSync(
        state="unknown",
        reason=reason,
        max_error_ns=None,
        estimated_error_ns=None,
        offset_ns=None,
        frequency_ppm=None,
        status_bits=None,
        tai_offset_s=None,
    )


def _boottime_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)
