"""Messages of a step: kinds, bytes one rank moves, frequency, accounts, times; routing payloads; pooled
memory."""

from dataclasses import replace
from typing import Any

import pytest

from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.parallel.messages import (
    Account,
    Link,
    Message,
    MessageKind,
    bytes_by_account,
    communication_s,
    message_times,
    state_transfer,
)
from assay.analysis.perfmodel.parallel.pooled_memory import PooledMemory
from assay.analysis.perfmodel.parallel.routing import (
    RoutingPayload,
    RoutingRecord,
    record_routing,
    routing_payload,
)

FAST = Link(alpha_s=6e-6, bytes_per_s=200e9, source="assumption")


def message(**fields: Any) -> Message:
    known: dict[str, Any] = {
        "what": "hidden vectors", "kind": MessageKind.ALL_REDUCE, "payload_bytes": 65536, "ranks": 8,
        "times": 64, "account": Account.IN_DOMAIN,
    }  # fmt: skip
    return Message(**(known | fields))


@pytest.mark.req("13.16")
def test_time_is_alpha_and_bytes_over_bandwidth_times_the_frequency() -> None:
    small, large = message(), message(payload_bytes=6_553_600)

    timed = message_times([small, large], {Account.IN_DOMAIN: FAST})

    # 2 x 7/8 x 65,536 = 114,688 B take 0.57344 us beside 6 us, 64 times
    assert small.moved_bytes == 114_688
    assert timed[0].seconds == pytest.approx(64 * 6.57344e-6)
    assert (timed[0].dominant, timed[1].dominant) == ("latency", "bandwidth")
    assert communication_s(timed) == pytest.approx(64 * (6.57344e-6 + 63.344e-6))


@pytest.mark.parametrize(
    ("kind", "moved"),
    [
        (MessageKind.ALL_REDUCE, 1500),
        (MessageKind.ALL_GATHER, 750),
        (MessageKind.ALL_TO_ALL, 750),
        (MessageKind.SEND, 1000),
    ],
)
def test_what_one_of_four_ranks_moves(kind: MessageKind, moved: float) -> None:
    assert message(kind=kind, payload_bytes=1000, ranks=4).moved_bytes == moved


@pytest.mark.req("12.12")
def test_bytes_stay_in_three_accounts() -> None:
    messages = [
        message(payload_bytes=1000, ranks=2, times=3),
        message(kind=MessageKind.SEND, account=Account.ACROSS_DOMAINS, payload_bytes=500, times=1),
        state_transfer(state_bytes=70_000, requests_per_step=0.1),
    ]

    assert bytes_by_account(messages) == {
        Account.IN_DOMAIN: 3000,
        Account.ACROSS_DOMAINS: 500,
        Account.REMOTE_STATE: pytest.approx(7000),
    }


def test_an_account_without_a_link_has_no_time() -> None:
    far = message(account=Account.ACROSS_DOMAINS)

    timed = message_times([message(), far], {Account.IN_DOMAIN: FAST})

    assert timed[1].seconds is None
    assert communication_s(timed) is None
    with pytest.raises(ModelRefused, match="no default for a link"):
        Link(alpha_s=1e-6, bytes_per_s=0, source="unknown")


@pytest.mark.req("10.24")
@pytest.mark.forbids
def test_a_payload_is_no_traffic_until_four_things_are_stated() -> None:
    payload = routing_payload(tokens=8, d_model=4096, element_bytes=2, chosen=2)
    stated = RoutingPayload(
        bytes=payload.bytes, cross_device_share=0.75, copies_per_choice=1.0, metadata_bytes=1024,
        batch_scope="per rank",
    )  # fmt: skip

    assert (payload.bytes, payload.label) == (262_144, "logical payload of one layer")
    assert len(payload.not_stated()) == 4
    with pytest.raises(ModelRefused, match="global or per-rank batch"):
        _ = payload.traffic_bytes
    assert stated.label == "bytes between devices of one layer"
    assert stated.traffic_bytes == 196_608 + 1024


@pytest.mark.req("10.25")
def test_a_routing_record_has_skew_capacity_and_lost_tokens_or_a_reason() -> None:
    found = record_routing([6, 2, 0, 0], capacity_factor=1.25, dropped_tokens=1, rerouted_tokens=0)

    # the busiest expert has 6 of a mean of 2
    assert (found.skew, found.capacity_factor) == (3.0, 1.25)
    assert (found.dropped_tokens, found.rerouted_tokens, found.missing) == (1, 0, None)
    assert RoutingRecord().skew is None
    assert "counts by expert" in str(RoutingRecord().missing)
    with pytest.raises(ModelRefused, match="counts"):
        record_routing([], capacity_factor=None, dropped_tokens=None, rerouted_tokens=None)


@pytest.mark.req("12.13")
@pytest.mark.forbids
def test_memory_of_a_rack_is_no_memory_without_a_price() -> None:
    link = Link(alpha_s=0.5, bytes_per_s=8.0, source="test")
    linked = PooledMemory(local_bytes=80, local_bytes_per_s=40.0, remote_bytes=560, link=link)

    assert linked.read_s(80) == 2.0
    assert linked.read_s(240) == 2.0 + 0.5 + 20.0  # 160 bytes come over the link
    with pytest.raises(ModelRefused, match="rack"):
        replace(linked, link=None).read_s(81)
    with pytest.raises(ModelRefused, match="does not fit"):
        linked.read_s(641)
