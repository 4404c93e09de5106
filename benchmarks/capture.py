"""Capture a flat-out load as a run does, seal it, and say what an event costs on disk.

    python benchmarks/capture.py [--requests 10000] [--events 100] [--itl-ms 0] [--keep FOLDER]

The load client runs against the exact mock; its segments become a sealed bundle by the same code as a run's.
With ``--itl-ms`` above 0 each read carries one event, the dearest case; flat out a read carries several.
"""

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvloop

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "platform"), str(HERE)]

import pyarrow as pa  # noqa: E402 - the checkout's own roots come first on the path
import pyarrow.parquet as pq  # noqa: E402
from compare import compile_mock  # noqa: E402
from own_client import LIMIT_BYTES, load, plan_row  # noqa: E402
from peak_memory import peak_bytes  # noqa: E402

from runners.load.recorder import Recorder  # noqa: E402
from runners.protocol import clocks, layout, manifest, sealing, tables  # noqa: E402
from runners.protocol.segment_writer import SegmentWriter  # noqa: E402
from runners.protocol.workspace import Workspace  # noqa: E402

TARGET_BYTES_PER_EVENT = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    requests: int
    events: int
    concurrency: int
    itl_ms: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """A sealed bundle and what making it took. ``seal_rss`` in bytes, of the sealing process alone."""

    bundle: Path
    events: int
    load_s: float
    segment_bytes: int
    bundle_bytes: int
    seal_s: float
    seal_rss: int


def capture(root: Path, shape: Shape) -> Captured:
    """Drive the load, then seal in a process of its own, so that its peak memory is its own."""
    workspace = Workspace(root)
    workspace.bundle.mkdir(parents=True)
    began = time.perf_counter()
    _drive(workspace, shape)
    load_s = time.perf_counter() - began
    _declare(workspace, shape)
    segment_bytes = sum(p.stat().st_size for p in workspace.segments.glob("wire-*"))
    began = time.perf_counter()
    command = [sys.executable, str(HERE / "capture.py"), "--seal", str(root)]
    subprocess.run(command, check=True)
    seal_s = time.perf_counter() - began
    return Captured(
        bundle=workspace.bundle,
        events=shape.requests * shape.events,
        load_s=load_s,
        segment_bytes=segment_bytes,
        bundle_bytes=sum(p.stat().st_size for p in (workspace.bundle / "wire").iterdir()),
        seal_s=seal_s,
        seal_rss=int((root / "seal_rss").read_text()),
    )


def seal(root: Path) -> None:
    workspace = Workspace(root)
    sealing.convert_streams(workspace, keep_content=True)
    peak = peak_bytes()
    sealing.finish(workspace, header={"state": "sealed", "run_id": None, "execution_id": None})
    (root / "seal_rss").write_text(str(peak))


def _drive(workspace: Workspace, shape: Shape) -> None:
    mock = compile_mock(workspace.root)
    port = _free_port()
    speed = ["--ttft-ms", "20", "--itl-ms", f"{shape.itl_ms:g}"] if shape.itl_ms else ["--flat"]
    server = subprocess.Popen([mock, "--port", str(port), *speed], stdout=subprocess.DEVNULL)
    try:
        _wait_for(port)
        writer = SegmentWriter(workspace.segments, limit_bytes=LIMIT_BYTES)
        recorder = Recorder(writer)
        writer.start()
        uvloop.run(load(_arguments(shape, port), recorder))
        writer.close()
    finally:
        server.terminate()
        server.wait()


def _arguments(shape: Shape, port: int) -> argparse.Namespace:
    return argparse.Namespace(
        url=f"http://127.0.0.1:{port}",
        model="mock",
        concurrency=shape.concurrency,
        requests=shape.requests,
        tokens=shape.events,
        prompt=" time" * 32,
    )


def _declare(workspace: Workspace, shape: Shape) -> None:
    """The documents that an interpretation reads, for a closed loop without an engine record."""
    n = shape.concurrency
    rows = [plan_row(i + 1, slot=i % n, tokens=shape.events) for i in range(shape.requests)]
    plan = pa.Table.from_pylist(rows, schema=tables.PLAN)
    pq.write_table(plan, workspace.bundle / layout.PLAN)
    point = {
        "point": "client_socket",
        "layer": "client_socket",
        "perspective": "client",
        "level": "E1",
    }
    documents: dict[str, Any] = {
        layout.SPEC: {
            "load": {"kind": "closed", "concurrency": n},
            "contract": {"name": "one", "slo": {"ttft_s": 1.0, "tpot_s": 0.1}},
        },
        layout.OBSERVATION: {"points": [point]},
        layout.CLOCKS: {"origin_ns": "0", "client_domain": clocks.clock_domain(), "domains": []},
    }
    for name, document in documents.items():
        (workspace.bundle / name).write_bytes(manifest.canonical(document))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(port: int) -> None:
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    sys.exit(f"the mock on port {port} did not come up")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--events", type=int, default=100, help="content events a request")
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--itl-ms", type=float, default=0.0)
    parser.add_argument("--keep", type=Path, help="leave the bundle in this new folder")
    parser.add_argument("--seal", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.seal is not None:
        seal(asked.seal)
        return
    shape = Shape(
        requests=asked.requests,
        events=asked.events,
        concurrency=asked.concurrency,
        itl_ms=asked.itl_ms,
    )
    with tempfile.TemporaryDirectory(prefix="assay-capture-") as name:
        found = capture(Path(name) / "run", shape)
        report(found)
        if asked.keep is not None:
            shutil.move(found.bundle, asked.keep)


def report(found: Captured) -> None:
    per_event = found.bundle_bytes / found.events
    verdict = "held" if per_event < TARGET_BYTES_PER_EVENT else "NOT held"
    print(json.dumps({"cpus": os.cpu_count(), "events": found.events, "load_s": found.load_s}))
    print(f"segments  {found.segment_bytes / found.events:8.1f} bytes an event while running")
    print(f"sealed    {per_event:8.1f} bytes an event (target {TARGET_BYTES_PER_EVENT}: {verdict})")
    print(f"sealing   {found.seal_s:8.1f} s, peak {found.seal_rss / 2**20:.0f} MiB")


if __name__ == "__main__":
    main()
