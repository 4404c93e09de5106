"""Whatever happens to a run, it is sealed with its evidence and no process of it is left."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from runners.evidence import processes
from runners.protocol import layout, manifest
from runners.protocol.workspace import json_lines
from tests.runners import prepared
from tests.runners.prepared import gaps, session_rows

pytestmark = pytest.mark.fault

LONG = {"warmup": 1, "cases": 2, "load": 400, "profile": 1}  # seconds of load: time to be hit in


def until(condition: Callable[[], Any], patience_s: float = 20.0) -> None:
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def processes_of(out: Path) -> set[int]:
    execution = json.loads((out / layout.CONTEXT).read_bytes())["execution_id"]
    marked = processes.carrying(execution)
    # keeper and sampler of this folder, whether or not they carry the mark
    return marked | {
        pid
        for pid in processes.pids()
        if (known := processes.identify(pid)) is not None and str(out) in known.command
    }


def is_driving(out: Path) -> bool:
    rows = json_lines(out / layout.PROGRESS)
    return any(row["phase"] == "measure" and row["done"] >= 8 for row in rows)


def error_of(out: Path) -> dict[str, Any]:
    document = json.loads((out / "bundle" / layout.ERROR).read_bytes())
    assert isinstance(document, dict)
    return document


@pytest.fixture
def launched() -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    made: list[subprocess.Popen[str]] = []

    def start(out: Path, *more: str) -> "subprocess.Popen[str]":
        made.append(prepared.start("execute", out, *more))
        return made[-1]

    yield start
    for process in made:
        with process:
            process.kill()


Launched = Callable[..., "subprocess.Popen[str]"]


def test_an_engine_that_dies_at_start_is_sealed_with_its_last_words(tmp_path: Path) -> None:
    out = prepared.prepare(tmp_path / "run", settings={"faults": ["crash_at_start"]})

    code, told, _ = prepared.run("execute", out)

    assert (code, told["state"]) == (1, "failed")
    assert "exit code 7" in told["reason"]
    assert "cannot find its weights" in told["reason"]
    assert "cannot find its weights" in error_of(out)["last_lines"][-1]
    assert error_of(out)["phase"] == "launch"
    assert manifest.verify(out / "bundle").ok
    assert processes_of(out) == set()


def test_an_engine_that_hangs_at_start_is_stopped_at_its_time(tmp_path: Path) -> None:
    out = prepared.prepare(
        tmp_path / "run",
        settings={"faults": ["hang_at_start"]},
        engine={"ready_timeout_s": 0.5},
    )

    code, told, _ = prepared.run("execute", out)

    assert (code, told["state"]) == (1, "failed")
    assert "not ready after 0.5 s" in told["reason"]
    assert "loading, for ever" in told["reason"]
    assert processes_of(out) == set()


def test_another_version_than_the_pin_is_failed_and_both_are_named(tmp_path: Path) -> None:
    out = prepared.prepare(tmp_path / "run", settings={"runs_version": "1.1"})

    code, told, _ = prepared.run("execute", out)

    assert (code, told["state"]) == (1, "failed")
    assert "version is 1.1, pin says 1.0" in told["reason"]
    assert session_rows(out, "phase_start") == []
    assert processes_of(out) == set()


def test_a_taken_port_is_named_with_its_holder_who_is_left_alone(tmp_path: Path) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        out = prepared.prepare(tmp_path / "run", port=holder.getsockname()[1])

        code, told, _ = prepared.run("execute", out)

        assert (code, told["state"]) == (1, "failed")
        assert f"is held by process {os.getpid()}" in told["reason"]
        assert session_rows(out, "launch") == []


def test_an_engine_that_dies_in_mid_run_ends_its_attempts_and_the_run(tmp_path: Path) -> None:
    out = prepared.prepare(
        tmp_path / "run", settings={"faults": ["crash_in_stream"]}, segments=LONG
    )

    code, told, _ = prepared.run("execute", out)

    assert (code, told["state"]) == (1, "failed")
    assert "ended in mid-run (exit code 42)" in told["reason"]
    assert "about to die" in told["reason"]
    attempts = pl.read_parquet(out / "bundle" / layout.ATTEMPTS)
    ends = dict(attempts.group_by("end").len().iter_rows())
    assert ends["error"] >= 1  # the stream that was cut
    assert attempts["attempt_id"].is_unique().all()
    assert manifest.verify(out / "bundle").ok
    assert processes_of(out) == set()


def test_an_engine_that_failed_unseen_in_its_last_moment_fails_the_run(tmp_path: Path) -> None:
    out = prepared.prepare(tmp_path / "run", settings={"faults": ["failed_unseen"]})

    code, told, _ = prepared.run("execute", out)

    assert (code, told["state"]) == (1, "failed")
    assert "failed before it was stopped (exit code 1)" in told["reason"]
    assert "the model loop had ended" in told["reason"]
    assert manifest.verify(out / "bundle").ok


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "term"])
def test_an_interrupt_in_mid_run_is_sealed_as_aborted(
    tmp_path: Path, launched: Launched, number: signal.Signals
) -> None:
    out = prepared.prepare(tmp_path / "run", segments=LONG)
    runner = launched(out)
    until(lambda: is_driving(out))

    os.killpg(runner.pid, number)  # as a terminal does: the whole group
    output, _ = runner.communicate(timeout=20)

    told = json.loads(output)
    assert (runner.returncode, told["state"]) == (130, "aborted")
    assert f"interrupted by {number.name}" in told["reason"]
    assert manifest.read(out / "bundle")["state"] == "aborted"
    assert manifest.verify(out / "bundle").ok
    assert pl.read_parquet(out / "bundle" / layout.ATTEMPTS).height >= 8
    assert session_rows(out, "segment_end")[-1]["report"]["stop_reason"] == "stop_requested"
    assert processes_of(out) == set()


def test_an_interrupt_while_the_engine_starts_leaves_no_process(
    tmp_path: Path, launched: Launched
) -> None:
    out = prepared.prepare(tmp_path / "run", settings={"faults": ["hang_at_start"]})
    runner = launched(out)
    until(lambda: session_rows(out, "launch") and processes_of(out))

    os.killpg(runner.pid, signal.SIGINT)
    output, _ = runner.communicate(timeout=20)

    assert (runner.returncode, json.loads(output)["state"]) == (130, "aborted")
    assert processes_of(out) == set()


def test_more_interrupts_do_not_break_the_sealing(tmp_path: Path, launched: Launched) -> None:
    out = prepared.prepare(
        tmp_path / "run", segments=LONG, settings={"faults": ["ignore_term", "daemon"]}
    )
    runner = launched(out)
    until(lambda: is_driving(out))

    while runner.poll() is None:
        os.killpg(runner.pid, signal.SIGINT)
        time.sleep(0.05)

    assert runner.returncode == 130
    assert manifest.verify(out / "bundle").ok
    assert processes_of(out) == set()


def test_after_kill_9_of_the_runner_nothing_is_left_and_the_run_is_reaped_as_lost(
    tmp_path: Path, launched: Launched
) -> None:
    out = prepared.prepare(tmp_path / "run", segments=LONG, settings={"faults": ["daemon"]})
    prepared.predict(out)
    runner = launched(out)
    until(lambda: is_driving(out))
    time.sleep(1.0)  # segments are flushed at least once a second
    assert len(processes_of(out)) >= 5  # runner, keeper, sampler, engine, daemon

    runner.kill()
    runner.wait()
    until(lambda: processes_of(out) == set(), patience_s=10)  # by the keeper alone

    code, told, _ = prepared.run("reap", out)
    assert (code, told["state"]) == (0, "lost")
    assert manifest.read(out / "bundle")["state"] == "lost"
    assert manifest.verify(out / "bundle").bundle_digest == told["bundle_digest"]
    attempts = pl.read_parquet(out / "bundle" / layout.ATTEMPTS)
    assert attempts.filter(pl.col("end") == "closed").height >= 4
    assert pl.read_parquet(out / "bundle" / "wire" / "0-0.parquet").height > 0
    assert "the record of this run is cut" in gaps(out)
    assert "ends without its end mark" in gaps(out)
    assert session_rows(out, "reaped")[0]["swept"]["left"] == []
    assert session_rows(out, "predictions_registered")
    [released] = [r for r in json_lines(out / "bundle" / layout.KEEPER) if r["event"] == "released"]
    assert released["processes_left"] == []


def test_reaping_twice_gives_the_same_bundle(tmp_path: Path, launched: Launched) -> None:
    out = prepared.prepare(tmp_path / "run", segments=LONG)
    runner = launched(out)
    until(lambda: is_driving(out))
    runner.kill()
    runner.wait()

    first = prepared.run("reap", out, "--state", "aborted")
    second = prepared.run("reap", out)

    assert first == second
    assert first[1]["state"] == "aborted"


def test_a_reaper_ends_a_runner_that_still_lives(tmp_path: Path, launched: Launched) -> None:
    out = prepared.prepare(tmp_path / "run", segments=LONG)
    runner = launched(out)
    until(lambda: is_driving(out))

    code, told, _ = prepared.run("reap", out)

    # asked to end, it sealed its own run as aborted, and the reaper leaves a sealed bundle as it is
    assert runner.wait(timeout=10) == 130
    assert (code, told["state"]) == (0, "aborted")
    assert processes_of(out) == set()


def test_after_kill_9_of_runner_and_keeper_the_reaper_sweeps(
    tmp_path: Path, launched: Launched
) -> None:
    out = prepared.prepare(tmp_path / "run", segments=LONG, settings={"faults": ["daemon"]})
    runner = launched(out)
    until(lambda: is_driving(out))
    [keeper] = [
        r["pid"] for r in json_lines(out / "keeper" / "keeper.jsonl") if r["event"] == "keeper"
    ]

    runner.send_signal(signal.SIGSTOP)  # so that it cannot act before both are gone
    os.kill(keeper, signal.SIGKILL)
    runner.kill()
    runner.wait()
    assert processes_of(out)  # the daemon outlives both

    code, told, _ = prepared.run("reap", out)

    assert (code, told["state"]) == (0, "lost")
    assert processes_of(out) == set()
    assert len(session_rows(out, "reaped")[0]["swept"]["ended"]) >= 1
    assert "processes" not in {
        r["check"] for r in session_rows(out, "release_check")
    }  # nobody saw it: not claimed


def test_when_only_the_keeper_is_killed_the_run_fails_and_is_swept(
    tmp_path: Path, launched: Launched
) -> None:
    out = prepared.prepare(tmp_path / "run", segments=LONG, settings={"faults": ["daemon"]})
    runner = launched(out)
    until(lambda: is_driving(out))
    [keeper] = [
        r["pid"] for r in json_lines(out / "keeper" / "keeper.jsonl") if r["event"] == "keeper"
    ]

    os.kill(keeper, signal.SIGKILL)
    output, _ = runner.communicate(timeout=20)

    assert (runner.returncode, json.loads(output)["state"]) == (1, "failed")
    [stop] = session_rows(out, "stop")
    assert stop["keeper"] is None
    assert len(stop["swept"]["ended"]) >= 1
    checks = {r["check"]: r["state"] for r in session_rows(out, "release_check")}
    assert checks["processes"] == "unknown"
    assert processes_of(out) == set()


def test_a_run_ends_as_lost_when_a_watched_process_is_gone(
    tmp_path: Path, launched: Launched
) -> None:
    worker = subprocess.Popen(["sleep", "60"])
    out = prepared.prepare(tmp_path / "run", segments=LONG)
    runner = launched(out, "--watch", str(worker.pid))
    until(lambda: is_driving(out))

    worker.kill()
    worker.wait()
    output, _ = runner.communicate(timeout=20)

    told = json.loads(output)
    assert (runner.returncode, told["state"]) == (1, "lost")
    assert f"the process {worker.pid} that started this run is gone" in told["reason"]
    assert processes_of(out) == set()


def test_a_sampler_that_dies_costs_its_readings_and_not_the_run(
    tmp_path: Path, launched: Launched
) -> None:
    out = prepared.prepare(tmp_path / "run", segments={**LONG, "load": 60})
    runner = launched(out)
    written = out / layout.SEGMENTS_FOLDER / "telemetry-0-000000.arrows"
    until(lambda: is_driving(out) and written.exists())
    sampler = [
        pid
        for pid in processes.pids()
        if (known := processes.identify(pid)) is not None
        and "runners.evidence.sampler" in known.command
        and str(out) in known.command
    ]
    os.kill(sampler[0], signal.SIGKILL)

    runner.communicate(timeout=30)

    assert runner.returncode == 0
    assert "telemetry-0-000000.arrows: ends without its end mark" in gaps(out)
    observation = json.loads((out / "bundle" / layout.OBSERVATION).read_bytes())
    [host] = [p for p in observation["points"] if p["point"] == "host"]
    assert host["dropped"] is None  # nobody was left to count


@pytest.mark.req("13.19")
@pytest.mark.forbids
def test_a_prediction_that_appears_after_the_launch_is_left_out(
    tmp_path: Path, launched: Launched
) -> None:
    out = prepared.prepare(tmp_path / "run", segments={**LONG, "load": 60})
    runner = launched(out)
    until(lambda: session_rows(out, "ready"))
    prepared.predict(out)
    runner.communicate(timeout=30)

    assert runner.returncode == 0
    assert "predictions.json is late" in gaps(out)
    assert not (out / "bundle" / layout.PREDICTIONS).exists()
    assert manifest.read(out / "bundle")["predictions_digest"] is None


@pytest.mark.req("13.19")
@pytest.mark.forbids
def test_a_prediction_that_is_changed_after_the_launch_is_put_back(
    tmp_path: Path, launched: Launched
) -> None:
    out = prepared.prepare(tmp_path / "run", segments={**LONG, "load": 60})
    prepared.predict(out)
    before = (out / "bundle" / layout.PREDICTIONS).read_bytes()
    runner = launched(out)
    until(lambda: session_rows(out, "ready"))
    prepared.predict(out, predictions=[{"quantity": "known by now"}])
    runner.communicate(timeout=30)

    assert (out / "bundle" / layout.PREDICTIONS).read_bytes() == before
    assert "was changed after the launch" in gaps(out)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 24 MiB."""
    mount = tmp_path / "disk"
    mount.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(mount)], capture_output=True
    )
    if made.returncode != 0:
        pytest.skip(f"mounting needs privileges: {made.stderr.decode().strip()}")
    yield mount
    subprocess.run(["umount", "-l", str(mount)], check=True)


def fill_up(disk: Path) -> None:
    """To the last byte, though the run goes on writing meanwhile."""
    with (disk / "somebody_else").open("wb") as stream:
        while free := shutil.disk_usage(disk).free:
            with contextlib.suppress(OSError):  # the run took some of it first
                os.posix_fallocate(stream.fileno(), os.fstat(stream.fileno()).st_size, free)


def test_a_disk_that_fills_up_ends_the_run_with_what_was_captured(
    small_disk: Path, launched: Launched
) -> None:
    out = prepared.prepare(small_disk / "run", segments=LONG)
    runner = launched(out)
    until(lambda: is_driving(out))
    time.sleep(0.5)  # captured rows are written four times a second

    fill_up(small_disk)
    output, errors = runner.communicate(timeout=30)

    told = json.loads(output)
    assert (runner.returncode, told["state"]) == (1, "failed"), errors
    assert "the disk filled up in mid-run" in told["reason"]
    assert manifest.verify(out / "bundle").ok
    attempts = pl.read_parquet(out / "bundle" / layout.ATTEMPTS)
    assert attempts.filter(pl.col("end") == "closed").height >= 4
    assert any(r["stage"] == "drive" for r in session_rows(out, "failure"))
    assert "attempts: capture ended early (No space left on device" in gaps(out)
    assert processes_of(out) == set()
