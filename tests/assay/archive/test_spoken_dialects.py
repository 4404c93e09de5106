"""Responses and Messages from declaration to reading: planned, sent over HTTP, sealed, interpreted."""

from pathlib import Path
from typing import Any

import pytest

from assay.archive.interpretation import interpret
from experiments.schema.workload import Endpoint
from tests.assay.archive import written
from tests.runners.engines.openai_endpoint.declared import spec
from tests.runners.engines.openai_endpoint.performed import perform
from tests.runners.load.elsewhere import an_endpoint, served
from tests.runners.load.servers import HEAD_CHUNKED, LAST_CHUNK, Exchange, chunk, plain

STREAMS = Path(__file__).parents[2] / "data" / "fixtures" / "dialects"
# A server of each API: the members that it takes, and the stream that it answers with.
TAKES = {
    "/v1/responses": {"model", "input", "stream", "max_output_tokens", "temperature", "top_p"},
    "/v1/messages": {"model", "messages", "stream", "max_tokens", "temperature", "top_p"},
}


async def strict_server(exchange: Exchange) -> None:
    """As the real ones: an unknown member or a version that is not named is an error."""
    path = exchange.head.split(" ")[1]
    name = path.removeprefix("/v1/")
    unknown = set(exchange.document) - TAKES.get(path, set())
    if unknown or (name == "messages" and "anthropic-version" not in exchange.headers):
        await exchange.send(plain("400 Bad Request", f'{{"error":"{unknown}"}}'.encode()))
        return
    events = (STREAMS / f"{name}_text.sse").read_bytes().split(b"\n\n")[:-1]
    body = b"".join(chunk(event + b"\n\n") for event in events)
    await exchange.send(HEAD_CHUNKED + body + LAST_CHUNK)


@pytest.mark.parametrize(
    ("endpoint", "expected"),
    [
        # counts and words of the streams, as tests/assay/analysis/wire/test_dialects.py has them
        (
            Endpoint.responses,
            {"text": "Hi there! 推理 ready.", "usage": 11, "prompt": 37, "finish": "completed"},
        ),
        (
            Endpoint.messages,
            {"text": "Hello! 推理", "usage": 15, "prompt": 25, "finish": "end_turn"},
        ),
    ],
)
def test_a_stream_of_the_api_is_asked_for_and_read(
    endpoint: Endpoint, expected: dict[str, Any], tmp_path: Path
) -> None:
    with served(an_endpoint(strict_server)) as server:
        done = perform(spec(server.url, endpoint=endpoint, requests=2), tmp_path)

    assert done.answer["state"] == "sealed", done.errors
    reading = written.read(interpret(done.bundle, tmp_path / "derived").parent)
    assert [a["client_state"] for a in reading["attempts"]] == ["completed"] * 2
    for found in reading["attempts"]:
        assert (found["dialect"], found["dialect_by"]) == (endpoint.value, "declared")
        assert found["text"] == expected["text"]
        assert found["counts"]["usage"] == expected["usage"]
        assert found["prompt_tokens"] == expected["prompt"]
        assert found["finish_reason"] == expected["finish"]
        assert (found["metrics"]["ttft.first_content.client"]["value"] or 0) > 0
