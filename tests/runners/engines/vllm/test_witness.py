"""The middleware inside vLLM's API server stamps what its front end sees, and changes nothing."""

import asyncio
import json
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import pytest

from runners.engines.vllm import witness

Message = MutableMapping[str, Any]
HEAD: Message = {"type": "http.response.start", "status": 200, "headers": []}


def body(data: bytes, *, more: bool) -> Message:
    return {"type": "http.response.body", "body": data, "more_body": more}


async def _serve(
    app: Any, messages: list[Message], *, incoming: list[Message], headers: Any
) -> list[Message]:
    sent: list[Message] = []
    waiting = list(incoming)

    async def answer(scope: Message, receive: Any, send: Any) -> None:
        for _ in incoming:
            await receive()
        for message in messages:
            await send(message)

    async def receive() -> Message:
        return waiting.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    await app(answer)({"type": "http", "headers": headers}, receive, send)
    return sent


@pytest.fixture
def events_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "engine_events.jsonl"
    monkeypatch.setenv(witness.FILE, str(path))
    monkeypatch.setenv(witness.DOMAIN, "boot/ns/monotonic")
    return path


def seen(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def serve(
    *messages: Message,
    incoming: tuple[Message, ...] = (),
    request: bytes | None = b"load-0001.A1",
) -> list[Message]:
    headers = [] if request is None else [(b"x-request-id", request)]
    return asyncio.run(
        _serve(witness.Witness, list(messages), incoming=list(incoming), headers=headers)
    )


def test_a_stream_is_received_written_and_finished_as_it_came(events_file: Path) -> None:
    messages = (HEAD, body(b"abc", more=True), body(b"", more=False))

    sent = serve(*messages)

    assert sent == list(messages)
    rows = seen(events_file)
    assert rows[0]["event"] == "clock"
    assert (rows[0]["clock_domain"], rows[0]["process"]) == ("boot/ns/monotonic", "front")
    assert [(r["event"], r.get("bytes"), r.get("part")) for r in rows[1:]] == [
        ("front_received", None, None),
        ("front_written", None, "head"),
        ("front_written", 3, None),
        ("front_finished", None, None),
    ]
    assert {r["request"] for r in rows[1:]} == {"load-0001.A1"}
    times = [r["t_ns"] for r in rows]
    assert times == sorted(times)


@pytest.mark.parametrize(
    ("status", "event"), [(503, "rejected"), (429, "rejected"), (400, "rejected"), (500, "failed")]
)
def test_a_request_that_never_reached_the_engine_is_turned_away_by_name(
    events_file: Path, status: int, event: str
) -> None:
    serve({**HEAD, "status": status}, body(b"{}", more=False))

    (row,) = [r for r in seen(events_file) if r["event"] in ("rejected", "failed")]
    assert (row["event"], row["reason"]) == (event, f"status {status}")


def test_a_client_that_left_before_the_end_is_seen_once(events_file: Path) -> None:
    left: Message = {"type": "http.disconnect"}

    serve(HEAD, body(b"a", more=False), incoming=(left, left))

    events = [r["event"] for r in seen(events_file)]
    assert events.count("front_disconnected") == 1
    assert "front_finished" not in events


def test_questions_of_the_platform_itself_are_not_written_down(events_file: Path) -> None:
    serve(HEAD, body(b"a", more=False), request=None)

    assert [r["event"] for r in seen(events_file)] == ["clock"]
