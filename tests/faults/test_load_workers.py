"""A run whose load other workers send too: real workers of three homes, as three hosts, on one database."""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import psutil
import pytest

from runners.protocol import layout, manifest
from tests.faults.database import NOTHING_LEFT, leftovers
from tests.runners.load.elsewhere import an_endpoint, of_capacity, served
from tests.stacks import LEASE_S, Stack, wait_until

pytestmark = [
    pytest.mark.fault,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.parametrize("stack", ["team"], indirect=True),
]
PATIENCE_S = 150.0


def shared_by_three(url: str, *, requests: int, workers: int = 2) -> tuple[str, ...]:
    """Three client processes, so many of them load workers'; worker 0, the runner, warms up."""
    return (
        *("study=smollm2_smoke", "artifact=endpoint", "engine=openai_endpoint"),
        *("boundary=endpoint", f"engine.environment.url={url}", "engine.settings.model=small"),
        *("prediction.enabled=false", "evidence.trace.enabled=false", "workload.cases=[]"),
        *("load.concurrency=6", "load.processes=3", f"load.workers={workers}"),
        f"workload.requests={requests}",
    )


@pytest.fixture
def load_worker(stack: Stack, tmp_path: Path) -> Iterator[Callable[..., Stack]]:
    """Start a load worker with a home of its own, and wait until it is registered."""
    started: list[Stack] = []

    def start(**variables: str) -> Stack:
        home = tmp_path / f"host-{len(started)}" / "home"
        home.mkdir(parents=True)
        made = Stack(home=home, variables={**stack.variables, **variables})
        started.append(made)
        made.start("worker", "--load")
        wait_until(lambda: registered(stack) >= len(started), seconds=PATIENCE_S, what=made.logs)
        return made

    yield start
    for one in started:
        one.stop()


def registered(stack: Stack) -> int:
    return len(
        stack.rows("SELECT 1 FROM execution_registration WHERE offer->>'queues' LIKE '%load%'")
    )


def left_on(host: Stack) -> list[Path]:
    """What load workers keep: what they captured and the run did not take."""
    return list((host.home / "executions").glob("*"))


def clocks_of(bundle: Path) -> dict[str, Any]:
    return dict(json.loads((bundle / layout.CLOCKS).read_bytes()))


@pytest.mark.parametrize("place", ["archive", "home"])
def test_three_processes_on_three_hosts_send_one_plan_from_one_barrier(
    stack: Stack, load_worker: Callable[..., Stack], tmp_path: Path, place: str
) -> None:
    if place == "archive":
        stack.variables["ASSAY_ARCHIVE"] = str(tmp_path / "archive")
    first, second = load_worker(), load_worker()
    lead = stack.start("worker")
    with served(an_endpoint(of_capacity(100, 0.05))) as server:
        run = stack.submit(*shared_by_three(server.url, requests=120))
        shown = stack.wait_for_state(run, "sealed", "failed", seconds=PATIENCE_S)

    assert shown["state"] == "sealed", f"{shown['reason']} {first.logs()} {second.logs()}"
    bundle = Path(shown["bundle"])
    assert manifest.verify(bundle).ok
    load = pl.read_parquet(bundle / layout.ATTEMPTS).filter(pl.col("segment") == "load")
    # six slots dealt out over three processes, 20 requests a slot: 40 each, sent once and only once
    assert load["end"].to_list() == ["closed"] * 120
    assert dict(load.group_by("worker").len().iter_rows()) == {1: 40, 2: 40, 3: 40}
    assert load["request_id"].n_unique() == 120
    reference, *others = clocks_of(bundle)["domains"]
    assert [d["worker"] for d in others] == [2, 3]
    assert len({reference["id"], *(d["id"] for d in others)}) == 3
    workers = clocks_of(bundle)["client_error"]["workers"]
    assert [w["worker"] for w in workers] == [1, 2, 3]
    assert [w.get("clock_domain") for w in workers] == [None, *(d["id"] for d in others)]
    assert all(w["send_lag"]["n"] and w["loop_lag"]["n"] for w in workers)
    assert all(w["cpu"]["own_cores_mean"] > 0 for w in workers)
    assert leftovers(stack) == NOTHING_LEFT
    for host in (first, second):
        wait_until(lambda h=host: not left_on(h), seconds=10, what=host.logs)
    assert lead.poll() is None


def test_offsets_are_intervals_that_hold_the_truth_and_latencies_stay_in_their_domain(
    stack: Stack, load_worker: Callable[..., Stack]
) -> None:
    load_worker()
    load_worker()
    stack.start("worker")
    with served(an_endpoint(of_capacity(100, 0.05))) as server:
        run = stack.submit(*shared_by_three(server.url, requests=120))
        shown = stack.wait_for_state(run, "sealed", "failed", seconds=PATIENCE_S)

    bundle = Path(shown["bundle"])
    _, *others = clocks_of(bundle)["domains"]
    for domain in others:
        low, high = domain["offset_ns"]
        # all of them run on this one kernel, whose clock is not ahead of itself: the truth is 0
        assert low <= 0 <= high
        assert domain["error_ns"] == (high - low + 1) // 2 < 500_000_000
        assert [e["when"] for e in domain["exchanges"]] == ["barrier", "end"]
    load = pl.read_parquet(bundle / layout.ATTEMPTS).filter(pl.col("segment") == "load")
    begins = load.group_by("worker").agg(pl.col("created_ns").min())["created_ns"].to_list()
    widest = max(d["error_ns"] for d in others)
    # one barrier: the first sends differ by no more than the clocks are known, and 50 ms to get going
    assert max(begins) - min(begins) < widest + 50_000_000
    by_rule = {(a["rule"], a["statistic"]): a for a in shown["aggregates"]}
    assert by_rule["e2e.client", "mean"]["clock_domain"] == "several"
    # 50 ms of service; a difference across two clocks would be off by their uptime or by their bound
    assert 0.05 <= by_rule["e2e.client", "p50"]["value"] < 0.5
    rate = by_rule["throughput.requests", "rate"]
    assert rate["interval_kind"] == "bounds of the clocks' offset"
    assert rate["interval"][0] < rate["value"] < rate["interval"][1]


def test_a_run_waits_for_its_load_workers_and_says_for_how_many(
    stack: Stack, load_worker: Callable[..., Stack]
) -> None:
    load_worker()
    stack.start("worker")
    with served(an_endpoint(of_capacity(100, 0.02))) as server:
        run = stack.submit(*shared_by_three(server.url, requests=30))
        wait_until(lambda: is_waiting(stack, run), seconds=PATIENCE_S, what=stack.logs)
        load_worker()
        stack.start("beat")  # it looks for runs whose time has come
        shown = stack.wait_for_state(run, "sealed", "failed", seconds=PATIENCE_S)

    assert shown["state"] == "sealed", shown["reason"]


def is_waiting(stack: Stack, run: str) -> bool:
    found = stack.show(run)
    assert found["state"] == "queued"
    words = str(found["reason"])
    return words.startswith("waits for 2 load workers; 1 registered") and words.endswith(
        ". Start 1 more there: ASSAY_HOME=A_NEW_FOLDER assay worker --load"
    )


@pytest.mark.forbids
def test_a_load_worker_killed_in_mid_load_ends_the_run_with_its_reason_and_holds_nothing(
    stack: Stack, load_worker: Callable[..., Stack]
) -> None:
    first, second = load_worker(), load_worker()
    stack.start("worker")
    with served(an_endpoint(of_capacity(100, 0.05))) as server:
        run = stack.submit(*shared_by_three(server.url, requests=20_000))
        wait_until(lambda: len(server.exchanges) > 200, seconds=PATIENCE_S, what=stack.logs)
        shards = shards_below(second)
        kill(second.started[0])
        shown = stack.wait_for_state(run, "failed", "sealed", seconds=LEASE_S + PATIENCE_S)
        wait_until(lambda: not any(s.is_running() for s in shards), seconds=60)

    assert shown["state"] == "failed"
    assert "gave no sign of life for 4 s" in shown["reason"]
    assert str(second.started[0].pid) in shown["reason"], "which of them it was"
    assert shards, "it was sending"
    bundle = Path(shown["bundle"])
    assert manifest.verify(bundle).ok
    load = pl.read_parquet(bundle / layout.ATTEMPTS).filter(pl.col("segment") == "load")
    assert 1 in load["worker"].to_list(), "what the run's own machine captured is kept"
    assert len(set(load["worker"]) - {0}) == 2, "and what the other load worker did"
    whats = " | ".join(gap["what"] for gap in shown["gaps"])
    assert "its clock was tied at the barrier only" in whats
    wait_until(lambda: leftovers(stack) == NOTHING_LEFT, seconds=60)
    wait_until(lambda: not left_on(first), seconds=10, what=first.logs)
    assert left_on(second), "what it had captured lies there"


@pytest.mark.forbids
def test_a_client_process_of_a_load_worker_that_dies_fails_the_run_and_its_worker_goes_on(
    stack: Stack, load_worker: Callable[..., Stack]
) -> None:
    host = load_worker()
    stack.start("worker")
    with served(an_endpoint(of_capacity(100, 0.05))) as server:
        run = stack.submit(*shared_by_three(server.url, requests=20_000, workers=1))
        wait_until(lambda: len(server.exchanges) > 200, seconds=PATIENCE_S, what=stack.logs)
        [shard] = shards_below(host)
        shard.kill()
        shown = stack.wait_for_state(run, "failed", "sealed", seconds=PATIENCE_S)
        again = stack.submit(*shared_by_three(server.url, requests=30, workers=1))
        after = stack.wait_for_state(again, "failed", "sealed", seconds=PATIENCE_S)

    assert (shown["state"], after["state"]) == ("failed", "sealed")
    assert "its client process ended with exit code -9" in shown["reason"]
    assert manifest.verify(Path(shown["bundle"])).ok
    assert leftovers(stack) == NOTHING_LEFT


def kill(worker: "subprocess.Popen[bytes]") -> None:
    os.kill(worker.pid, signal.SIGKILL)
    worker.wait()


def shards_below(host: Stack) -> list[psutil.Process]:
    return [
        child
        for child in psutil.Process(host.started[0].pid).children(recursive=True)
        if "drive-shard" in child.cmdline()
    ]


def test_a_cancel_ends_every_part_and_brings_what_was_captured(
    stack: Stack, load_worker: Callable[..., Stack]
) -> None:
    hosts = load_worker(), load_worker()
    stack.start("worker")
    with served(an_endpoint(of_capacity(100, 0.05))) as server:
        run = stack.submit(*shared_by_three(server.url, requests=20_000))
        wait_until(lambda: len(server.exchanges) > 200, seconds=PATIENCE_S, what=stack.logs)
        assert stack.assay("cancel", run).returncode == 0
        shown = stack.wait_for_state(run, "aborted", "failed", "sealed", seconds=PATIENCE_S)

    assert shown["state"] == "aborted"
    load = pl.read_parquet(Path(shown["bundle"]) / layout.ATTEMPTS)
    assert set(load.filter(pl.col("segment") == "load")["worker"]) == {1, 2, 3}
    wait_until(lambda: leftovers(stack) == NOTHING_LEFT, seconds=60)
    assert not any(shards_below(host) for host in hosts)


def test_a_lead_that_is_killed_leaves_no_load_worker_sending(
    stack: Stack, load_worker: Callable[..., Stack]
) -> None:
    hosts = load_worker(), load_worker()
    lead = stack.start("worker")
    with served(an_endpoint(of_capacity(100, 0.05))) as server:
        run = stack.submit(*shared_by_three(server.url, requests=20_000))
        wait_until(lambda: len(server.exchanges) > 200, seconds=PATIENCE_S, what=stack.logs)
        kill(lead)
        wait_until(lambda: stack.show(run)["state"] == "lost", seconds=60, what=stack.logs)
        wait_until(lambda: not any(map(shards_below, hosts)), seconds=60)
        stack.start("worker")  # it sweeps what its predecessor left
        wait_until(lambda: leftovers(stack) == NOTHING_LEFT, seconds=90, what=stack.logs)

    assert all(host.started[0].poll() is None for host in hosts)
