"""Operators are counted inside steps, with the inputs they had."""

from pathlib import Path

import pytest

from runners.engines.torch.trace_reader import ATTENTION_OPS, GEMM_OPS, TraceProblem, read_trace
from tests.runners.engines.torch import traces


def test_only_operators_inside_a_step_are_counted(tmp_path: Path) -> None:
    path = traces.write(tmp_path / "a.trace.json.gz", traces.two_steps())

    summary = read_trace(path)

    # 2 steps x 3 layers, and two products in each layer; the two outside are left out
    assert summary.attention_calls == 6
    assert summary.ran(GEMM_OPS) == {"aten::mm": 12}
    assert summary.ran(ATTENTION_OPS) == {traces.FLASH: 6}
    assert summary.operators["aten::mm"].shapes == {"[[1, 576], [576, 576]]": 12}
    assert summary.operators["aten::mm"].types == {'["float", "float"]': 12}
    assert summary.operators["aten::mm"].total_us == pytest.approx(12.0)


def test_a_step_names_its_batch(tmp_path: Path) -> None:
    path = traces.write(tmp_path / "a.trace.json.gz", traces.two_steps())

    first, second = read_trace(path).steps

    assert (first.decode, first.prefill, first.tokens, first.out) == (0, 1, 9, 1)
    assert (second.decode, second.prefill, second.tokens) == (1, 0, 1)


def test_compiled_regions_and_communication_are_found_by_name(tmp_path: Path) -> None:
    events = traces.two_steps()
    events.append(traces.event("Torch-Compiled Region: 0/0", 1002.0, 3.0))
    events.append(traces.event("c10d::allreduce_", 2003.0, 3.0))
    summary = read_trace(traces.write(tmp_path / "a.trace.json.gz", events))

    assert summary.compiled == ("Torch-Compiled Region: 0/0",)
    assert summary.communication == ("c10d::allreduce_",)


@pytest.mark.parametrize("content", [b"", b"\x1f\x8b\x08 cut", b"{}"])
def test_a_file_that_is_no_trace_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.trace.json.gz"
    path.write_bytes(content)

    with pytest.raises(TraceProblem, match=r"a\.trace\.json\.gz is no Chrome trace"):
        read_trace(path)
