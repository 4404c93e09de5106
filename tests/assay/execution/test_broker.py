"""The folder transport hands over whole messages, each to one taker."""

import json
from pathlib import Path

import pytest
from kombu import Connection

from assay.execution import broker


@pytest.fixture
def connection(tmp_path: Path) -> Connection:
    url, options = broker.install(tmp_path / "broker")
    broker.Transport.global_state.clear()  # kombu remembers bindings, and this folder is new
    return Connection(url, transport_options=options)


def test_messages_come_out_in_the_order_they_went_in(connection: Connection) -> None:
    with connection, connection.SimpleQueue("cpu") as queue:
        for number in range(3):
            queue.put({"n": number})
        seen = [queue.get(timeout=2) for _ in range(3)]
        for message in seen:
            message.ack()

    assert [m.payload["n"] for m in seen] == [0, 1, 2]


def test_a_message_goes_to_its_queue_alone(connection: Connection) -> None:
    with connection, connection.SimpleQueue("cpu") as cpu, connection.SimpleQueue("cuda") as cuda:
        cuda.put({"n": 1})

        assert cpu.qsize() == 0
        assert cuda.qsize() == 1


def test_a_half_written_message_is_not_seen(connection: Connection, tmp_path: Path) -> None:
    with connection, connection.SimpleQueue("cpu") as queue:
        # kombu's own transport would read this and stop its worker with a parse error
        (tmp_path / "broker" / "messages" / ".1_a.cpu.msg.partial").write_text('{"body": ')

        with pytest.raises(queue.Empty):
            queue.get(block=False)


def test_what_was_taken_leaves_no_file(connection: Connection, tmp_path: Path) -> None:
    with connection, connection.SimpleQueue("cpu") as queue:
        queue.put({"n": 1})
        queue.get(timeout=2).ack()

    left = [p for p in (tmp_path / "broker").rglob("*.msg*") if p.is_file()]
    assert left == []


def test_messages_are_json_and_never_pickles(connection: Connection, tmp_path: Path) -> None:
    with connection, connection.SimpleQueue("cpu") as queue:
        queue.put({"n": 1})
        (message,) = (tmp_path / "broker" / "messages").glob("*.cpu.msg")

    assert json.loads(message.read_text())["content-type"] == "application/json"
