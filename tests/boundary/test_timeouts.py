"""Who gave up: four kinds of time-out, each made on real parts and read back by its class."""

import functools
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.boundary.captured import Capture, capture
from tests.boundary.document import documented
from tests.boundary.nginx import gateway
from tests.boundary.paced import Pace, Recorded, paced_server, stream
from tests.boundary.rpc import Service, relaying, rpc_service
from tests.runners.load.servers import HEAD_CHUNKED, LAST_CHUNK, Exchange, chunk, event, plain

pytestmark = pytest.mark.slow

LATE_HEAD = functools.partial(stream, events=3, gap_s=0.02, before_s=1.0)
LATE_EVENT = functools.partial(stream, events=3, gap_s=0.02, pause_s=1.0, pause_before=1)
READ_300 = {"proxy_read_timeout": "300ms"}
OWN_LIMIT = {
    "message": "the request timed out after 0.1 s",
    "type": "server_error",
    "code": "request_timeout",
}


async def own_limit_before_the_head(recorded: Recorded, exchange: Exchange) -> None:
    recorded.note("failed", exchange, reason="time limit")
    body = json.dumps({"error": OWN_LIMIT}).encode()
    await exchange.send(plain("500 Internal Server Error", body, "Content-Type: application/json"))


async def own_limit_in_mid_stream(recorded: Recorded, exchange: Exchange) -> None:
    await exchange.send(HEAD_CHUNKED + chunk(event("a")))
    recorded.note("failed", exchange, reason="time limit")
    error = b"data: " + json.dumps({"error": OWN_LIMIT}).encode() + b"\n\n"
    await exchange.send(chunk(error) + LAST_CHUNK)


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with rpc_service() as started:
        yield started


class Scene:
    """Starts a server, a gateway before it if asked for, and one attempt through them."""

    def __init__(self, folder: Path, service: Service) -> None:
        self.folder = folder
        self.service = service
        self.number = 0

    def play(
        self, pace: Pace, *, nginx: dict[str, str] | None = None, **waits: float
    ) -> tuple[Capture, list[str]]:
        """The capture, and the states that the server recorded for it."""
        self.number += 1
        with ExitStack() as stack:
            server = stack.enter_context(paced_server(pace))
            url = server.server.url
            if nginx is not None:
                url = stack.enter_context(gateway(server.port, **nginx)).url
            seen = capture(url, self.folder / str(self.number), timeouts=waits)
            server.wait_for("cancelled", "failed", "finished")
            states = [s.state.value for s in seen.record(server.events).states]
            return seen, states

    def downstream(self, nginx: dict[str, str] | None = None) -> tuple[Capture, list[str]]:
        pace = relaying(self.service.port, seconds=5.0, timeout_s=0.2)
        return self.play(pace, nginx=nginx)


Played = tuple[Capture, list[str]]
# who gave up and when -> how it is made
SCENES: dict[str, Callable[[Scene], Played]] = {
    "client, no first byte": lambda s: s.play(LATE_HEAD, first_byte_s=0.2),
    "client, nothing between two reads": lambda s: s.play(LATE_EVENT, between_reads_s=0.2),
    "client, not whole in time": lambda s: s.play(LATE_EVENT, total_s=0.4),
    "gateway, no head from the engine": lambda s: s.play(LATE_HEAD, nginx=READ_300),
    "gateway, in mid-stream": lambda s: s.play(LATE_EVENT, nginx=READ_300),
    "server's own limit, before the head": lambda s: s.play(own_limit_before_the_head),
    "server's own limit, in mid-stream": lambda s: s.play(own_limit_in_mid_stream),
    "server's own limit, behind a gateway": lambda s: s.play(own_limit_before_the_head, nginx={}),
    "server as client of an RPC": lambda s: s.downstream(),
    "server as client of an RPC, behind a gateway": lambda s: s.downstream(nginx={}),
}


@pytest.mark.req("8.03", "8.07", "8.08")
def test_the_documented_time_outs_are_the_measured_ones(tmp_path: Path, service: Service) -> None:
    """Each row: who gave up; HTTP status; client state; failure class; the server's own last state."""
    scene = Scene(tmp_path, service)
    measured = []
    for name, make in SCENES.items():
        seen, states = make(scene)
        attempt = seen.only
        failure = (attempt.failure or "").partition(":")[0]
        status = str(attempt.status) if attempt.status else "none"
        measured.append([name, status, attempt.state.value, f"`{failure}`", states[-1]])

    assert measured == documented("Who gave up")


@pytest.mark.req("8.07")
def test_a_504_is_told_by_who_wrote_its_body_not_by_who_relayed_it(
    tmp_path: Path, service: Service
) -> None:
    """Both come from nginx with status 504; one page is nginx's own, the other is the server's word."""
    scene = Scene(tmp_path, service)

    own, _ = scene.play(LATE_HEAD, nginx=READ_300)
    relayed, _ = scene.downstream(nginx={})

    for seen in (own, relayed):
        assert seen.only.status == 504
        assert "Server: nginx" in seen.head(seen.only.attempt_id)
    assert (own.only.failure or "").startswith("timeout_gateway")
    assert (relayed.only.failure or "") == (
        "timeout_downstream: the work service did not answer within 0.2 s"
    )


@pytest.mark.req("8.07")
def test_a_gateway_that_gives_up_in_mid_stream_says_so_only_in_its_own_log(
    tmp_path: Path,
) -> None:
    with paced_server(LATE_EVENT) as server, gateway(server.port, **READ_300) as proxy:
        seen = capture(proxy.url, tmp_path)
        (row,) = proxy.access(count=1)
        errors = proxy.errors

    assert (seen.only.failure or "").startswith("transport: closed by the peer after")
    assert row["status"] == 200  # the head had gone out
    assert "upstream timed out (110: Connection timed out) while reading upstream" in errors
