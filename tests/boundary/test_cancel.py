"""How far a client's cancel travels, and what the other side does with it."""

import asyncio
import functools
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest

from runners.protocol.events import ClientState, ServerState
from tests.boundary.captured import capture
from tests.boundary.document import documented
from tests.boundary.nginx import gateway, grpc_gateway
from tests.boundary.paced import Pace, Recorded, paced_server, stream
from tests.boundary.rpc import Service, ask, rpc_service
from tests.runners.load.drives import plan_row
from tests.runners.load.servers import Exchange, plain

pytestmark = pytest.mark.slow

CANCEL_S, HEAD_S = 0.1, 0.6
SOON_S = 0.3


async def whole(recorded: Recorded, exchange: Exchange) -> None:
    """A reply in one piece, after as long; it looks for nobody meanwhile."""
    await asyncio.sleep(HEAD_S)
    await exchange.send(plain("200 OK", b'{"choices": [{"index": 0, "finish_reason": "stop"}]}'))
    recorded.note("front_written", exchange, part="body")
    recorded.note("finished", exchange, reason="stop")
    recorded.note("front_finished", exchange)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What the server does, and when the client leaves."""

    pace: Pace
    cancel: dict[str, Any]


BEFORE_HEAD = "before the head"
MID_STREAM = "in mid-stream"
WHOLE = "before a whole reply"
AFTER_A_WHILE: dict[str, Any] = {"cancel_after_ns": round(CANCEL_S * 1e9)}
MOMENTS = {
    BEFORE_HEAD: Moment(
        pace=functools.partial(stream, events=30, gap_s=0.02, before_s=HEAD_S),
        cancel=AFTER_A_WHILE,
    ),
    MID_STREAM: Moment(
        pace=functools.partial(stream, events=30, gap_s=0.02), cancel={"cancel_after_chunks": 3}
    ),
    WHOLE: Moment(pace=whole, cancel=AFTER_A_WHILE),
}
NGINX = "HTTP/1.1, nginx"
IGNORING = {"proxy_ignore_client_abort": "on"}
HTTP: list[tuple[str, str, dict[str, str] | None]] = [
    ("HTTP/1.1, direct", BEFORE_HEAD, None),
    ("HTTP/1.1, direct", MID_STREAM, None),
    (NGINX, BEFORE_HEAD, {}),
    (NGINX, MID_STREAM, {}),
    (f"{NGINX}, `proxy_buffering off`", MID_STREAM, {"proxy_buffering": "off"}),
    (f"{NGINX}, `proxy_ignore_client_abort on`", BEFORE_HEAD, IGNORING),
    (f"{NGINX}, `proxy_ignore_client_abort on`", MID_STREAM, IGNORING),
    (f"{NGINX}, `proxy_ignore_client_abort on`", WHOLE, IGNORING),
]


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with rpc_service() as started:
        yield started


def over_http(nginx: dict[str, str] | None, moment: Moment, folder: Path) -> list[str]:
    """When the server learnt of the cancel, and how its work ended."""
    with (
        paced_server(moment.pace) as server,
        nullcontext() if nginx is None else gateway(server.port, **nginx) as proxy,
    ):
        url = server.server.url if proxy is None else proxy.url
        seen = capture(url, folder, rows=[plan_row(**moment.cancel)])
        assert seen.only.state is ClientState.cancelled
        end = server.wait_for("cancelled", "finished")[0]["event"]
    ended_ns = seen.rows["cases-0001.A1"]["ended_ns"]
    noticed = [(row["t_ns"] - ended_ns) / 1e9 for row in server.of("front_disconnected")]
    late_s = noticed[0] if noticed else None
    return _row(late_s, stopped=end == "cancelled")


def over_rpc(service: Service, port: int, method: str, call: str) -> list[str]:
    asked = ask(port, call, seconds=0.6, timeout_s=5.0, method=method)
    service.wait_for("received", call)
    given_up_ns = time.monotonic_ns()
    asked.cancel()
    cancelled = service.wait_for("cancelled", call)
    ended = service.wait_for("work_ended", call)
    return _row((cancelled["t_ns"] - given_up_ns) / 1e9, stopped=not ended["finished"])


def _row(late_s: float | None, *, stopped: bool) -> list[str]:
    learnt = "never" if late_s is None else "at once" if late_s < SOON_S else "when it writes"
    return [learnt, "stopped" if stopped else "worked to the end"]


def through_nginx(service: Service, method: str, call: str) -> list[str]:
    with grpc_gateway(service.port) as proxy:
        return over_rpc(service, proxy.port, method, call)


RPC: dict[str, Callable[[Service], list[str]]] = {
    "gRPC, direct, the handler looks": lambda s: over_rpc(s, s.port, "Obedient", "looks"),
    "gRPC, direct, the handler does not look": lambda s: over_rpc(s, s.port, "Deaf", "deaf"),
    "gRPC, nginx, the handler looks": lambda s: through_nginx(s, "Obedient", "behind"),
}


@pytest.mark.req("8.08", "8.09")
def test_the_documented_cancels_are_the_measured_ones(tmp_path: Path, service: Service) -> None:
    measured = [
        [path, when, *over_http(nginx, MOMENTS[when], tmp_path / str(number))]
        for number, (path, when, nginx) in enumerate(HTTP)
    ]
    measured += [[path, "before the reply", *make(service)] for path, make in RPC.items()]

    assert measured == documented("How far a cancel travels")


@pytest.mark.req("8.03")
def test_behind_a_gateway_that_ignores_it_the_ledgers_part(tmp_path: Path) -> None:
    """The client's ledger says cancelled, the server's completed; the server worked on for nobody."""
    with paced_server(whole) as server, gateway(server.port, **IGNORING) as proxy:
        seen = capture(proxy.url, tmp_path, rows=[plan_row(**AFTER_A_WHILE)])
        server.wait_for("front_finished")

    document = seen.interpretation(server.events)

    assert document["ledger_counts"]["client"] == {ClientState.cancelled: 1}
    assert document["ledger_counts"]["server"] == {ServerState.completed: 1}
    (ghost,) = document["ghost_load"]
    # The reply takes 0.6 s, the client left 0.1 s after its send: half a second for nobody.
    assert ghost["total_ns"] is not None
    assert 0.4e9 < ghost["total_ns"] < 0.9e9
    checks = {c["check"]: c["result"] for c in document["cancel_checks"]}
    assert checks["cancel_received"] == "not evidenced"


@pytest.mark.forbids
@pytest.mark.req("8.09")
def test_a_cancel_that_the_framework_took_is_no_clean_up_of_the_application(
    service: Service,
) -> None:
    """gRPC itself ended the call at its deadline; the handler that never looks went on and finished."""
    call = ask(service.port, "late", seconds=0.6, timeout_s=0.2, method="Deaf")

    with pytest.raises(grpc.RpcError) as caught:
        call.result()

    assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    cancelled = service.wait_for("cancelled", "late")
    ended = service.wait_for("work_ended", "late")
    assert ended["finished"] is True
    assert ended["t_ns"] - cancelled["t_ns"] > 200_000_000  # 0.6 s of work, 0.2 s of it waited for
