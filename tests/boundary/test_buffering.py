"""Where a streamed reply is held back: measured at both ends, through a real nginx."""

import functools
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from assay.analysis.stream_diagnosis import Place, StreamDiagnosis, diagnosis_of
from tests.boundary.captured import capture
from tests.boundary.document import documented
from tests.boundary.nginx import Gateway, gateway
from tests.boundary.paced import Recorded, paced_server, stream
from tests.runners.load.servers import Exchange

pytestmark = pytest.mark.slow

EVENTS, GAP_S = 30, 0.02
# About 210 bytes an event: one of these buffers holds four or five.
SMALL = {"proxy_buffer_size": "1k", "proxy_buffers": "4 1k", "proxy_busy_buffers_size": "2k"}
# path -> the gateway in it, or None
PATHS: dict[str, dict[str, str] | None] = {
    "direct": None,
    "nginx, `proxy_buffering off`, HTTP/1.1 to the engine": {"proxy_buffering": "off"},
    "nginx, `proxy_buffering off`, HTTP/1.0 to the engine": {
        "proxy_buffering": "off",
        "to_upstream": "1.0",
    },
    "nginx, `proxy_buffering on`, HTTP/1.1 to the engine": {"proxy_buffering": "on"},
    "nginx, `proxy_buffering on`, HTTP/1.0 to the engine": {
        "proxy_buffering": "on",
        "to_upstream": "1.0",
    },
}
WORDS: dict[tuple[Place, ...], str] = {
    (Place.nowhere,): "event by event",
    (Place.between,): "in steps",
}


@pytest.fixture(scope="module")
def even() -> Iterator[Recorded]:
    with paced_server(functools.partial(stream, events=EVENTS, gap_s=GAP_S, size=150)) as server:
        yield server


def through(settings: dict[str, str], port: int) -> AbstractContextManager[Gateway]:
    return gateway(port, **SMALL, **settings)


def diagnosis(server: Recorded, url: str, folder: Path) -> StreamDiagnosis:
    before = len(server.events)
    seen = capture(url, folder)
    assert seen.only.failure is None
    server.wait_for("front_finished", count=1)
    record = seen.record(server.events[before:])
    found = diagnosis_of(seen.only, record)
    assert isinstance(found, StreamDiagnosis), found
    return found


@pytest.mark.req("6.12", "6.13")
def test_the_documented_holding_points_are_the_measured_ones(
    even: Recorded, tmp_path: Path
) -> None:
    """The same even server on every path; HTTP/1.0 is what nginx speaks to it unless told otherwise."""
    measured = []
    for number, (path, settings) in enumerate(PATHS.items()):
        if settings is None:
            found = diagnosis(even, even.server.url, tmp_path / str(number))
        else:
            with through(settings, even.port) as proxy:
                found = diagnosis(even, proxy.url, tmp_path / str(number))
        assert found.server.pauses == 0
        measured.append([path, WORDS[found.places]])

    assert measured == documented("Where a reply is held back")


@pytest.mark.req("6.13")
def test_even_writes_with_a_stepped_client_view_point_to_the_gateway(
    even: Recorded, tmp_path: Path
) -> None:
    with through({"proxy_buffering": "on", "to_upstream": "1.0"}, even.port) as proxy:
        found = diagnosis(even, proxy.url, tmp_path)

    assert found.places == (Place.between,)
    assert found.server.per_arrival < 1.2
    assert found.client.per_arrival >= 3  # 1024 bytes hold four events of about 210


@pytest.mark.req("6.13")
def test_a_pause_in_the_servers_writes_points_upstream_also_behind_a_gateway(
    tmp_path: Path,
) -> None:
    async def pausing(recorded: Recorded, exchange: Exchange) -> None:
        await stream(
            recorded, exchange, events=20, gap_s=GAP_S, size=150, pause_s=0.4, pause_before=10
        )

    with paced_server(pausing) as server, gateway(server.port, proxy_buffering="off") as proxy:
        found = diagnosis(server, proxy.url, tmp_path)

    assert found.places == (Place.upstream,)
    assert found.server.longest_gap_ns >= 400_000_000
