"""Vectors and scores of the started engine, on the real model, against transformers' own forward pass."""

import math
from typing import Any

import pytest

from tests.runners.engines.torch.launched import MODEL, Engine, smollm2_file

pytestmark = pytest.mark.engine
TEXTS = [
    "The cat sleeps on the warm stone.",
    "A kitten naps in the sun.",
    "Quarterly revenue rose by four percent, the bank said in a statement on Tuesday.",
]
# Other matrix shapes do this to float32 sums through 30 layers; see test_real_model.py.
TOLERANCE = 1e-4


@pytest.fixture(scope="module")
def reference() -> list[list[float]]:
    """Mean of transformers' last hidden state over all tokens, one text at a time, of unit length."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    path = smollm2_file()
    torch.set_num_threads(1)
    tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    model = AutoModelForCausalLM.from_pretrained(
        path.parent,
        gguf_file=path.name,
        quantization_config=GgufConfig(dequantize=True),
        dtype=torch.float32,
    ).eval()
    vectors = []
    for text in TEXTS:
        ids = tokenizer(text, add_special_tokens=False, return_tensors="pt").input_ids
        with torch.inference_mode():
            mean = model.model(input_ids=ids).last_hidden_state[0].mean(dim=0)
        vectors.append([float(v) for v in mean / mean.norm()])
    return vectors


def cosine(u: list[float], v: list[float]) -> float:
    return sum(a * b for a, b in zip(u, v, strict=True))


def ask(engine: Engine, path: str, request: str, **body: Any) -> Any:
    status, answer = engine.ask("POST", path, {"model": MODEL, **body}, request=request)
    assert status == 200, answer
    return answer


@pytest.mark.slow
def test_an_embedding_is_the_mean_hidden_state_that_transformers_computes(
    engine: Engine, reference: list[list[float]]
) -> None:
    answer = ask(engine, "/v1/embeddings", "embed-1", input=TEXTS)

    for entry, wanted in zip(answer["data"], reference, strict=True):
        assert len(entry["embedding"]) == 576  # the model's hidden size
        assert math.hypot(*entry["embedding"]) == pytest.approx(1.0, abs=1e-9)
        worst = max(abs(a - b) for a, b in zip(entry["embedding"], wanted, strict=True))
        assert worst <= TOLERANCE


@pytest.mark.slow
def test_score_and_rerank_are_cosines_of_the_embeddings(
    engine: Engine, reference: list[list[float]]
) -> None:
    score = ask(engine, "/v1/score", "score-1", text_1=TEXTS[0], text_2=TEXTS[1:])
    rerank = ask(engine, "/v1/rerank", "rerank-1", query=TEXTS[0], documents=TEXTS[1:])

    wanted = [cosine(reference[0], other) for other in reference[1:]]
    assert [d["score"] for d in score["data"]] == pytest.approx(wanted, abs=TOLERANCE)
    assert [r["index"] for r in rerank["results"]] == [0, 1]  # the kitten is nearer than the bank
    by_index = {r["index"]: r["relevance_score"] for r in rerank["results"]}
    assert [by_index[0], by_index[1]] == pytest.approx(wanted, abs=TOLERANCE)


def test_a_scoring_call_leaves_the_events_that_ledgers_are_made_of(engine: Engine) -> None:
    answer = ask(engine, "/v1/rerank", "rerank-2", query=TEXTS[0], documents=TEXTS[1:])

    engine.wait_for("front_finished", "rerank-2")  # written after the reply is
    names = [row["event"] for row in engine.events(request="rerank-2")]
    for event in ("front_received", "queued", "scheduled", "finished", "front_finished"):
        assert names.count(event) == 1, names
    times = [
        engine.events(event, "rerank-2")[0]["t_ns"]
        for event in ("front_received", "queued", "scheduled", "finished", "front_finished")
    ]
    assert times == sorted(times)
    taken, released = (
        sum(row["blocks"] for row in engine.events(event, "rerank-2"))
        for event in ("kv_taken", "kv_released")
    )
    assert taken == released > 0
    queued = engine.events("queued", "rerank-2")[0]
    assert queued["sequences"] == 3
    assert queued["prompt_tokens"] == answer["usage"]["prompt_tokens"]
    assert (
        "mean of the last hidden state" in engine.get("/server_info")[1]["model_runner"]["pooling"]
    )


@pytest.mark.forbids
def test_a_bad_scoring_request_is_told_so_and_recorded(engine: Engine) -> None:
    body = {"model": MODEL, "input": "x", "dimensions": 8}
    status, answer = engine.ask("POST", "/v1/embeddings", body, request="embed-bad")

    assert status == 400
    assert answer["error"]["param"] == "dimensions"
    assert engine.events("rejected", "embed-bad")[0]["status"] == 400
    assert engine.events("queued", "embed-bad") == []


def test_a_client_that_goes_takes_its_texts_with_it(engine: Engine) -> None:
    long = "one two three four five six seven eight " * 100
    connection = engine.open({"input": [long] * 4}, path="/v1/embeddings", request="embed-gone")
    engine.wait_for("scheduled", "embed-gone")

    connection.close()

    cancelled = engine.wait_for("cancelled", "embed-gone")
    assert cancelled["tokens_out"] == 0
    assert engine.wait_for("kv_released", "embed-gone")["level"] == "blocks_reusable"
    assert engine.events("finished", "embed-gone") == []
