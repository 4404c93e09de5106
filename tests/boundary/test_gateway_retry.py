"""A gateway that tries again by itself: one attempt of the client, two requests at the engines."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from runners.protocol.events import ClientState
from tests.boundary.captured import capture
from tests.boundary.nginx import gateway
from tests.boundary.paced import Recorded, paced_server, stream
from tests.runners.load.drives import plan_row
from tests.runners.load.servers import Exchange

pytestmark = pytest.mark.slow

RETRYING: Mapping[str, str] = {
    "proxy_read_timeout": "300ms",
    # nginx repeats no POST unless it is told to
    "proxy_next_upstream": "timeout non_idempotent",
}


async def silent_at_first(recorded: Recorded, exchange: Exchange) -> None:
    """The first request gets no head in time, any other one is answered at once."""
    slow = exchange.number == 0
    await stream(recorded, exchange, events=3, gap_s=0.02, before_s=2.0 if slow else 0.0)


@pytest.mark.req("8.04", "8.05", "8.19")
def test_both_deliveries_are_in_the_ledgers_and_the_difference_is_explained(
    tmp_path: Path,
) -> None:
    with (
        paced_server(silent_at_first) as server,
        gateway(server.port, server.port, **RETRYING) as proxy,
    ):
        seen = capture(proxy.url, tmp_path)
        server.wait_for("front_finished")
        (logged,) = proxy.access(count=1)

    document = seen.interpretation(server.events)

    assert seen.only.state is ClientState.completed
    assert seen.only.ids.retry_of is None
    assert len(server.of("front_received")) == 2
    assert logged["upstream_status"] == "504, 200"  # by nginx's own log: two tries
    states = [(r["state"], r["detail"]) for r in document["ledgers"]["server"]]
    assert [state for state, _ in states] == ["received", "cancelled", "received", "completed"]
    assert states[2][1] == "delivery 2 of this attempt: sent again on the way, not by the client"
    counted = document["reconciliation"]
    assert (counted["created"], counted["sent"], counted["received"]) == (1, 1, 1)
    assert counted["differences"] == [
        "deliveries exceed received by 1: sent again on the way, not by the client"
    ]


@pytest.mark.req("2.13", "8.16", "8.20")
def test_a_stale_connection_to_a_gateway_is_a_class_of_its_own_and_both_attempts_are_kept(
    tmp_path: Path,
) -> None:
    """nginx closes a kept connection after 100 ms, just when the client's next request is due on it.

    Who is first is a race by nature; fifty requests meet it (in a trial, 38 times).
    """

    async def quick(recorded: Recorded, exchange: Exchange) -> None:
        await stream(recorded, exchange, events=1, gap_s=0.0)

    rows = [plan_row(n, "load", slot=0) for n in range(1, 51)]
    with paced_server(quick) as server, gateway(server.port, keepalive_timeout="100ms") as proxy:
        seen = capture(
            proxy.url, tmp_path, rows=rows, think_time_s=0.1, retry={"count": 1, "backoff_s": 0.0}
        )

    stale = [a for a in seen.attempts.values() if a.state is ClientState.failed]
    assert stale
    for attempt in stale:
        assert (attempt.failure or "").startswith("connection_lost_reused: ")
        assert seen.rows[attempt.attempt_id]["connection_reused"] is True
        again = seen.attempts[attempt.attempt_id.replace(".A1", ".A2")]
        assert (again.ids.retry_of, again.state) == (attempt.attempt_id, ClientState.completed)
        assert seen.rows[again.attempt_id]["connection_reused"] is False
    assert len(seen.attempts) == len(rows) + len(stale)
    # The engine never saw those: the gateway had closed before it read them.
    received = {row["request"] for row in server.of("front_received")}
    assert received.isdisjoint(a.attempt_id for a in stale)
