"""Which stored figure a bound takes, and which file an estimate."""

from typing import Any

import pytest

from assay.analysis.devices.machine import (
    best_flops,
    best_read_bandwidth,
    choose,
    of_this_host,
    sustained_bandwidths,
)
from tests.assay.analysis import benchmarks

SIZE = benchmarks.WORKING_SET


@pytest.mark.req("13.20", "13.11", "13.06")
def test_a_bound_takes_the_best_figure_ever_seen_and_names_its_level() -> None:
    old = benchmarks.document(measured_at="2026-01-01T00:00:00Z", bandwidth=25e9)
    new = benchmarks.document(measured_at="2026-11-01T00:00:00Z", bandwidth=18e9)

    best = best_read_bandwidth([new, old], working_set_bytes=SIZE)

    assert best is not None
    assert best.value == 25e9
    assert best.memory_level == "L3 and DRAM"
    assert best.parameter["source"] == "micro-benchmark"
    assert best.parameter["date"] == "2026-01-01T00:00:00Z"
    assert best.parameter["spread"] is not None
    assert "read_sum.working_set" in best.parameter["reference"]


def test_a_figure_of_a_smaller_set_says_nothing_about_a_larger_one() -> None:
    # the 40 GB/s in cache must not bound a set of half a gigabyte
    best = best_read_bandwidth([benchmarks.document()], working_set_bytes=SIZE)

    assert best is not None
    assert best.value == benchmarks.GB_PER_S
    assert best_read_bandwidth([benchmarks.document()], working_set_bytes=2 * SIZE) is None


def test_a_rate_of_another_element_type_is_not_taken() -> None:
    assert best_flops([benchmarks.document()], dtype="bfloat16") is None
    best = best_flops([benchmarks.document()], dtype="float32")
    assert best is not None
    assert best.value == benchmarks.FLOPS


def test_an_estimate_takes_the_newest_undisturbed_file_with_the_same_threads() -> None:
    files = [
        benchmarks.document(measured_at="2026-11-01T00:00:00Z"),
        benchmarks.document(measured_at="2026-11-02T00:00:00Z"),
        benchmarks.document(measured_at="2026-11-03T00:00:00Z", disturbed=True),
        benchmarks.document(measured_at="2026-11-04T00:00:00Z", threads=1),
    ]

    chosen = choose(files, threads=2)

    assert chosen is not None
    assert chosen.document["measured_at"] == "2026-11-02T00:00:00Z"
    assert chosen.remarks == ()
    assert choose([], threads=2) is None


def test_what_is_not_ideal_about_the_file_is_said() -> None:
    chosen = choose([benchmarks.document(threads=1, disturbed=True)], threads=2)

    assert chosen is not None
    assert "1 threads, the engine has 2" in chosen.remarks[0]
    assert "40% of the CPU time" in chosen.remarks[1]


def test_a_disturbed_file_gives_its_best_repetition() -> None:
    quiet = choose([benchmarks.document()], threads=2)
    loud = choose([benchmarks.document(disturbed=True)], threads=2)

    assert quiet is not None
    assert loud is not None
    name = "matmul.float32.rows_1"
    # median 20 GB/s, worst 16 GB/s; here the median is the best one, so both say 1/20 and 1/16 ns a byte
    for chosen in (quiet, loud):
        interval = chosen.seconds_per(name, "byte/s")
        assert interval is not None
        assert interval.value == pytest.approx(1 / 20e9)
        assert interval.high == pytest.approx(1 / 16e9)
    assert loud.interval("no such measurement", "byte/s") is None


def test_files_of_other_hosts_and_kinds_are_left_out() -> None:
    mine = benchmarks.document()
    other = benchmarks.document() | {"fingerprint": "f" * 16}
    foreign = {"kind": "something else"}

    assert of_this_host([mine, other, foreign], fingerprint=mine["fingerprint"]) == [mine]


@pytest.mark.req("13.11")
def test_a_sustained_bandwidth_is_that_of_its_own_pattern_by_level() -> None:
    old = benchmarks.document(measured_at="2026-01-01T00:00:00Z")
    new = benchmarks.document(measured_at="2026-11-01T00:00:00Z")
    old["measurements"] += [_stream("copy", 9e9, level="DRAM"), _stream("copy", 30e9, level="L3")]
    new["measurements"] += [_stream("copy", 8e9, level="DRAM")]

    found = {s.memory_level: s for s in sustained_bandwidths([old, new], pattern="copy")}

    assert {level: s.parameter["value"] for level, s in found.items()} == {"DRAM": 8e9, "L3": 30e9}
    copy = found["DRAM"]
    assert (copy.pattern, copy.read_share, copy.threads) == ("copy", 0.5, 2)
    assert copy.parameter["spread"] == [7e9, 9e9]
    # a copy does not calibrate paged reads
    assert sustained_bandwidths([old, new], pattern="paged gather") == []


def test_an_accelerators_file_says_nothing_about_the_cpu() -> None:
    other = benchmarks.document(bandwidth=4e12) | {"device": {"kind": "cuda", "name": "a GPU"}}

    assert choose([other], threads=2) is None
    assert best_flops([other], dtype="float32") is None
    assert best_read_bandwidth([other], working_set_bytes=SIZE) is None
    best = best_read_bandwidth([other], working_set_bytes=SIZE, device="cuda")
    assert best is not None
    assert best.value == 4e12


def _stream(pattern: str, value: float, *, level: str) -> dict[str, Any]:
    rate = benchmarks.rate(value) | {"quartiles": [value - 1e9, value + 1e9]}
    found = benchmarks.entry(f"stream.{pattern}.{level.lower()}", {"byte/s": rate}, level=level)
    return found | {"pattern": pattern, "conditions": {"read_share": 0.5}}
