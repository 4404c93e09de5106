"""The micro-benchmark as a whole: its options, its conditions, and one short real run on the CPU."""

import importlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from runners.evidence import benchmark_groups
from runners.evidence.device_benchmark import (
    DEFAULT_SHAPES,
    _others_share,
    main,
    measure,
    progress_on,
)
from runners.protocol.errors import EnvironmentLacks, Refused

SMALL = {
    "layers": 2, "d_model": 64, "heads": 4, "kv_heads": 2, "d_head": 16, "d_ff": 128, "vocabulary": 256,
}  # fmt: skip


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
    with pytest.raises(Refused, match=r"groups\.everything"):
        main(out, ["--groups", "model,everything"])
    with pytest.raises(Refused, match="time the submit alone"):
        main(out, ["--device", "mps"])
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


@pytest.mark.engine
def test_an_absent_accelerator_is_named_with_what_is_needed() -> None:
    with pytest.raises(EnvironmentLacks, match="cuda is not available to torch"):
        measure(
            shapes=SMALL, threads=1, working_set_bytes=None, seconds=0.1, device="cuda"
        )  # fmt: skip


def test_progress_is_one_line_a_group_where_nobody_watches() -> None:
    out = io.StringIO()
    say = progress_on(out)

    for text in ("stream: read", "stream: copy", "gemm: 1x2x3", ""):
        say(text)

    assert out.getvalue() == "measuring stream\nmeasuring gemm\n"


def test_progress_is_written_over_on_a_terminal() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    out = Terminal()
    say = progress_on(out)

    say("stream: read")
    say("")

    assert out.getvalue() == "\r\x1b[Kstream: read\r\x1b[K"


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
    monkeypatch.setattr(benchmark_groups, "CACHE_BYTES", 2**16)
    monkeypatch.setattr(benchmark_groups, "BEYOND_CACHES", 0.01)
    shapes = ",".join(f"{name}={value}" for name, value in SMALL.items())
    out = tmp_path / "device.json"
    groups = "model,stream,launch"

    code = main(
        out, ["--threads", "1", "--seconds", "0.2", "--shapes", shapes, "--groups", groups]
    )  # fmt: skip

    assert code == 0
    assert [p.name for p in tmp_path.iterdir()] == ["device.json"]
    document = json.loads(out.read_text(encoding="utf-8"))
    assert (document["kind"], document["source"]) == ("assay-device-benchmark", "micro-benchmark")
    assert (document["threads"], document["shapes"]) == (1, SMALL)
    assert (document["device"]["kind"], document["groups"]) == ("cpu", groups.split(","))
    assert document["software"]["torch"]
    assert document["measured_at"].endswith("Z")
    names = {m["name"] for m in document["measurements"]}
    assert {
        "read_sum.working_set", "read_gemv.beyond_caches", "matmul.float32.rows_1",
        "matmul.bfloat16.rows_256", "state_read.batch_1.context_1024", "state_gather.context_512",
        "op_launch", "view_launch", "layer_launch", "kernel_launch.submission",
        "stream.triad.memory", "stream.paged_gather.memory", "stream.strided_read.memory",
    } <= names  # fmt: skip
    for entry in document["measurements"]:
        assert entry["repetitions"] >= 1
        assert entry["memory_level"]
        for rate in entry["rates"].values():
            low, high = rate["spread"]
            first, third = rate["quartiles"]
            assert low <= first <= rate["value"] <= third <= high
            assert rate["best"] in rate["spread"]
