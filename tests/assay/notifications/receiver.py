"""A webhook receiver and a mail server in threads of the test, each keeping what it got."""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Received:
    """One listening server. ``answers`` are the statuses it gives, the last one again and again."""

    port: int = 0
    answers: list[int] = field(default_factory=lambda: [204])
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    mails: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"


@contextmanager
def http_receiver() -> Iterator[Received]:
    received = Received()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.requests.append((self.path, dict(self.headers), body))
            answers = received.answers
            status = answers.pop(0) if len(answers) > 1 else answers[0]
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", f"http://127.0.0.1:{received.port}/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_arguments: Any) -> None:
            pass

    with _serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler), received):
        yield received


@contextmanager
def mail_server() -> Iterator[Received]:
    """Speaks as much SMTP as a client needs to hand over a message."""
    received = Received()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self._say("220 here")
            while line := self.rfile.readline().decode().strip():
                verb = line.split()[0].upper()
                if verb == "DATA":
                    self._say("354 go on")
                    lines = iter(self.rfile.readline, b".\r\n")
                    received.mails.append(b"".join(lines).decode())
                self._say("221 bye" if verb == "QUIT" else "250 ok")
                if verb == "QUIT":
                    return

        def _say(self, line: str) -> None:
            self.wfile.write(line.encode() + b"\r\n")

    with _serving(socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler), received):
        yield received


@contextmanager
def _serving(server: socketserver.BaseServer, received: Received) -> Iterator[None]:
    received.port = int(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
