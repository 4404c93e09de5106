"""The sampler writes at its rates, obeys commands, and ends with its input."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa

from runners.evidence.sampler import ANCHORS, SamplerConfig
from runners.protocol import tables
from runners.protocol.segment_reader import SegmentReading, read_batches, segment_files
from runners.protocol.workspace import json_lines
from tests.runners.prepared import ROOT


def test_it_reads_until_its_input_closes_and_accounts_for_itself(tmp_path: Path) -> None:
    SamplerConfig(
        segments=str(tmp_path),
        limit_bytes=2**20,
        scrape_interval_s=0.05,
        telemetry_interval_s=0.05,
        anchor_interval_s=0.05,
        client_pid=os.getpid(),
        secret_names=[],
    ).write(tmp_path / "config.json")
    sampler = subprocess.Popen(
        [sys.executable, "-m", "runners.evidence.sampler", str(tmp_path / "config.json")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
    )
    with sampler:
        assert sampler.stdin is not None
        # nobody listens on port 1: a scrape that fails is a row with its error, not a hole
        sampler.stdin.write(json.dumps({"scrape": ["http://127.0.0.1:1", "/metrics"]}).encode())
        sampler.stdin.write(b"\n")
        sampler.stdin.flush()
        deadline = time.monotonic() + 10
        while len(json_lines(tmp_path / ANCHORS)) < 5:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        output, _ = sampler.communicate(timeout=10)

    account = json.loads(output)
    assert sampler.returncode == 0
    assert {r["stream"] for r in account["reports"]} == {"telemetry", "scrapes"}
    assert all(r["ended"] is None for r in account["reports"])
    telemetry = rows(tmp_path, "telemetry", tables.TELEMETRY)
    assert {row["subject"] for row in telemetry} == {"host", "client", "sampler"}
    scrapes = rows(tmp_path, "scrapes", tables.SCRAPES)
    assert len(scrapes) >= 2
    assert scrapes[0]["status"] is None
    assert "refused" in str(scrapes[0]["error"])


def test_when_its_runner_was_killed_it_ends_without_a_trace_of_its_own(tmp_path: Path) -> None:
    SamplerConfig(
        segments=str(tmp_path),
        limit_bytes=2**20,
        scrape_interval_s=0.05,
        telemetry_interval_s=0.05,
        anchor_interval_s=0.05,
        client_pid=os.getpid(),
        secret_names=[],
    ).write(tmp_path / "config.json")
    sampler = subprocess.Popen(
        [sys.executable, "-m", "runners.evidence.sampler", str(tmp_path / "config.json")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    )
    assert sampler.stdin is not None
    assert sampler.stdout is not None
    assert sampler.stderr is not None
    sampler.stdout.close()  # as the end of the runner closes both pipes
    sampler.stdin.close()

    with sampler.stderr:
        assert sampler.stderr.read() == b""
    assert sampler.wait(timeout=10) == 0


def rows(folder: Path, stream: str, schema: pa.Schema) -> list[dict[str, object]]:
    return [
        row
        for segment in segment_files(folder, stream)
        for batch in read_batches(SegmentReading(segment=segment), schema)
        for row in batch.to_pylist()
    ]
