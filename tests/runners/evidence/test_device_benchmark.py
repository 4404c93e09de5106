"""The micro-benchmark: its arithmetic with a made clock, and one short real run on the CPU."""

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from runners.evidence import device_benchmark
from runners.evidence.device_benchmark import (
    DEFAULT_SHAPES,
    _layers_within,
    _others_share,
    _repeat,
    main,
    measure,
    memory_level,
)
from runners.protocol.errors import EnvironmentLacks, Refused
from runners.protocol.host import CacheLevel

CACHES = [
    CacheLevel(level=1, bytes=2**15, instances=2),
    CacheLevel(level=2, bytes=2**20, instances=2),
    CacheLevel(level=3, bytes=2**25, instances=1),
]
SMALL = {
    "layers": 2, "d_model": 64, "heads": 4, "kv_heads": 2, "d_head": 16, "d_ff": 128, "vocabulary": 256,
}  # fmt: skip


def ticking(step_ns: int) -> Any:
    """A clock that moves by ``step_ns`` at every look."""
    now = iter(range(0, 10**12, step_ns))
    return lambda: next(now)


@pytest.mark.req("14.06")
def test_the_first_call_is_a_warm_up_and_three_are_timed_at_least() -> None:
    calls: list[int] = []

    values = _repeat(lambda: calls.append(1), budget_s=0.0, at_least=3, timer=ticking(1000))

    assert len(calls) == 4
    assert values == [1000, 1000, 1000]


def test_repetitions_end_with_the_budget() -> None:
    # three looks at the clock per repetition of 1 ms each: a budget of 30 ms holds ten of them
    values = _repeat(lambda: None, budget_s=0.030, at_least=3, timer=ticking(10**6))

    assert 8 <= len(values) <= 11


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


def test_layers_are_cut_to_the_memory_that_may_be_used() -> None:
    assert _layers_within(1000, layers=30, limit=2000) == 30
    assert _layers_within(1000, layers=30, limit=100) == 3
    assert _layers_within(1000, layers=30, limit=1) == 1


def test_what_others_took_is_busy_time_less_our_own() -> None:
    # 10 s of machine time, 6 busy, 4 of them ours
    assert _others_share((0.0, 0.0, 0.0), (6.0, 4.0, 10.0)) == pytest.approx(0.2)
    assert _others_share((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)) is None


@pytest.mark.forbids
def test_bad_options_are_refused_before_anything_is_measured(tmp_path: Path) -> None:
    out = tmp_path / "out.json"

    with pytest.raises(Refused, match="threads"):
        main(out, ["--threads", "0"])
    with pytest.raises(Refused, match=r"shapes\.width"):
        main(out, ["--shapes", "width=3"])
    assert list(tmp_path.iterdir()) == []


def test_a_missing_torch_is_named_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", None)

    with pytest.raises(EnvironmentLacks, match="pip install"):
        measure(shapes=DEFAULT_SHAPES, threads=1, working_set_bytes=None, seconds=0.1)


@pytest.mark.req("14.06")
@pytest.mark.forbids
def test_submit_time_of_an_accelerator_is_refused_before_anything_is_timed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    elsewhere = SimpleNamespace(get_default_device=lambda: SimpleNamespace(type="cuda"))
    monkeypatch.setitem(__import__("sys").modules, "torch", elsewhere)

    with pytest.raises(Refused, match="submit time is no kernel time") as caught:
        measure(shapes=DEFAULT_SHAPES, threads=1, working_set_bytes=None, seconds=0.1)

    assert (caught.value.finding.seen, caught.value.finding.allowed) == ("cuda", "cpu")


@pytest.fixture
def threads() -> Iterator[None]:
    torch = importlib.import_module("torch")
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.engine
@pytest.mark.usefixtures("threads")
@pytest.mark.req("13.11", "13.20")
def test_a_real_run_keeps_every_figure_with_spread_threads_and_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_benchmark, "CACHE_BYTES", 2**16)
    shapes = ",".join(f"{name}={value}" for name, value in SMALL.items())
    out = tmp_path / "device.json"

    code = main(out, ["--threads", "1", "--seconds", "0.2", "--shapes", shapes])

    assert code == 0
    assert [p.name for p in tmp_path.iterdir()] == ["device.json"]
    document = json.loads(out.read_text(encoding="utf-8"))
    assert (document["kind"], document["source"]) == ("assay-device-benchmark", "micro-benchmark")
    assert (document["threads"], document["shapes"]) == (1, SMALL)
    assert document["measured_at"].endswith("Z")
    names = {m["name"] for m in document["measurements"]}
    assert {
        "read_sum.working_set", "read_gemv.beyond_caches", "matmul.float32.rows_1",
        "matmul.bfloat16.rows_256", "state_read.batch_1.context_1024", "state_gather.context_512",
        "op_launch", "view_launch", "layer_launch",
    } <= names  # fmt: skip
    for entry in document["measurements"]:
        assert entry["repetitions"] >= 1
        assert entry["memory_level"]
        for rate in entry["rates"].values():
            assert rate["spread"][0] <= rate["value"] <= rate["spread"][1]
            assert rate["best"] in rate["spread"]


@pytest.mark.engine
@pytest.mark.usefixtures("threads")
def test_bytes_and_flops_of_the_patterns_by_hand() -> None:
    torch = importlib.import_module("torch")
    from runners.evidence import benchmark_patterns as patterns

    shapes = patterns.Shapes(**SMALL)
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
        for pattern in (matmul, state, gather, patterns.launch_pattern(shapes, repeats=2)):
            pattern.run()
