"""A deadline crosses hosts as remaining time, so that their clocks need not agree."""

import re

import grpc
import pytest

from tests.boundary.nginx import grpc_gateway
from tests.boundary.rpc import ask, rpc_service

pytestmark = pytest.mark.slow

DAY_S = 86_400
TIMEOUT_S = 0.5


@pytest.mark.req("8.08")
@pytest.mark.parametrize("clock_ahead_s", [0, DAY_S], ids=["same clock", "a day ahead"])
def test_the_deadline_is_carried_as_remaining_time(clock_ahead_s: int) -> None:
    """A gateway in between reads the header off the wire; the callee's clock is a day ahead or not.

    A point in time would have passed a day ago for such a callee, and the call would end at once.
    """
    with rpc_service(clock_ahead_s=clock_ahead_s) as service, grpc_gateway(service.port) as proxy:
        call = ask(proxy.port, "a", seconds=5.0, timeout_s=TIMEOUT_S)
        with pytest.raises(grpc.RpcError) as caught:
            call.result()
        received = service.wait_for("received", "a")
        cancelled = service.wait_for("cancelled", "a")
        (logged,) = proxy.access(count=1)

    assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    # At most eight digits and a unit, by gRPC's protocol; here milliseconds, and no more than was given.
    header = re.fullmatch(r"(\d{1,8})([munSMH])", logged["grpc_timeout"])
    assert header is not None
    assert header[2] == "m"
    assert 300 < int(header[1]) <= 1000 * TIMEOUT_S
    assert 0.2 < received["remaining_s"] <= TIMEOUT_S
    # The callee's own clock measured the same half second.
    assert 0.2e9 < cancelled["t_ns"] - received["t_ns"] < 1.5e9
