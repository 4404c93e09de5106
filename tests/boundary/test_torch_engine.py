"""The real torch engine on the real model behind a real nginx: one engine start for all tests here."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from assay.analysis.stream_diagnosis import Place, StreamDiagnosis, diagnosis_of
from runners.protocol.events import ClientState
from tests.boundary.captured import Capture, capture
from tests.boundary.document import documented
from tests.boundary.nginx import gateway
from tests.runners.engines.torch.launched import MODEL, Engine, launched, spec
from tests.runners.load.drives import plan_row

pytestmark = [pytest.mark.engine, pytest.mark.slow]
CHAT = "/v1/chat/completions"
LIMIT_S = 15.0
LONG = {
    "model": MODEL,
    "messages": [{"role": "user", "content": "Count."}],
    "max_tokens": 1500,
    "ignore_eos": True,
}
SMALL = {"proxy_buffer_size": "1k", "proxy_buffers": "4 1k", "proxy_busy_buffers_size": "2k"}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    declared = spec(max_request_s=LIMIT_S)
    with launched(tmp_path_factory.mktemp("behind-nginx"), declared) as started:
        yield started


def ask(url: str, folder: Path, number: int, tokens: int, **row: Any) -> Capture:
    rows = [plan_row(number, output_cap=tokens, **row)]
    return capture(url, folder, rows=rows, model=MODEL, timeouts={"total_s": 60.0})


@contextmanager
def one_nginx(engine: Engine, **settings: str) -> Iterator[str]:
    with gateway(engine.port, **SMALL, **settings) as proxy:
        yield proxy.url


@contextmanager
def two_nginx(engine: Engine) -> Iterator[str]:
    """The inner one takes the engine's chunks apart; to the outer one the body ends with the connection."""
    with (
        gateway(engine.port, proxy_buffering="off") as inner,
        gateway(inner.port, to_upstream="1.0", **SMALL) as outer,
    ):
        yield outer.url


PATHS: dict[str, Callable[[Engine], AbstractContextManager[str]]] = {
    "nginx, `proxy_buffering off`, HTTP/1.1 to the engine": partial(
        one_nginx, proxy_buffering="off"
    ),
    "nginx, `proxy_buffering on`, HTTP/1.0 to the engine": partial(one_nginx, to_upstream="1.0"),
    "two nginx, `proxy_buffering on` at the outer one, HTTP/1.0 between them": two_nginx,
}


@pytest.mark.req("6.12", "6.13")
def test_the_documented_holding_points_of_the_real_engine_are_the_measured_ones(
    engine: Engine, tmp_path: Path
) -> None:
    measured = []
    for number, (path, opened) in enumerate(PATHS.items(), start=1):
        with opened(engine) as url:
            seen = ask(url, tmp_path / str(number), number, tokens=16)
        engine.wait_for("front_finished", seen.only.attempt_id)
        assert seen.only.state is ClientState.completed
        record = seen.record(engine.events(request=seen.only.attempt_id))
        found = diagnosis_of(seen.only, record)
        assert isinstance(found, StreamDiagnosis), found
        # Whatever the machine did to the engine's own pace meanwhile is upstream, and not asked here.
        held = Place.between in found.places
        assert held is (found.client.per_arrival >= 2), found.evidence
        measured.append([path, "in steps" if held else "event by event"])

    assert measured == documented("The torch engine behind nginx")


@pytest.mark.req("8.08", "8.10")
@pytest.mark.parametrize(("ignores", "end"), [("off", "cancelled"), ("on", "finished")])
def test_when_the_engine_stops_computing_depends_on_the_gateway(
    engine: Engine, ignores: str, end: str
) -> None:
    """The client leaves before a reply in one piece: with ``on``, the engine computes it to the end."""
    request, body = f"leaves-{ignores}", {**LONG, "max_tokens": 12}
    with gateway(engine.port, proxy_ignore_client_abort=ignores) as proxy:
        asked = replace(engine, port=proxy.port).open(body, path=CHAT, request=request)
        engine.wait_for("first_token", request)
        asked.close()
        ended = engine.wait_for(end, request)

    assert (ended["tokens_out"] == 12) is (end == "finished")
    assert bool(engine.events("front_disconnected", request)) is (end == "cancelled")


@pytest.mark.req("8.03", "8.07")
def test_a_504_of_the_gateway_is_a_cancel_at_the_engine(engine: Engine) -> None:
    """Without a stream the head comes last, so that nginx gives up before it; the engine sees it go."""
    with gateway(engine.port, proxy_read_timeout="700ms") as proxy:
        status, page = replace(engine, port=proxy.port).ask("POST", CHAT, LONG, request="late-504")
        cancelled = engine.wait_for("cancelled", "late-504")

    assert status == 504
    assert "nginx" in page
    assert cancelled["reason"] == "client disconnected"
    assert cancelled["tokens_out"] < LONG["max_tokens"]


@pytest.mark.req("8.19")
def test_a_gateways_own_retry_is_two_requests_at_the_engine(engine: Engine) -> None:
    retrying = {
        "proxy_read_timeout": "700ms",
        "proxy_next_upstream": "timeout non_idempotent",
        "proxy_next_upstream_tries": "2",
    }
    with gateway(engine.port, engine.port, **retrying) as proxy:
        status, _ = replace(engine, port=proxy.port).ask("POST", CHAT, LONG, request="twice")
        engine.wait_for("front_received", "twice", count=2)
        (logged,) = proxy.access(count=1)

    assert len(engine.events("front_received", "twice")) == 2
    assert len(logged["upstream_status"].split(", ")) == 2
    assert status >= 400
    engine.wait_idle()


@pytest.mark.req("8.07")
def test_the_engines_own_limit_ends_a_request_by_itself(engine: Engine, tmp_path: Path) -> None:
    seen = ask(f"http://127.0.0.1:{engine.port}", tmp_path, 5, tokens=1500)
    name = seen.only.attempt_id
    failed = engine.wait_for("failed", name)
    queued = engine.wait_for("queued", name)
    engine.wait_for("front_finished", name)

    assert seen.only.state is ClientState.failed
    assert (seen.only.failure or "").startswith("timeout_server: the request timed out")
    assert failed["reason"] == f"time limit: max_request_s {LIMIT_S:g}"
    # Checked between two steps: late by at most one of them.
    assert LIMIT_S * 1e9 < failed["t_ns"] - queued["t_ns"] < (LIMIT_S + 2) * 1e9
    held = sum(row["blocks"] for row in engine.events("kv_taken", name))
    given = sum(row["blocks"] for row in engine.events("kv_released", name))
    assert held == given > 0
    document = seen.interpretation(engine.events(request=name))
    assert document["ledger_counts"]["server"] == {"failed": 1}
