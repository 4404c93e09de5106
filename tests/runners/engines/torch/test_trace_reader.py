"""Operators are counted inside steps, with the inputs they had."""

from pathlib import Path

import pytest

from runners.engines.chrome_trace import TraceProblem
from runners.engines.torch.trace_reader import NAMES, read_trace, shown
from runners.engines.trace_proofs import Counted
from tests.runners.engines.torch import traces


def test_only_operators_inside_a_step_are_counted(tmp_path: Path) -> None:
    path = traces.write(tmp_path / "a.trace.json.gz", traces.two_steps())

    trace = read_trace(path)

    # 2 steps x 3 layers, and two products in each layer; the two outside are left out
    assert trace.named(NAMES.gemm) == {"aten::mm": 12}
    assert trace.named(NAMES.attention) == {traces.FLASH: 6}
    assert trace.operators["aten::mm"].shapes == {"[[1, 576], [576, 576]]": 12}
    assert trace.operators["aten::mm"].types == {'["float", "float"]': 12}
    assert trace.operators["aten::mm"].total_us == pytest.approx(12.0)


def test_the_annotated_attention_is_counted_against_layers_and_steps(tmp_path: Path) -> None:
    path = traces.write(tmp_path / "a.trace.json.gz", traces.two_steps())

    assert shown(path, layers=3).counted == Counted(
        operator="assay::paged_attention", calls=6, words="3 layers x 2 steps"
    )
    assert shown(path, layers=4).counted is None


def test_a_step_names_its_batch(tmp_path: Path) -> None:
    path = traces.write(tmp_path / "a.trace.json.gz", traces.two_steps())

    first, second = shown(path, layers=3).batches

    assert (first.requests, first.words) == (1, "decode=0 prefill=1 tokens=9")
    assert (second.requests, second.words) == (1, "decode=1 prefill=0 tokens=1")


def test_compiled_regions_and_communication_are_found_by_name(tmp_path: Path) -> None:
    events = traces.two_steps()
    events.append(traces.event("Torch-Compiled Region: 0/0", 1002.0, 3.0))
    events.append(traces.event("c10d::allreduce_", 2003.0, 3.0))
    trace = read_trace(traces.write(tmp_path / "a.trace.json.gz", events))

    assert list(trace.named(NAMES.compiled)) == ["Torch-Compiled Region: 0/0"]
    assert list(trace.named(NAMES.communication)) == ["c10d::allreduce_"]


@pytest.mark.parametrize("content", [b"", b"\x1f\x8b\x08 cut", b"{}"])
def test_a_file_that_is_no_trace_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.trace.json.gz"
    path.write_bytes(content)

    with pytest.raises(TraceProblem, match=r"a\.trace\.json\.gz is no Chrome trace"):
        read_trace(path)
