"""The started engine over real sockets, on the real model."""

import http.client
import json
import time
from typing import Any

import pytest

from runners.protocol.clocks import clock_domain
from tests.runners.engines.torch import streams
from tests.runners.engines.torch.launched import MODEL, Engine

pytestmark = pytest.mark.engine
CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"
FRANCE = {
    "model": MODEL,
    "messages": [{"role": "user", "content": "What is the capital of France?"}],
    "max_tokens": 20,
}
STREAMED = {"stream": True, "stream_options": {"include_usage": True}, "return_token_ids": True}


def ask(engine: Engine, body: dict[str, Any], *, path: str = CHAT, request: str) -> Any:
    status, answer = engine.ask("POST", path, body, request=request)
    assert status == 200, answer
    return answer


def test_an_answer_in_one_piece(engine: Engine) -> None:
    answer = ask(engine, FRANCE | {"return_token_ids": True}, request="whole-1")

    choice = answer["choices"][0]
    assert choice["message"] == {"role": "assistant", "content": "The capital of France is Paris."}
    assert choice["finish_reason"] == "stop"
    assert choice["token_ids"][-1] == 2  # the end token is counted and has no text
    usage = answer["usage"]
    assert usage["completion_tokens"] == len(choice["token_ids"])
    assert usage["prompt_tokens"] == len(answer["prompt_token_ids"])
    assert answer["id"] == "chatcmpl-whole-1"


def test_a_streamed_answer_says_the_same_in_pieces(engine: Engine) -> None:
    whole = ask(engine, FRANCE | {"return_token_ids": True}, request="whole-2")

    body = ask(engine, FRANCE | STREAMED, request="stream-1")

    documents = streams.documents(body)
    assert documents[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert documents[0]["prompt_token_ids"] == whole["prompt_token_ids"]
    assert streams.text(body) == whole["choices"][0]["message"]["content"]
    assert streams.token_ids(body) == whole["choices"][0]["token_ids"]
    assert [c["finish_reason"] for c in streams.choices(body)][-1] == "stop"
    assert documents[-1]["choices"] == []
    assert documents[-1]["usage"] == whole["usage"]
    assert streams.is_done(body)


def test_completions_take_text_or_token_ids(engine: Engine) -> None:
    body = {"model": MODEL, "prompt": "Once upon a time", "max_tokens": 6, "return_token_ids": True}
    by_text = ask(engine, body, path=COMPLETIONS, request="completion-1")

    by_ids = ask(
        engine,
        body | {"prompt": by_text["prompt_token_ids"]} | STREAMED,
        path=COMPLETIONS,
        request="completion-2",
    )

    assert streams.text(by_ids) == by_text["choices"][0]["text"]
    assert streams.documents(by_ids)[0]["prompt_token_ids"] == by_text["prompt_token_ids"]
    assert by_text["choices"][0]["finish_reason"] == "length"


def test_a_seed_repeats_an_answer_in_any_company(engine: Engine) -> None:
    warm = FRANCE | {
        "temperature": 1.0,
        "top_p": 0.95,
        "seed": 42,
        "max_tokens": 12,
        "ignore_eos": True,
    }
    alone = ask(engine, warm, request="seed-1")["choices"][0]["message"]["content"]
    company = [
        engine.open(
            FRANCE | {"max_tokens": 40, "ignore_eos": True}, path=CHAT, request=f"company-{n}"
        )
        for n in range(3)
    ]
    engine.wait_for("first_token", "company-2")

    shared = ask(engine, warm, request="seed-2")["choices"][0]["message"]["content"]
    other = ask(engine, warm | {"seed": 43}, request="seed-3")["choices"][0]["message"]["content"]

    for connection in company:
        connection.close()
    assert shared == alone
    assert other != alone
    batches = [row for row in engine.events("iteration") if len(row["requests"]) > 1]
    assert any("seed-2" in {r["request"] for r in row["requests"]} for row in batches)


def test_a_stop_string_ends_the_answer_before_it(engine: Engine) -> None:
    body = ask(engine, FRANCE | STREAMED | {"stop": [" is Par"]}, request="stop-1")

    assert streams.text(body) == "The capital of France"
    assert streams.choices(body)[-1]["finish_reason"] == "stop"
    assert engine.events("finished", "stop-1")[0]["reason"] == "stop"


def test_ignore_eos_runs_to_the_cap(engine: Engine) -> None:
    answer = ask(engine, FRANCE | {"ignore_eos": True, "max_tokens": 12}, request="cap-1")

    assert answer["usage"]["completion_tokens"] == 12
    assert answer["choices"][0]["finish_reason"] == "length"


@pytest.mark.req("8.02", "8.04")
def test_both_processes_stamp_one_request_in_one_clock(engine: Engine) -> None:
    before = time.monotonic_ns()
    body = ask(engine, FRANCE | STREAMED, request="events-1")
    engine.wait_for("front_finished", "events-1")  # written after the client has its last byte
    after = time.monotonic_ns()
    rows = engine.events(request="events-1")

    names = [row["event"] for row in sorted(rows, key=lambda row: row["t_ns"])]
    assert names[0] == "front_received"
    assert names[-1] == "front_finished"
    order = [
        names.index(n) for n in ("front_received", "queued", "scheduled", "first_token", "finished")
    ]
    assert order == sorted(order)
    assert all(before < row["t_ns"] < after for row in rows)
    clocks = {row["process"]: row for row in engine.events("clock")}
    assert clocks.keys() == {"front", "loop"}
    assert {row["clock_domain"] for row in clocks.values()} == {clock_domain()}
    assert clocks["front"]["pid"] != clocks["loop"]["pid"]
    # the head, role chunk, a chunk a token, usage, [DONE]
    tokens = len(streams.token_ids(body))
    written = engine.events("front_written", "events-1")
    assert [row["chunk"] for row in written] == list(range(tokens + 4))
    assert sum(row["bytes"] for row in written if row["part"] == "body") == len(body.encode())
    assert len(engine.events("token", "events-1")) == tokens - 1
    in_steps = [
        entry
        for row in engine.events("iteration")
        for entry in row["requests"]
        if entry["request"] == "events-1"
    ]
    assert sum(entry["tokens_out"] for entry in in_steps) == tokens
    assert in_steps[0]["tokens_in"] == streams.documents(body)[-1]["usage"]["prompt_tokens"]


def test_no_content_is_in_the_event_log_or_the_engine_log(engine: Engine) -> None:
    body = FRANCE | {"messages": [{"role": "user", "content": "a zebra in Zanzibar"}]}
    answer = ask(engine, body, request="secret-1")["choices"][0]["message"]["content"]

    text = (engine.bundle / "engine_events.jsonl").read_text() + engine.log

    assert "Zanzibar" not in text
    assert answer not in text


@pytest.mark.req("8.10", "8.12")
@pytest.mark.parametrize("stream", [True, False])
def test_a_disconnect_frees_the_blocks_and_leaves_the_neighbour_alone(
    engine: Engine, stream: bool
) -> None:
    request, neighbour = f"gone-{stream}", f"stays-{stream}"
    long = FRANCE | {"max_tokens": 400, "ignore_eos": True, "stream": stream}
    other = engine.open(
        FRANCE | {"max_tokens": 30, "ignore_eos": True}, path=CHAT, request=neighbour
    )
    leaving = engine.open(long, path=CHAT, request=request)
    engine.wait_for("token", request, count=3)

    leaving.close()

    released = engine.wait_for("kv_released", request)
    cancelled = engine.events("cancelled", request)[0]
    gone = engine.events("front_disconnected", request)[0]
    # where and when the cancel was received, in both processes
    assert gone["t_ns"] <= cancelled["asked_ns"] <= cancelled["t_ns"] <= released["t_ns"]
    assert cancelled["phase"] == "decode"
    assert cancelled["tokens_out"] >= 3
    # no new work: no later step carries it
    later = [row for row in engine.events("iteration") if row["t_ns"] > cancelled["t_ns"]]
    assert all(request not in {r["request"] for r in row["requests"]} for row in later)
    # output suppressed: nothing is written after the disconnect was seen
    written = engine.events("front_written", request)
    assert all(row["t_ns"] <= gone["t_ns"] for row in written)
    # recycled, and to which level
    assert released["level"] == "blocks_reusable"
    assert released["blocks"] > 0
    engine.wait_for("finished", neighbour)
    other.close()
    assert engine.events("finished", neighbour)[0]["tokens_out"] == 30


@pytest.mark.req("8.11")
def test_a_request_cancelled_in_the_queue_is_never_scheduled(engine: Engine) -> None:
    filling = [
        engine.open(FRANCE | {"max_tokens": 60, "ignore_eos": True}, path=CHAT, request=f"fill-{n}")
        for n in range(8)
    ]
    engine.wait_for("scheduled", "fill-7")
    queued = engine.open(FRANCE, path=CHAT, request="queued-1")
    engine.wait_for("queued", "queued-1")

    queued.close()

    cancelled = engine.wait_for("cancelled", "queued-1")
    assert (cancelled["phase"], cancelled["tokens_out"]) == ("queued", 0)
    for connection in filling:
        connection.close()
    engine.wait_for("cancelled", "fill-7")
    assert engine.events("scheduled", "queued-1") == []
    assert engine.events("kv_taken", "queued-1") == []


@pytest.mark.forbids
def test_bad_requests_are_told_so_and_recorded(engine: Engine) -> None:
    cases = {
        "bad-json": (b"{", 400, "the body is not JSON"),
        "bad-model": (FRANCE | {"model": "gpt"}, 404, "'gpt' is not served here"),
        "bad-value": (FRANCE | {"temperature": 9}, 400, "temperature: 9"),
        "too-long": (FRANCE | {"max_tokens": 2048}, 400, "2085 tokens can never fit"),
    }
    for request, (body, wanted, message) in cases.items():
        status, answer = engine.ask("POST", CHAT, body, request=request)

        assert status == wanted
        assert message in answer["error"]["message"]
        assert engine.events("rejected", request)[0]["status"] == wanted
        assert engine.events("queued", request) == []
    status, answer = engine.get("/v1/nothing")
    assert status == 404
    assert "/v1/chat/completions" in answer["error"]["message"]


@pytest.mark.forbids
def test_an_id_in_flight_cannot_be_used_again(engine: Engine) -> None:
    first = engine.open(FRANCE | {"max_tokens": 60, "ignore_eos": True}, path=CHAT, request="twice")
    engine.wait_for("first_token", "twice")

    status, answer = engine.ask("POST", CHAT, FRANCE, request="twice")

    first.close()
    assert status == 409
    assert "'twice' is in flight" in answer["error"]["message"]


def test_version_models_and_server_info(engine: Engine) -> None:
    version = engine.get("/version")[1]
    assert (version["version"], version["engine"]) == ("2.13.0", "assay-torch")
    assert version["transformers"] == "5.24.0"
    assert len(version["build"]) == 64
    model = engine.get("/v1/models")[1]["data"][0]
    assert (model["id"], model["max_model_len"]) == (MODEL, 2048)

    info = engine.get("/server_info")[1]

    declared = engine.spec["engine"]["settings"]
    assert info["launch_configuration"]["settings"] == declared
    assert info["model"]["file_sha256"] == engine.spec["artifact"]["files"][0]["sha256"]
    assert info["attention_gemm_backend"]["attention"] == "assay_paged"
    assert info["precision_path"]["weight_tensors_by_dtype"] == {"float32": 274}
    assert info["hardware_runtime"]["torch_threads"] == declared["threads"]
    # 2 (K, V) x 3 heads x 64 x 30 layers x 4 bytes = 46080 bytes a token, 512 x 16 tokens
    assert info["kv_cache"]["tokens"] == 8192
    assert info["kv_cache"]["bytes_allocated"] == 46080 * 8192
    assert engine.events("config")[0]["kv_cache"] == info["kv_cache"]
    assert set(info["load_times"]) == {"weights_s", "kv_allocation_s", "warm_up_s"}


def test_metrics_move_with_what_happened(engine: Engine) -> None:
    def value(name: str) -> float:
        page = engine.get("/metrics")[1]
        line = next(line for line in page.splitlines() if line.startswith(f"assay_torch_{name} "))
        return float(line.rpartition(" ")[2])

    engine.wait_idle()
    names = ["generation_tokens_total", "prompt_tokens_total", 'requests_total{outcome="length"}']
    before = {name: value(name) for name in names}
    cancelled = value('requests_total{outcome="cancelled"}')
    answer = ask(engine, FRANCE | {"max_tokens": 5, "ignore_eos": True}, request="metrics-1")
    leaving = engine.open(
        FRANCE | {"max_tokens": 400, "ignore_eos": True, "stream": True},
        path=CHAT,
        request="metrics-2",
    )
    engine.wait_for("first_token", "metrics-2")
    assert value("requests_running") == 1
    assert value("kv_blocks_used") > 0
    leaving.close()
    engine.wait_for("kv_released", "metrics-2")
    engine.wait_idle()

    prompt = answer["usage"]["prompt_tokens"]
    assert value("prompt_tokens_total") - before["prompt_tokens_total"] == 2 * prompt
    assert value("generation_tokens_total") - before["generation_tokens_total"] >= 6
    ended = 'requests_total{outcome="length"}'
    assert value(ended) - before[ended] == 1
    assert value('requests_total{outcome="cancelled"}') - cancelled == 1
    assert (value("requests_running"), value("requests_waiting")) == (0, 0)
    assert (value("kv_blocks_used"), value("kv_blocks_total")) == (0, 512)
    assert value("iteration_duration_seconds_count") > 0


def test_memory_is_recorded_while_the_engine_is_idle(engine: Engine) -> None:
    seen = len(engine.events("memory"))
    time.sleep(2.5)

    rows = engine.events("memory")

    assert len(rows) >= seen + 2
    loop = [row for row in rows if row["process"] == "loop"]
    assert loop[-1]["kv_bytes_allocated"] == 46080 * 8192
    # weights of 538 MB and a cache of 377 MB are resident
    assert loop[-1]["rss_bytes"] > 538_060_288 + 46080 * 8192


def test_connections_are_kept_between_requests(engine: Engine) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", engine.port, timeout=30)
    for _ in range(2):
        connection.request("POST", CHAT, json.dumps(FRANCE | {"max_tokens": 1}))
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200
        assert answer.getheader("connection") != "close"
    connection.close()


@pytest.mark.req("7.11", "7.12", "7.14")
def test_a_profile_gives_a_trace_and_the_trace_gives_the_identity(engine: Engine) -> None:
    """Runs last in reading order; any order works, for nothing else is asked while it is taken."""
    from runners.engines.base import EvidenceContext
    from runners.engines.torch.adapter import ADAPTER
    from runners.engines.torch.trace_reader import shown

    engine.wait_idle()
    start, stop = ADAPTER.profile_start(), ADAPTER.profile_stop()
    assert start is not None
    assert stop is not None
    assert engine.ask(*stop)[0] == 409  # none is being taken
    status, refused = engine.ask("POST", "/start_profile", {"output_dir": "/etc"})
    assert status == 400
    assert 'output_dir: "/etc"' in refused["error"]["message"]
    assert engine.ask(*start)[0] == 200
    assert engine.ask(*start)[0] == 409
    ask(engine, FRANCE | {"max_tokens": 4, "ignore_eos": True}, request="profile-1")
    status, written = engine.ask(*stop)
    assert status == 200, written

    traced = shown(engine.bundle / "trace" / written["trace"], layers=30)
    # the prompt gives the first token, three decode steps the others: 4 steps of 30 layers
    assert len(traced.batches) == 4
    assert traced.counted is not None
    assert traced.counted.calls == 30 * 4
    assert (engine.bundle / "trace" / written["summary"]).exists()
    found = ADAPTER.identity(
        EvidenceContext(
            spec=engine.spec,
            bundle=engine.bundle,
            base_url=engine.plan.base_url,
            server_info=engine.get("/server_info")[1],
            version="2.13.0",
        )
    )
    items = {item["item"]: item for item in found}
    assert all(item["ran"] is not None for item in found)
    backend = items["attention_gemm_backend"]
    assert backend["strength"] == "trace"
    # seven products a layer and the output head, in each of four steps
    assert backend["ran"]["gemm_operators"] == {"aten::mm": (7 * 30 + 1) * 4}
    assert items["graph_compile_mode"]["ran"]["mode"] == "eager"
    assert set(items["precision_path"]["ran"]["gemm_inputs"]) == {'["float", "float"]'}
    pointer = items["engine_version"]["evidence"][0]["pointer"]
    assert pointer is not None
    line = engine.log.splitlines()[pointer["line"] - 1]
    assert "engine_version: {" in line
