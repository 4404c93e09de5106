"""What each pattern of the micro-benchmark counts, by hand, and how a measurement is stored."""

import importlib
from itertools import pairwise

import pytest

from runners.evidence.benchmark_entry import entry, memory_level
from runners.evidence.benchmark_groups import beyond_caches_bytes, layers_within, stream_sizes
from runners.evidence.benchmark_patterns import Pattern, Shapes
from runners.protocol.host import CacheLevel
from tests.runners.evidence.test_device_benchmark import SMALL

CACHES = [
    CacheLevel(level=1, bytes=2**15, instances=2),
    CacheLevel(level=2, bytes=2**20, instances=2),
    CacheLevel(level=3, bytes=2**25, instances=1),
]


@pytest.mark.req("13.06")
@pytest.mark.parametrize(
    ("size", "level"),
    [
        (2**15, "L1"),
        (2**16 + 1, "L2"),
        (2**25, "L3"),
        (2**25 + 1, "L3 and DRAM"),
        (2**26 + 1, "DRAM"),
    ],
)
def test_a_working_set_names_the_level_that_can_hold_it(size: int, level: str) -> None:
    assert memory_level(size, CACHES) == level


def test_without_cache_sizes_the_level_is_memory() -> None:
    assert memory_level(1000, []) == "DRAM"
    assert memory_level(1000, [], beyond="device memory") == "device memory"


def test_layers_are_cut_to_the_memory_that_may_be_used() -> None:
    assert layers_within(1000, layers=30, limit=2000) == 30
    assert layers_within(1000, layers=30, limit=100) == 3
    assert layers_within(1000, layers=30, limit=1) == 1


@pytest.mark.req("13.06")
def test_streams_take_half_of_each_cache_and_well_beyond_the_last() -> None:
    sizes = dict(stream_sizes(CACHES, limit=2**40))

    # two L2 of 1 MiB: half of 2 MiB; half of the L3 of 32 MiB; 2.5 times it: 80 MiB
    assert sizes == {"l2": 2**20, "l3": 2**24, "memory": 80 * 2**20}
    assert [memory_level(size, CACHES) for size in sizes.values()] == ["L2", "L3", "DRAM"]
    assert beyond_caches_bytes(CACHES, limit=2**20, at_least=1) == 2**20


def test_a_measurement_keeps_median_quartiles_and_extremes() -> None:
    pattern = Pattern(
        name="read", pattern="read", dtype="float32", conditions={}, run=lambda: None,
        working_set_bytes=2**20, bytes=120_000, calls=2,
    )  # fmt: skip

    stored = entry(pattern, [10_000, 30_000, 20_000, 40_000, 60_000], caches=CACHES, threads=2)

    # 120 kB in 10, 20, 30, 40, 60 µs: 12, 6, 4, 3, 2 GB/s
    assert stored["rates"]["byte/s"] == {
        "value": pytest.approx(4e9),
        "quartiles": [pytest.approx(3e9), pytest.approx(6e9)],
        "spread": [pytest.approx(2e9), pytest.approx(12e9)],
        "best": pytest.approx(12e9),
    }
    assert stored["rates"]["s/call"]["best"] == pytest.approx(5e-6)
    assert stored["rates"]["s/call"]["quartiles"] == [pytest.approx(10e-6), pytest.approx(20e-6)]
    assert (stored["repetitions"], stored["memory_level"], stored["timed"]) == (
        5,
        "L2",
        "execution",
    )


def test_one_repetition_has_no_spread_but_itself() -> None:
    pattern = Pattern(
        name="x", pattern="x", dtype="float32", conditions={}, run=lambda: None,
        working_set_bytes=1, calls=1,
    )  # fmt: skip

    stored = entry(pattern, [1000], caches=[], threads=1)

    assert stored["rates"]["s/call"]["quartiles"] == [1e-6, 1e-6]


@pytest.mark.engine
def test_bytes_and_flops_of_the_models_patterns_by_hand() -> None:
    torch = importlib.import_module("torch")
    patterns = importlib.import_module("runners.evidence.benchmark_patterns")

    shapes = Shapes(**SMALL)
    # a layer: q 64x64, k and v 32x64, o 64x64, gate, up, down 3 x 128x64: 36,864; head 256x64
    assert shapes.elements() == 2 * 36_864 + 16_384
    weights = patterns.Weights(shapes, torch.float32, layers=2)
    matmul = patterns.matmul_pattern(weights, rows=3)
    assert (matmul.bytes, matmul.flops, matmul.calls) == (90_112 * 4, 2 * 3 * 90_112, 15)
    # 2 (K, V) x 2 layers x 1 x 2 heads x 10 tokens x 16 wide x 4 B
    state = patterns.state_pattern(shapes, batch=1, context=10)
    assert state.bytes == 2 * 2 * 2 * 10 * 16 * 4
    assert state.flops == 4 * 2 * 4 * 16 * 10
    # two blocks of 16 tokens of 32 wide, K and V of 2 layers, read and written
    gather = patterns.gather_pattern(shapes, context=32)
    assert gather.bytes == 2 * 4 * 2 * 16 * 32 * 4
    with torch.inference_mode():
        for pattern in (matmul, state, gather):
            pattern.run()


@pytest.mark.engine
@pytest.mark.req("13.11")
def test_a_stream_counts_what_its_pattern_reads_and_writes() -> None:
    streams = importlib.import_module("runners.evidence.benchmark_streams")

    found = {
        p.pattern: p
        for p in streams.stream_patterns(Shapes(**SMALL), working_set_bytes=2**18, label="l2")
    }

    # 65,536 elements of 4 B. Read and write: all; one element of each 16: 16 KiB of 4,096 lines.
    assert (found["read"].bytes, found["write"].bytes) == (2**18, 2**18)
    assert found["strided read"].bytes == 2**14
    assert found["strided read"].conditions["line_bytes_read"] == 2**18
    # copy: half read, half written; triad: three thirds of 21,845 elements
    assert found["copy"].bytes == 2**18
    assert found["triad"].bytes == 3 * 21_845 * 4
    # rows of 64 elements; pages of 16 tokens x 2 heads x 16 wide = 512 elements
    assert found["random gather"].conditions["piece_bytes"] == 256
    assert found["paged gather"].conditions["piece_bytes"] == 2048
    shares = {name: p.conditions["read_share"] for name, p in found.items()}
    assert shares == {
        "read": 1.0, "strided read": 1.0, "write": 0.0, "copy": 0.5, "triad": pytest.approx(2 / 3),
        "random gather": 0.5, "paged gather": 0.5,
    }  # fmt: skip
    for pattern in found.values():
        pattern.run()


@pytest.mark.engine
def test_a_gather_moves_every_row_once() -> None:
    torch = importlib.import_module("torch")
    streams = importlib.import_module("runners.evidence.benchmark_streams")
    buffer = torch.arange(8192, dtype=torch.float32)

    streams._gather(buffer, "x", name="random_gather", row_elements=64).run()

    # 64 rows of the first half lie in the second half, in another order and each once
    assert sorted(buffer[4096:].tolist()) == buffer[:4096].tolist()
    assert any(after < before for before, after in pairwise(buffer[4096::64].tolist()))


@pytest.mark.engine
def test_a_product_counts_two_flops_a_multiply_add_and_every_element_once() -> None:
    products = importlib.import_module("runners.evidence.benchmark_products")

    product = products.product_pattern(rows=3, inner=64, columns=128, dtype="bfloat16")

    assert product.name == "gemm.bfloat16.3x64x128"
    assert product.flops == 2 * 3 * 64 * 128
    assert product.bytes == 2 * (3 * 64 + 64 * 128 + 3 * 128)
    assert tuple(product.run().shape) == (3, 128)
    rows = [make().conditions["rows"] for make in products.product_patterns(
        Shapes(**SMALL), dtypes=("float32",)
    )]  # fmt: skip
    assert {1, 2, 4, 8, 16, 32, 64} <= set(rows)
