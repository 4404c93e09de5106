"""Five public models of the same job beside this one: every difference is known and has its reason."""

import json
from typing import Any

import pytest

from benchmarks.peers import side_by_side
from benchmarks.peers.side_by_side import Compared, compared, models, ours, peers, step_times

PEERS = peers()
REASONS: list[dict[str, Any]] = json.loads(
    (side_by_side.DATA / "differences.json").read_text(encoding="utf-8")
)
CONTEXT = 4096


def config(model: str) -> dict[str, Any]:
    path = side_by_side.CONFIGS / f"{model.replace('/', '__')}.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def theirs(peer: str, model: str) -> dict[str, Any]:
    return next(row for row in PEERS[peer]["rows"] if row["model"] == model)


def rows(peer: str) -> list[Compared]:
    return compared(peer, PEERS[peer])


@pytest.mark.parametrize("model", models())
def test_every_configuration_is_read_here(model: str) -> None:
    found = ours(model, peer="llm-viewer", context=CONTEXT)

    assert found["weight_bytes"] > 0
    assert found["bound_s.H200-SXM.32"] >= found["bound_s.H200-SXM.1"] > 0


@pytest.mark.parametrize("peer", PEERS)
def test_every_difference_has_its_reason_and_every_reason_a_difference(peer: str) -> None:
    explained = {
        (reason["quantity"], model)
        for reason in REASONS
        if reason["peer"] == peer
        for model in reason["models"]
    }

    differing = {(row.quantity, row.model) for row in rows(peer) if not row.agrees}

    assert differing == explained


def test_the_answers_cover_every_configuration_and_name_their_version() -> None:
    for answer in PEERS.values():
        assert {row["model"] for row in answer["rows"]} == set(models())
        assert answer.get("commit") or answer["version"]
        assert answer["context"] == CONTEXT


@pytest.mark.parametrize(
    "model", ["Qwen/Qwen3-0.6B", "google/gemma-2-9b-it", "mistralai/Mistral-Nemo-Instruct-2407"]
)
def test_head_dim_from_hidden_over_heads_gives_their_wrong_state(model: str) -> None:
    c = config(model)

    # 2 (K, V) x layers x KV heads x hidden/heads x 2 B; the configurations declare another head_dim
    guessed = 4 * c["num_hidden_layers"] * c["num_key_value_heads"] * (
        c["hidden_size"] // c["num_attention_heads"]
    )  # fmt: skip
    assert theirs("llm-viewer", model)["kv_bytes_per_token"] == guessed
    right = 4 * c["num_hidden_layers"] * c["num_key_value_heads"] * c["head_dim"]
    assert ours(model, peer="llm-viewer", context=CONTEXT)["kv_bytes_per_token"] == right


@pytest.mark.parametrize("model", ["meta-llama/Llama-3.1-8B", "Qwen/Qwen3-32B"])
def test_the_missing_output_head_makes_up_their_missing_flops(model: str) -> None:
    c = config(model)

    head = 2 * c["hidden_size"] * c["vocab_size"]
    mine = ours(model, peer="infersim", context=CONTEXT)["decode_flops"]

    assert theirs("infersim", model)["decode_flops"] + head == pytest.approx(mine, rel=0.002)


def test_experts_under_another_name_become_one_dense_layer() -> None:
    # num_local_experts is not looked for: FFN 3 x 4096 x 14336, attention 4096 x (2 x 4096 + 2 x 1024)
    layer = 3 * 4096 * 14336 + 4096 * (2 * 4096 + 2 * 1024)
    found = theirs("infersim", "mistralai/Mixtral-8x7B-v0.1")["weight_bytes"]

    assert found == pytest.approx(32 * layer * 2, rel=0.001)
    # eight experts and their gate: 32 x (8 x 3 x 4096 x 14336 + 4096 x 8 + attention) x 2 B = 93 GB
    mine = ours("mistralai/Mixtral-8x7B-v0.1", peer="infersim", context=CONTEXT)["weight_bytes"]
    assert mine > 6 * found


def test_a_fixed_state_that_they_spread_over_the_tokens_is_ours_to_the_byte() -> None:
    found = theirs("aiconfigurator", "Qwen/Qwen3.5-27B")["kv_bytes_per_token"]

    # 48 gated-delta-net layers: float32 state 150,994,944 B and convolution columns 2,949,120 B a sequence,
    # over 4,096 stored and 2 new tokens; 16 attention layers add 65,536 B a token
    assert (found - 65_536) * 4098 == pytest.approx(150_994_944 + 2_949_120, rel=1e-5)


@pytest.mark.req("13.01")
def test_binary_gigabytes_of_bandwidth_put_their_time_below_the_bound() -> None:
    # 3400 "GB/s" taken as 3400 x 2**30 B/s is 3651 GB/s: 9% more than the device has
    times = step_times("genz", PEERS["genz"])
    ratios = sorted(t.theirs / t.ours for t in times if "MoE" not in t.model)

    assert ratios[len(ratios) // 2] == pytest.approx(3350e9 / (3400 * 2**30), rel=0.01)
    assert sum(ratio < 0.99 for ratio in ratios) >= 0.9 * len(ratios)


def test_rooflines_with_the_same_bandwidth_agree_with_the_bound() -> None:
    # dense models without quantization: aiconfigurator's speed of light has the same 3,350 GB/s
    plain = {
        "meta-llama/Llama-3.1-8B",
        "Qwen/Qwen3-8B",
        "meta-llama/Llama-2-7b-hf",
        "Qwen/Qwen2.5-7B-Instruct",
    }
    times = [t for t in step_times("aiconfigurator", PEERS["aiconfigurator"]) if t.model in plain]

    assert len(times) == 2 * len(plain)
    for time in times:
        assert time.theirs == pytest.approx(time.ours, rel=0.02), time


def test_the_document_shows_these_very_tables() -> None:
    text = side_by_side.DOCUMENT.read_text(encoding="utf-8")

    assert side_by_side.written(text) == text
    assert "| llm-viewer |" in text
