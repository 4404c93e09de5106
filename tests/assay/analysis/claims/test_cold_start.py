"""The cold start split by source: parts inside another are taken off it, and the rest stays unexplained."""

import re
from pathlib import Path
from typing import Any

import pytest

from assay.analysis.claims.cold_start import ColdStart, StartSource, cold_start
from runners.engines.base import PrintedContext
from runners.engines.sglang import printed as sglang
from runners.engines.vllm import printed as vllm
from runners.protocol.documents import Anchor
from tests.assay.analysis.recorded_engines import FIXTURES

BOUND = {"engine version": "0.32.0", "device": "cpu"}


def split(*parts: tuple[str, float], ready_s: float | None = 60.0) -> ColdStart:
    rows = [
        {"part": name, "duration_s": s, "source": f"engine.log:{n}"}
        for n, (name, s) in enumerate(parts)
    ]
    return cold_start(rows, ready_s=ready_s, bound_to=BOUND)


@pytest.mark.req("7.07")
def test_parts_inside_another_are_taken_off_it_and_the_rest_is_unexplained() -> None:
    found = split(
        ("weights", 8.5),
        ("compilation", 20.0),
        ("capture", 4.0),
        ("profile, KV cache and warm-up", 30.0),
    )

    assert found.by_source == {
        StartSource.load: 8.5,
        StartSource.compile: 20.0,
        StartSource.capture: 4.0,
        StartSource.warm_up: 6.0,  # 30 - 20 - 4
    }
    assert found.unexplained_s == pytest.approx(21.5)  # 60 - 8.5 - 20 - 4 - 6


@pytest.mark.req("7.06")
def test_what_was_compiled_and_captured_is_bound_to_shapes_and_device_and_can_become_void() -> None:
    found = split(("compilation", 20.0), ("capture", 4.0))

    costs = {p.source: (p.cost_s, p.bound_to) for p in found.products}
    assert costs == {StartSource.compile: (20.0, BOUND), StartSource.capture: (4.0, BOUND)}
    assert "model revision" in found.products[0].invalidated_by
    assert "captured sizes" in found.products[0].invalidated_by


@pytest.mark.parametrize(
    ("parts", "ready_s", "reason"),
    [
        ((), 60.0, "times no part"),
        ((("weights", 8.5),), None, "when the engine was ready"),
        ((("weights", 70.0),), 60.0, "side by side"),
    ],
)
def test_what_cannot_be_told_is_unknown_with_its_reason(
    parts: Any, ready_s: float | None, reason: str
) -> None:
    found = split(*parts, ready_s=ready_s)

    assert found.unexplained_s is None
    assert reason in found.reason


def test_an_outer_part_shorter_than_its_inner_ones_has_no_own_time() -> None:
    found = split(("compilation", 20.0), ("profile, KV cache and warm-up", 3.0))

    assert [p.own_s for p in found.parts] == [20.0, None]
    assert StartSource.warm_up not in found.by_source


def test_the_front_ends_whole_start_is_not_added_to_its_parts() -> None:
    found = split(("weights", 0.4), ("scheduler, all of it", 9.5), ("front end, all of it", 31.0))

    assert sum(found.by_source.values()) == pytest.approx(9.5)


@pytest.mark.req("7.07")
def test_the_recorded_starts_are_split_by_what_each_engine_times(tmp_path: Path) -> None:
    whole = re.compile(r"(INFO|WARNING) 11-29 (\d\d:\d\d:\d\d) ")
    log = (FIXTURES / "vllm-0.32.0-cpu" / "startup.log").read_text()
    eager = recorded(vllm, tmp_path, whole.sub(r"\1 2026-11-29T\2.000Z ", log))
    seconds = re.compile(r"^(\[2026-11-29 \d\d:\d\d:\d\d)\]", re.MULTILINE)
    log = (FIXTURES / "sglang-0.5.23-cpu" / "startup.log").read_text()
    server = recorded(sglang, tmp_path, seconds.sub(r"\1.000]", log))

    # vLLM: 0.456097 s building the model, 1.37 s weights; 2.78 s initialisation with nothing compiled in it
    assert eager.by_source == {
        StartSource.load: pytest.approx(1.826097),
        StartSource.warm_up: pytest.approx(2.78),
    }
    # SGLang: load_weight 0.39, kv_cache_allocation 1.10, no graph; the rest of scheduler_e2e 9.55 is other
    assert server.by_source[StartSource.load] == pytest.approx(0.39)
    assert server.by_source[StartSource.state] == pytest.approx(1.10)
    assert server.by_source[StartSource.other] == pytest.approx(8.06)
    assert {p.evidence for p in server.parts} == {"engine.log:57"}


def recorded(engine: Any, folder: Path, log: str) -> ColdStart:
    """A recorded start whose times are printed as a run's own are."""
    (folder / "engine.log").write_text(log)
    anchors = [
        Anchor(wall_ns=n * 10**9, monotonic_ns=n * 10**9, boottime_ns=0, spread_ns=0)
        for n in (1, 2)
    ]
    found = engine.read(
        PrintedContext(
            spec={"device": {"kind": "cpu"}, "engine": {"settings": {"mixed_chunk": False}}},
            bundle=folder,
            server_info=None,
            anchors=anchors,
            clock_domain="d",
        )
    )
    rows = [row for row in found.rows if row["event"] == "start_part"]
    return cold_start(rows, ready_s=None, bound_to=BOUND)
