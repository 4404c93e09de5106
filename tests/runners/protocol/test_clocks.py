import ctypes
import errno
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runners.protocol import clocks
from runners.protocol.documents import Anchor

ROOT = Path(__file__).parents[3]


def clock(values: list[int]) -> Callable[[], int]:
    steps: Iterator[int] = iter(values)
    return lambda: next(steps)


@pytest.mark.req("3.17")
def test_a_domain_is_boot_time_namespace_and_clock_kind() -> None:
    boot, namespace, kind = clocks.clock_domain().split("/")

    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", boot)
    assert namespace == "initial" or namespace.isdigit()
    assert kind == "monotonic"


@pytest.mark.req("3.07")
def test_another_process_of_this_boot_and_namespace_shares_the_domain_and_the_clock() -> None:
    code = (
        "import time; from runners.protocol.clocks import clock_domain;"
        "print(clock_domain(), time.monotonic_ns())"
    )

    before = time.monotonic_ns()
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout.split()
    after = time.monotonic_ns()

    assert output[0] == clocks.clock_domain()
    assert before < int(output[1]) < after


def test_a_process_in_another_time_namespace_has_another_domain() -> None:
    code = "from runners.protocol.clocks import clock_domain; print(clock_domain())"
    moved = subprocess.run(
        ["unshare", "--time", "--fork", sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    if moved.returncode:
        pytest.skip(f"this user may not make a time namespace: {moved.stderr.strip()}")

    assert moved.stdout.strip() != clocks.clock_domain()


@pytest.mark.req("3.17")
def test_the_domain_document_says_host_calibration_and_error() -> None:
    document = clocks.domain_document(calibration="reference", error_ns=0)

    assert document["id"] == clocks.clock_domain()
    assert document["host"]
    assert (document["calibration"], document["error_ns"]) == ("reference", 0)


def test_an_anchor_is_the_tightest_of_its_reads_and_stands_in_their_middle() -> None:
    # Three tries: spreads 900, 40 and 300; the second one counts. Its middle is 2000 + 40 // 2.
    anchor = clocks.anchor(
        reads=3,
        monotonic=clock([1000, 1900, 2000, 2040, 3000, 3300]),
        wall=clock([11, 12, 13]),
        boottime=clock([21, 22, 23]),
    )

    assert anchor == Anchor(monotonic_ns=2020, wall_ns=12, boottime_ns=22, spread_ns=40)


@pytest.mark.parametrize(("spread_ns", "error_ns"), [(0, 0), (40, 20), (41, 21)])
def test_the_error_of_an_anchor_is_half_its_spread_rounded_up(
    spread_ns: int, error_ns: int
) -> None:
    tie = Anchor(monotonic_ns=0, wall_ns=0, boottime_ns=0, spread_ns=spread_ns)

    assert clocks.anchor_error_ns(tie) == error_ns


def test_a_real_anchor_ties_the_three_clocks_of_this_machine() -> None:
    before = time.monotonic_ns()
    anchor = clocks.anchor()
    after = time.monotonic_ns()

    assert before <= anchor["monotonic_ns"] <= after
    assert abs(anchor["wall_ns"] - time.time_ns()) < 10e9
    # Boottime counts suspended time too and is never behind.
    assert anchor["boottime_ns"] >= anchor["monotonic_ns"] - anchor["spread_ns"]


def test_an_anchor_of_no_reads_is_refused() -> None:
    with pytest.raises(ValueError, match="reads: 0"):
        clocks.anchor(reads=0)


def test_the_kernel_says_whether_its_wall_clock_is_synchronised() -> None:
    sync = clocks.clock_sync()

    assert sync["state"] in {"synchronised", "unsynchronised", "unknown"}
    assert (sync["reason"] is None) == (sync["state"] != "unknown")
    if sync["state"] == "unknown":
        assert sync["status_bits"] is None


class FakeLibrary:
    """adjtimex that fills in a reading and returns a state, or fails with an errno."""

    def __init__(self, state: int, number: int = 0, **fields: int) -> None:
        def adjtimex(reference: object) -> int:
            reading = reference._obj  # type: ignore[attr-defined]
            for name, value in fields.items():
                setattr(reading, name, value)
            ctypes.set_errno(number)
            return state

        self.adjtimex = adjtimex


def sync_with(library: object, monkeypatch: pytest.MonkeyPatch) -> clocks.ClockSync:
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: library)
    return clocks.clock_sync()


def test_figures_of_the_kernel_are_given_in_ns_and_ppm(monkeypatch: pytest.MonkeyPatch) -> None:
    # maxerror and esterror in us; offset in ns with STA_NANO (0x2000); freq in 1/65536 ppm.
    library = FakeLibrary(
        0, status=0x2001, maxerror=1500, esterror=20, offset=-777, freq=3 * 65536 // 2, tai=37
    )

    sync = sync_with(library, monkeypatch)

    assert sync == clocks.ClockSync(
        state="synchronised",
        reason=None,
        max_error_ns=1_500_000,
        estimated_error_ns=20_000,
        offset_ns=-777,
        frequency_ppm=1.5,
        status_bits=0x2001,
        tai_offset_s=37,
    )


@pytest.mark.parametrize(("state", "status"), [(5, 0), (0, 0x40)])
def test_an_unsynchronised_clock_gives_no_error_bound(
    state: int, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = FakeLibrary(state, status=status, maxerror=16_000_000, esterror=16_000_000)

    sync = sync_with(library, monkeypatch)

    assert sync["state"] == "unsynchronised"
    assert (sync["max_error_ns"], sync["estimated_error_ns"]) == (None, None)


def test_without_the_call_the_state_is_unknown_with_its_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    missing = sync_with(object(), monkeypatch)
    refused = sync_with(FakeLibrary(-1, number=errno.EPERM), monkeypatch)

    assert missing["state"] == refused["state"] == "unknown"
    assert "no adjtimex" in (missing["reason"] or "")
    assert "EPERM" in (refused["reason"] or "")
