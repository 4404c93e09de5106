"""The disk fills while a run is recorded or sealed: it ends, whole or not at all, and can be sealed later."""

import json
import resource
import subprocess
import time
from pathlib import Path

import polars as pl
import pytest

from runners.protocol import layout, manifest
from tests.faults.test_runs_that_end_badly import LONG, is_driving, processes_of, until
from tests.runners import prepared

pytestmark = pytest.mark.fault


def limit_files(runner: "subprocess.Popen[str]", size: int) -> None:
    """From now on no file of the process grows beyond this: a write fails as on a full disk (EFBIG)."""
    resource.prlimit(runner.pid, resource.RLIMIT_FSIZE, (size, size))


def test_a_disk_that_fills_in_mid_run_ends_it_and_what_was_captured_is_sealed(
    tmp_path: Path,
) -> None:
    out = prepared.prepare(tmp_path / "run", segments=LONG)
    with prepared.start("execute", out) as runner:
        until(lambda: is_driving(out))
        time.sleep(1.0)  # segments are flushed at least once a second
        limit_files(runner, 1)
        output, _ = runner.communicate(timeout=60)

    assert runner.returncode != 0
    assert processes_of(out) == set()
    if not (out / layout.BUNDLE_FOLDER / layout.MANIFEST_DIGEST).exists():
        assert not manifest.verify(out / "bundle").ok  # nobody takes it for a result
        code, told, _ = prepared.run("reap", out, "--state", "failed")  # there is room again
        assert (code, told["state"]) == (0, "failed")
    else:
        assert json.loads(output.splitlines()[-1])["state"] == "failed"
    assert manifest.verify(out / "bundle").ok
    attempts = pl.read_parquet(out / "bundle" / layout.ATTEMPTS)
    assert attempts.filter(pl.col("end") == "closed").height >= 1


def test_a_disk_that_fills_while_sealing_leaves_no_half_bundle(tmp_path: Path) -> None:
    out = prepared.prepare(tmp_path / "run", segments={**LONG, "load": 40})
    with prepared.start("execute", out) as runner:
        # the load has ended, the engine is being stopped: sealing is what comes next
        until(
            lambda: '"drain"' in (out / layout.PROGRESS).read_text() if is_driving(out) else False
        )
        limit_files(runner, 4096)
        runner.communicate(timeout=60)

    sealed = (out / layout.BUNDLE_FOLDER / layout.MANIFEST_DIGEST).exists()
    assert manifest.verify(out / "bundle").ok is sealed
    first = prepared.run("reap", out, "--state", "failed")
    assert first == prepared.run("reap", out, "--state", "failed")
    assert manifest.verify(out / "bundle").ok
    assert processes_of(out) == set()
