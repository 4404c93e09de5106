import json
from pathlib import Path
from typing import Any

import pytest
import uvloop

from runners.load.driver import drive
from runners.load.recorder import Recorder
from runners.load.requests import PreparedRequest, parse_target, prepare
from runners.protocol.errors import EnvironmentLacks, Refused
from runners.protocol.segment_writer import SegmentWriter
from tests.runners.load.drives import PROMPTS, drive_against, load_of, plan_row, read_back
from tests.runners.load.servers import Exchange, answer, answers_well, chunk, event, serving

SECRET = "sk-very-secret-0123456789"


def prepared(*rows: dict[str, Any], url: str = "http://127.0.0.1:8000", **options: Any) -> Any:
    requests = prepare(rows, PROMPTS, target=parse_target(url), model="smol", reuse=True, **options)
    return requests[0]


def parts(request: PreparedRequest) -> tuple[str, dict[str, str], dict[str, Any]]:
    head, _, body = request.payload("load-0001.A1").partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in lines)}
    assert int(headers["content-length"]) == len(body)
    return first, headers, json.loads(body)


@pytest.mark.req("5.14")
def test_a_chat_request_carries_the_messages_and_the_whole_generation_config() -> None:
    row = plan_row(sampling_seed=7, temperature=0.5, top_p=0.9, top_k=40, stop=["\n"])

    first, headers, body = parts(prepared(row))

    assert first == "POST /v1/chat/completions HTTP/1.1"
    assert headers["host"] == "127.0.0.1:8000"
    assert headers["x-request-id"] == "load-0001.A1"
    assert body == {
        "messages": [{"content": "hé", "role": "user"}],
        "model": "smol",
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_token_ids": True,
        "max_tokens": 16,
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": 40,
        "seed": 7,
        "stop": ["\n"],
        "ignore_eos": True,
    }


def test_what_is_not_declared_is_left_out_rather_than_sent_as_null() -> None:
    row = plan_row(temperature=None, ignore_eos=None)

    _, _, body = parts(prepared(row, return_token_ids=False))

    assert {"temperature", "seed", "stop", "top_k", "ignore_eos", "return_token_ids"}.isdisjoint(
        body
    )


def test_a_completions_request_carries_the_token_ids_the_plan_counted() -> None:
    first, _, body = parts(prepared(plan_row(endpoint="completions")))

    assert first == "POST /v1/completions HTTP/1.1"
    assert body["prompt"] == [1, 4093, 198]
    assert "messages" not in body


@pytest.mark.parametrize(
    ("url", "first", "host"),
    [
        ("http://h:80/v1/", "POST /v1/chat/completions HTTP/1.1", "h"),
        ("https://h/proxy/v1", "POST /proxy/v1/chat/completions HTTP/1.1", "h"),
        ("http://[::1]:8000", "POST /v1/chat/completions HTTP/1.1", "[::1]:8000"),
    ],
)
def test_a_base_url_may_end_in_v1_and_have_a_prefix(url: str, first: str, host: str) -> None:
    line, headers, _ = parts(prepared(plan_row(), url=url))

    assert (line, headers["host"]) == (first, host)


@pytest.mark.parametrize("url", ["127.0.0.1:8000", "ftp://h", "http://", "http://h:99999"])
def test_a_base_url_that_is_none_is_refused_by_name(url: str) -> None:
    with pytest.raises(Refused, match="base_url"):
        parse_target(url)


@pytest.mark.parametrize(
    "change", [{"call_type": "chat"}, {"endpoint": "generate"}, {"prompt_ref": "gone"}]
)
def test_a_row_that_cannot_be_sent_is_refused_with_its_request_and_field(
    change: dict[str, Any],
) -> None:
    (name,) = change

    with pytest.raises(Refused, match=rf"plan cases-0001\.{name}: {change[name]}"):
        prepared(plan_row(**change))


@pytest.mark.req("1.06")
@pytest.mark.parametrize(
    ("call_type", "endpoint", "allowed"),
    [
        ("rerank", "chat", "rerank"),
        ("score", "completions", "score"),
        ("embedding", "rerank", "embeddings"),
        ("generation", "embeddings", "chat, completions, responses, messages"),
    ],
)
def test_a_call_of_one_type_is_never_sent_to_the_endpoint_of_another(
    call_type: str, endpoint: str, allowed: str
) -> None:
    row = plan_row(request_id="load-0002", call_type=call_type, endpoint=endpoint)

    with pytest.raises(
        Refused, match=rf"load-0002\.endpoint: {endpoint} \(allowed: {allowed}, for"
    ):
        prepared(row)


@pytest.mark.parametrize(
    ("call_type", "endpoint", "path", "members"),
    [
        ("embedding", "embeddings", "/v1/embeddings", {"input": ["a", "b"]}),
        ("rerank", "rerank", "/v1/rerank", {"query": "q", "documents": ["a", "b"]}),
        ("score", "score", "/v1/score", {"text_1": "q", "text_2": ["a", "b"]}),
    ],
)
def test_a_scoring_call_holds_its_texts_and_asks_for_no_stream(
    call_type: str, endpoint: str, path: str, members: dict[str, Any]
) -> None:
    row = plan_row(call_type=call_type, endpoint=endpoint, prompt_ref="s", output_cap=0)
    prompt = {"prompt_ref": "s", "messages": json.dumps(members), "token_ids": [1, 2]}

    (request,) = prepare(
        [row], {"s": prompt}, target=parse_target("http://h"), model="m", reuse=True
    )

    head, _, body = request.payload("a-1").partition(b"\r\n\r\n")
    assert head.startswith(f"POST {path} HTTP/1.1\r\n".encode())
    assert b"Accept: application/json\r\n" in head
    assert f"Content-Length: {len(body)}\r\n".encode() in head
    form = {"encoding_format": "float"} if call_type == "embedding" else {}
    assert json.loads(body) == {**members, "model": "m", **form}


def test_messages_are_shared_between_requests_with_the_same_prompt() -> None:
    one, two = prepare(
        [plan_row(1), plan_row(2)],
        PROMPTS,
        target=parse_target("http://h"),
        model="m",
        reuse=True,
    )

    assert one.body[1] is two.body[1]


def test_the_key_goes_to_the_server_and_into_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_TEST_KEY", SECRET)

    outcome = drive_against(answers_well, tmp_path, authorization_env="ASSAY_TEST_KEY")

    assert outcome.server.exchanges[0].headers["authorization"] == f"Bearer {SECRET}"
    files = [p for p in tmp_path.rglob("*") if p.is_file()]
    assert len(files) >= 4
    assert not [p for p in files if SECRET.encode() in p.read_bytes()]
    assert SECRET not in repr(outcome.report)
    assert SECRET not in repr(prepared(plan_row(), authorization_env="ASSAY_TEST_KEY"))


def test_an_unset_key_is_named_by_its_variable_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASSAY_TEST_KEY", raising=False)

    with pytest.raises(EnvironmentLacks, match="ASSAY_TEST_KEY is not set"):
        prepared(plan_row(), authorization_env="ASSAY_TEST_KEY")


@pytest.mark.parametrize("value", [f"{SECRET}\r\nX-Evil: 1", "schlüssel"])
def test_a_key_that_would_break_the_head_is_refused_without_showing_it(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_TEST_KEY", value)

    with pytest.raises(EnvironmentLacks) as caught:
        prepared(plan_row(), authorization_env="ASSAY_TEST_KEY")

    assert value not in str(caught.value)


async def echoes_the_key(exchange: Exchange) -> None:
    await exchange.send(answer([exchange.headers["authorization"]]))


def test_a_key_that_the_server_echoes_can_be_rewritten_before_it_is_kept(tmp_path: Path) -> None:
    # The recorder takes the rewriting as a function over rows; it runs on the writer thread.
    def redact(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        mark = b"*" * len(SECRET)
        return [(a, t, data.replace(SECRET.encode(), mark)) for a, t, data in rows]

    async def main() -> None:
        async with serving(echoes_the_key) as server:
            await drive(
                [plan_row()],
                PROMPTS,
                base_url=server.url,
                model="m",
                load=load_of(),
                recorder=recorder,
                authorization_env="ASSAY_TEST_KEY",
            )

    writer = SegmentWriter(tmp_path / "segments", limit_bytes=2**20)
    recorder = Recorder(writer, redact_wire=redact)
    writer.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_TEST_KEY", SECRET)
        uvloop.run(main())
    writer.close()

    _, reads = read_back(tmp_path)
    body = b"".join(data for _, data in reads["cases-0001.A1"])
    assert chunk(event("Bearer " + "*" * len(SECRET))) in body
    assert not [p for p in tmp_path.rglob("*") if p.is_file() and SECRET.encode() in p.read_bytes()]
