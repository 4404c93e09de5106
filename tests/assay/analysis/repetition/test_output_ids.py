"""Token ids and logprobs of a reply, out of its raw response: streamed or whole, wherever reads were cut."""

import json
from typing import Any

import pytest

from assay.analysis.repetition.output_ids import Output, output_of
from tests.assay.analysis.recorded_engines import rows

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\ntransfer-encoding: chunked\r\n\r\n"


def streamed(*documents: Any, end: str = "data: [DONE]\n\n") -> bytes:
    body = "".join(f"data: {json.dumps(d)}\n\n" for d in documents) + end
    return HEAD % b"text/event-stream" + chunked(body.encode())


def chunked(body: bytes) -> bytes:
    return b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)


def choice(*ids: int, index: int = 0, logprobs: Any = None) -> dict[str, Any]:
    return {"choices": [{"index": index, "token_ids": list(ids), "logprobs": logprobs}]}


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_ids_are_joined_in_order_wherever_the_reads_were_cut(size: int) -> None:
    raw = streamed(choice(), choice(57), choice(5248, 18948))

    found = output_of([raw[n : n + size] for n in range(0, len(raw), size)])

    assert found.token_ids == {0: (57, 5248, 18948)}


def test_choices_are_kept_apart_and_both_forms_of_logprobs_are_read() -> None:
    chat = {"content": [{"token": "a", "logprob": -0.5}]}

    found = output_of(
        [
            streamed(
                choice(1, logprobs=chat), choice(2, index=1, logprobs={"token_logprobs": [-1.5]})
            )
        ]
    )

    assert found == Output(token_ids={0: (1,), 1: (2,)}, logprobs={0: (-0.5,), 1: (-1.5,)})


def test_a_whole_body_is_read_as_well() -> None:
    body = json.dumps(choice(4, 5)).encode()

    assert output_of([HEAD % b"application/json" + chunked(body)]).token_ids == {0: (4, 5)}


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\n\r\n{}",
        streamed({"choices": [{"index": 0, "delta": {"content": "x"}}]}),
        streamed({"choices": [{"index": 0, "token_ids": ["x"]}]}),
        streamed({"choices": "none"}),
        b"\x00\x01 no response",
    ],
)
def test_a_reply_that_tells_no_ids_has_none(raw: bytes) -> None:
    assert output_of([raw]).token_ids is None


def test_the_recorded_stream_with_ids_has_as_many_as_its_usage_says() -> None:
    recorded = rows("vllm-0.32.0-cpu", "http/r3_stream_token_ids")

    found = output_of([row["text"].encode() for row in recorded if row["kind"] == "read"])

    assert found.token_ids is not None
    assert len(found.token_ids[0]) == 16  # 34 prompt + 16 output tokens, finish reason length
