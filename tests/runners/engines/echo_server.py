"""A real HTTP engine without a model: it streams the numbers 0, 1, 2, ... and logs its own events.

Standard library only, so that it starts in a moment. Faults are asked for by name on the command line:
``crash_at_start hang_at_start ignore_term daemon crash_in_stream flood leak no_profile
failed_unseen``.
"""

import argparse
import json
import os
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

BOOT = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
DOMAIN = f"{BOOT}/{Path('/proc/self/ns/time').stat().st_ino}/monotonic"


class Events:
    def __init__(self, path: str) -> None:
        self._stream = Path(path).open("a", buffering=1)  # noqa: SIM115 - open as long as the process
        self._lock = threading.Lock()
        self.write("clock", clock_domain=DOMAIN, process="front", pid=os.getpid())

    def write(self, event: str, **fields: Any) -> None:
        with self._lock:
            row = {"event": event, "t_ns": time.monotonic_ns(), **fields}
            self._stream.write(json.dumps(row) + "\n")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "Echo"

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        if self.path == "/health":
            self._reply({"status": "ok"})
        elif self.path == "/version":
            self._reply({"version": self.server.version})
        elif self.path == "/server_info":
            self._reply({"model": "echo", "api_key": os.environ.get("ECHO_KEY"), "max_tokens": 8})
        elif self.path == "/metrics":
            self._reply(f"echo_requests_total {self.server.seen}\n".encode())
        else:
            self.send_error(404)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or "{}")
        if self.path in ("/start_profile", "/stop_profile"):
            if self.path == "/stop_profile" and "no_profile" not in self.server.faults:
                self.server.trace.parent.mkdir(exist_ok=True)
                self.server.trace.write_text('{"traceEvents": []}')
            self._reply({})
        else:
            self._stream(body)

    def _reply(self, content: Any) -> None:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, body: dict[str, Any]) -> None:
        server, request = self.server, self.headers["X-Request-Id"]
        server.seen += 1
        server.events.write("front_received", request=request)
        server.events.write("kv_taken", request=request, blocks=1, used=1, total=8)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for number in range(body["max_tokens"]):
                time.sleep(server.delay_s)
                if "crash_in_stream" in server.faults and server.seen >= 3 and number == 2:
                    print("echo: about to die", flush=True)
                    os._exit(42)
                word = os.environ.get("ECHO_KEY", "") if "leak" in server.faults else number
                delta = {"content": f"{word} "}
                self._event({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
            self._event({"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]})
            self._chunk(b"data: [DONE]\n\n")
            self.wfile.write(b"0\r\n\r\n")
            server.events.write("finished", request=request, reason="length")
        except OSError:
            server.events.write("cancelled", request=request, tokens_out=number, phase="running")
            self.close_connection = True
        finally:
            server.events.write(
                "kv_released", request=request, blocks=1, used=0, total=8, level="blocks_reusable"
            )

    def _event(self, payload: Any) -> None:
        self._chunk(b"data: " + json.dumps(payload).encode() + b"\n\n")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))


class Echo(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, arguments: argparse.Namespace) -> None:
        super().__init__(("127.0.0.1", arguments.port), Handler)
        self.faults = set(arguments.faults)
        self.version = arguments.version
        self.delay_s = arguments.delay
        self.events = Events(arguments.events)
        self.trace = Path(arguments.trace)
        self.seen = 0


def leave_a_daemon() -> None:
    """Double fork with a session of its own: no longer a child of anybody here."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(600)
        os._exit(0)
    os.wait()


def fail(*_: object) -> None:
    print("echo: the model loop had ended", flush=True)
    os._exit(1)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int)
    parser.add_argument("--events")
    parser.add_argument("--trace")
    parser.add_argument("--version", default="1.0")
    parser.add_argument("--delay", type=float, default=0.002)
    parser.add_argument("faults", nargs="*")
    arguments = parser.parse_args()
    print(f"echo: starting on port {arguments.port}", flush=True)
    if "leak" in arguments.faults:
        print(f"echo: key={os.environ.get('ECHO_KEY')} max_tokens=8 use_cls_token=True", flush=True)
    if "crash_at_start" in arguments.faults:
        print("echo: cannot find its weights", file=sys.stderr, flush=True)
        sys.exit(7)
    if "hang_at_start" in arguments.faults:
        print("echo: loading, for ever", flush=True)
        time.sleep(600)
    if "ignore_term" in arguments.faults:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "failed_unseen" in arguments.faults:
        signal.signal(signal.SIGTERM, fail)
    if "daemon" in arguments.faults:
        leave_a_daemon()
    if "flood" in arguments.faults:
        for number in range(20_000):
            print(f"echo: line {number:08d} " + "x" * 80, flush=number == 19_999)
    Echo(arguments).serve_forever()


if __name__ == "__main__":
    main()
