"""An endpoint that points elsewhere is not followed: an allowed host must not lead to one that is not."""

import http.server
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from runners.evidence.endpoint import ask
from tests.runners.load.drives import drive_against
from tests.runners.load.servers import Behaviour, Exchange


@pytest.fixture
def inside() -> Iterator[socket.socket]:
    """Something that only this machine can reach, and that must never hear of it."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        listening.setblocking(False)
        yield listening


def never_asked(listening: socket.socket) -> bool:
    try:
        listening.accept()[0].close()
    except BlockingIOError:
        return True
    return False


def pointing_at(listening: socket.socket, status: int) -> Behaviour:
    port = listening.getsockname()[1]
    head = f"HTTP/1.1 {status} Elsewhere\r\nLocation: http://127.0.0.1:{port}/secret\r\n"

    async def behave(exchange: Exchange) -> None:
        await exchange.send(f"{head}Content-Length: 0\r\n\r\n".encode())

    return behave


@pytest.mark.forbids
@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_the_load_client_follows_no_redirection(
    tmp_path: Path, inside: socket.socket, status: int
) -> None:
    outcome = drive_against(pointing_at(inside, status), tmp_path)

    assert outcome.only["status"] == status
    assert never_asked(inside)


@pytest.mark.forbids
def test_the_control_requests_follow_no_redirection(inside: socket.socket) -> None:
    target = f"http://127.0.0.1:{inside.getsockname()[1]}/secret"

    class Redirecting(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(302)
            self.send_header("Location", target)
            self.end_headers()

        def log_message(self, *_words: object) -> None:
            """Nothing on the terminal."""

    with http.server.HTTPServer(("127.0.0.1", 0), Redirecting) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        reply = ask(f"http://127.0.0.1:{server.server_port}", "/v1/models", timeout_s=5.0)
        thread.join()

    assert (reply.status, reply.ok) == (302, False)
    assert never_asked(inside)
