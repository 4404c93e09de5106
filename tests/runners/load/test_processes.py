"""Several client processes, one plan: one bundle as if one client had sent it all, or an honest failure."""

import os
import signal
import subprocess
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import psutil
import pytest

from runners.protocol import layout, manifest
from tests.runners.engines.openai_endpoint.declared import spec
from tests.runners.engines.openai_endpoint.performed import Performed, ended, perform, start
from tests.runners.load.elsewhere import an_endpoint, of_capacity, served
from tests.runners.load.servers import answers_well

pytestmark = pytest.mark.slow

MS = 1_000_000


def attempts(done: Performed) -> pl.DataFrame:
    load = pl.read_parquet(done.bundle / layout.ATTEMPTS).filter(pl.col("segment") == "load")
    return load.sort("sequence")


def report(done: Performed) -> dict[str, Any]:
    [row] = [r for r in done.rows("segment_end") if r["segment"] == "load"]
    return dict(row["report"])


def test_a_closed_loop_shares_its_slots_and_the_bundle_is_one(tmp_path: Path) -> None:
    with served(an_endpoint(of_capacity(100, 0.02))) as server:
        declared = spec(server.url, concurrency=4, requests=12, warmup_requests=1, processes=2)
        done = perform(declared, tmp_path)

    assert done.answer["state"] == "sealed", done.errors
    assert manifest.verify(done.bundle).ok
    load = attempts(done)
    assert load["end"].to_list() == ["closed"] * 12
    # slots 0 and 2 are the first process's, 1 and 3 the second's; the runner itself, worker 0, warms up
    assert load["worker"].to_list() == [1, 2] * 6
    wire = sorted(p.name for p in (done.bundle / layout.WIRE_FOLDER).iterdir())
    assert wire == ["0-0.parquet", "1-0.parquet", "2-0.parquet"]
    reads = pl.concat(pl.read_parquet(p) for p in (done.bundle / layout.WIRE_FOLDER).iterdir())
    assert set(load["attempt_id"]) <= set(reads["attempt_id"])
    stated = report(done)
    assert (stated["offered"], stated["created"], stated["ends"]) == (12, 12, {"closed": 12})


def test_each_process_states_its_own_error_and_the_worse_one_stands_for_both(
    tmp_path: Path,
) -> None:
    # 80 rounds of 0.02 s: three looks of the sampler, which come every 0.5 s, fall into the load
    with served(an_endpoint(of_capacity(100, 0.02))) as server:
        done = perform(spec(server.url, concurrency=2, requests=160, processes=2), tmp_path)

    error = done.document(layout.CLOCKS)["client_error"]
    assert [w["worker"] for w in error["workers"]] == [1, 2]
    assert error["loop_lag"]["max_ns"] == max(w["loop_lag"]["max_ns"] for w in error["workers"])
    telemetry = pl.read_parquet(done.bundle / layout.TELEMETRY)
    clients = telemetry.filter(pl.col("subject") == "client")["pid"].unique()
    assert all(0 < w["cpu"]["own_cores_mean"] <= w["cpu"]["cores"] for w in error["workers"])
    assert len(clients) == 3  # the runner and both: their CPU is the client's, not a stranger's


def test_open_arrivals_keep_their_scheduled_times_from_one_common_origin(tmp_path: Path) -> None:
    with served(an_endpoint(answers_well)) as server:
        declared = spec(
            server.url, kind="constant", concurrency=None, rate_per_s=50.0, requests=20, processes=2
        )
        done = perform(declared, tmp_path)

    load = attempts(done)
    scheduled = load["scheduled_ns"].to_list()
    # 50 a second: 20 ms apart, whichever process sends; exact, because the origin is one number
    assert [b - a for a, b in pairwise(scheduled)] == [20_000_000] * 19
    assert load["worker"].to_list() == [1, 2] * 10
    late_ns = (load["created_ns"] - load["scheduled_ns"]).to_list()
    assert min(late_ns) >= 0


def test_stages_of_slots_are_shared_and_begin_together(tmp_path: Path) -> None:
    with served(an_endpoint(of_capacity(100, 0.02))) as server:
        declared = spec(server.url, requests=400, warmup_requests=0)
        declared["load"] |= {
            "kind": "staged",
            "concurrency": None,
            "processes": 2,
            "stages": [_stage(2), _stage(5), _stage(3)],
        }
        done = perform(declared, tmp_path)

    assert done.answer["state"] == "sealed", done.errors
    load, stated = attempts(done), report(done)
    origin_ns = stated["origin_ns"]
    assert [s["concurrency"] for s in stated["stages"]] == [2, 5, 3]
    assert [s["from_ns"] - origin_ns for s in stated["stages"]] == [0, 400 * MS, 800 * MS]
    # slots s of process s % 2: 1 + 1, then 3 + 2, then 2 + 1; a parked slot first ends its 20 ms
    for span, shares in zip(stated["stages"], [(1, 1), (3, 2), (2, 1)], strict=True):
        for worker, share in enumerate(shares, start=1):
            own = load.filter(pl.col("worker") == worker)
            assert _most_in_flight(own, span["from_ns"] + 60 * MS, span["to_ns"]) == share
    assert stated["stop_reason"] == "profile_done"
    assert stated["stop_seen"] == "the last of 3 stages was over"


def _stage(concurrency: int) -> dict[str, Any]:
    return {
        "rate_per_s": None,
        "concurrency": concurrency,
        "duration_s": 0.4,
        "requests": None,
        "spacing": "even",
    }


def _most_in_flight(load: pl.DataFrame, from_ns: int, to_ns: int) -> int:
    begins = load.filter(pl.col("created_ns").is_between(from_ns, to_ns))["created_ns"]
    return max(
        load.filter((pl.col("created_ns") <= t_ns) & (pl.col("ended_ns") > t_ns)).height
        for t_ns in begins
    )


def _client_processes(runner: subprocess.Popen[str]) -> list[psutil.Process]:
    return [
        child
        for child in psutil.Process(runner.pid).children(recursive=True)
        if "drive-shard" in child.cmdline()
    ]


@pytest.mark.forbids
def test_a_client_process_that_dies_fails_the_run_with_what_it_had_captured(
    tmp_path: Path,
) -> None:
    with served(an_endpoint(of_capacity(100, 0.05))) as server:
        declared = spec(server.url, concurrency=2, requests=2000, processes=2)
        runner = start(declared, tmp_path)
        while len(server.exchanges) < 60:
            time.sleep(0.05)
        children = _client_processes(runner)
        time.sleep(1.2)  # a flush of captured rows comes at least once a second
        os.kill(children[0].pid, signal.SIGKILL)
        done = ended(runner, tmp_path)

    assert (done.code, done.answer["state"]) == (1, "failed")
    assert "was killed by SIGKILL in mid-load" in done.answer["reason"]
    assert manifest.verify(done.bundle).ok
    assert set(attempts(done)["worker"]) == {1, 2}
    assert any("ends without its end mark" in row["what"] for row in done.rows("gap"))
    assert not any(child.is_running() for child in children)


def test_an_interrupt_ends_every_process_and_seals_what_there_is(tmp_path: Path) -> None:
    with served(an_endpoint(of_capacity(100, 0.05))) as server:
        runner = start(spec(server.url, concurrency=2, requests=2000, processes=2), tmp_path)
        while len(server.exchanges) < 20:
            time.sleep(0.05)
        children = _client_processes(runner)
        runner.send_signal(signal.SIGINT)
        done = ended(runner, tmp_path)

    assert (done.code, done.answer["state"]) == (130, "aborted")
    assert report(done)["stop_reason"] == "stop_requested"
    assert not any(child.is_running() for child in children)


@pytest.mark.forbids
def test_load_workers_need_a_queue_and_nothing_is_sent_without_one(tmp_path: Path) -> None:
    declared = spec(processes=2)
    declared["load"]["workers"] = 1

    done = perform(declared, tmp_path)

    assert done.code == 3
    [finding] = done.answer["findings"]
    assert (finding["field"], finding["seen"]) == ("load.workers", "1")
    assert "assay submit" in finding["remedy"]


@pytest.mark.forbids
@pytest.mark.parametrize(
    ("change", "seen"),
    [
        ({"processes": 0}, "0"),
        ({"processes": 3, "concurrency": 2}, "3"),
        ({"processes": 2, "stop": {"max_errors": 5}}, "2"),
        ({"processes": 2, "stop": {"max_requests": 5}}, "2"),
        ({"processes": 2, "stop": {"max_error_share": 0.5}}, "2"),
        ({"processes": 2, "kind": "staged", "concurrency": None, "stages": [_stage(1)]}, "2"),
        (
            {
                "processes": 2,
                "kind": "staged",
                "concurrency": None,
                "stages": [_stage(2) | {"duration_s": None, "requests": 9}],
            },
            "2",
        ),
    ],
)
def test_what_several_processes_cannot_share_is_refused(
    change: dict[str, Any], seen: str, tmp_path: Path
) -> None:
    declared = spec()
    stop = {**declared["load"]["stop"], **change.pop("stop", {})}
    declared["load"] |= {**change, "stop": stop}

    done = perform(declared, tmp_path)

    assert done.code == 2
    [finding] = done.answer["findings"]
    assert (finding["field"], finding["seen"]) == ("load.processes", seen)
