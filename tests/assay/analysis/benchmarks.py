"""Made micro-benchmark documents with round figures, so that predictions can be worked by hand."""

from typing import Any

GB_PER_S = 20e9  # read at the working set
CACHE_GB_PER_S = 40e9
FLOPS = 200e9
LAYER_LAUNCH_S = 300e-6
WORKING_SET = 537_919_488


def rate(value: float, *, low: float | None = None, high: float | None = None) -> dict[str, Any]:
    spread = [value if low is None else low, value if high is None else high]
    return {"value": value, "best": spread[1], "spread": spread}


def entry(
    name: str,
    rates: dict[str, dict[str, Any]],
    *,
    dtype: str = "float32",
    size: int = WORKING_SET,
    level: str = "L3 and DRAM",
) -> dict[str, Any]:
    return {
        "name": name, "pattern": name, "dtype": dtype, "conditions": {}, "threads": 2,
        "working_set_bytes": size, "memory_level": level, "repetitions": 5, "rates": rates,
    }  # fmt: skip


def document(
    *,
    measured_at: str = "2026-11-01T00:00:00Z",
    threads: int = 2,
    disturbed: bool | None = False,
    bandwidth: float = GB_PER_S,
    without: str | None = None,
) -> dict[str, Any]:
    """A whole document of one host. Matrix passes: 20 GB/s at one row, half of it at each fourfold count."""
    passes = {1: 1.0, 4: 2.0, 16: 4.0, 64: 8.0, 256: 16.0}
    measurements = [
        entry("read_sum.working_set", {"byte/s": rate(bandwidth)}),
        entry("read_sum.cache", {"byte/s": rate(CACHE_GB_PER_S)}, size=2**26, level="L3"),
        *(
            entry(
                f"matmul.float32.rows_{rows}",
                {
                    "byte/s": rate(GB_PER_S / slower, low=0.8 * GB_PER_S / slower),
                    "FLOP/s": rate(FLOPS * rows / 256),
                },
            )
            for rows, slower in passes.items()
        ),
        entry("state_read.batch_1.context_1024", {"byte/s": rate(10e9)}, size=47_000_000),
        entry("state_gather.context_512", {"byte/s": rate(20e9)}, size=94_000_000),
        entry("attention_prefill.tokens_256", {"FLOP/s": rate(100e9)}, size=500_000),
        entry("layer_launch", {"s/call": rate(LAYER_LAUNCH_S)}, size=1000),
    ]
    return {
        "format": 1,
        "kind": "assay-device-benchmark",
        "source": "micro-benchmark",
        "measured_at": measured_at,
        "fingerprint": "0123456789abcdef",
        "threads": threads,
        "host": {"memory_bytes": 2**34},
        "device": {"kind": "cpu", "name": "a CPU"},
        "software": {"torch": "2.13.0"},
        "conditions": {"disturbed": disturbed, "other_cpu_share": 0.4 if disturbed else 0.0},
        "measurements": [m for m in measurements if m["name"] != without],
    }
