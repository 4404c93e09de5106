"""``assay predict``: operators, layers, expert lists, layouts, memory, tables and open hypotheses."""

import json
import time
from typing import Any

import pytest

from assay.cli.main import main
from tests.assay.analysis.perfmodel.structures import CONFIGS

LLAMA = str(CONFIGS / "meta-llama__Llama-3.1-8B.json")
MIXTRAL = str(CONFIGS / "mistralai__Mixtral-8x7B-v0.1.json")
DEEPSEEK = str(CONFIGS / "deepseek-ai__DeepSeek-V3.json")


def answer(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    assert main(["predict", "--json", *options]) == 0
    return dict(json.loads(capsys.readouterr().out))


@pytest.mark.req("10.07", "13.06", "13.12")
def test_every_operator_has_work_bytes_intensity_and_its_bound(
    capsys: pytest.CaptureFixture[str],
) -> None:
    decode = answer(capsys, "--config", LLAMA, "--device", "H100", "--batch", "64")["decode"]
    rows = {row["name"]: row for row in decode["operators"]}

    assert sum(row["bound_s"] for row in rows.values()) == pytest.approx(decode["bound_s"])
    assert sum(row["share_of_bound"] for row in rows.values()) == pytest.approx(1)
    assert sum(row["useful_flops"] for row in rows.values()) == decode["flops"]
    assert {row["memory_level"] for row in rows.values()} == {"HBM3"}
    # float32 logits of 64 x 128,256, written and read, stand apart from what a bound counts
    assert rows["sampling"]["activation_bytes"] == 2 * 64 * 128256 * 4
    assert (rows["sampling"]["bytes"], rows["sampling"]["bound_s"]) == (0, 0)
    # 2 x 64 FLOP an element of 2 B
    assert rows["q_proj"]["intensity_flops_per_byte"] == pytest.approx(64)


@pytest.mark.req("13.17", "13.18")
def test_shares_give_upper_limits_with_their_assumptions(
    capsys: pytest.CaptureFixture[str],
) -> None:
    decode = answer(capsys, "--config", LLAMA, "--device", "H100")["decode"]
    (head,) = [row for row in decode["operators"] if row["name"] == "head"]
    share, limits = head["share_of_bound"], head["amdahl"]

    assert limits["speed_up_if_twice_as_fast"] == pytest.approx(1 / (1 - share / 2))
    assert limits["latency_reduction_if_twice_as_fast"] == pytest.approx(share / 2)
    assert limits["speed_up_if_free"] == pytest.approx(1 / (1 - share))
    text = " ".join(decode["amdahl_assumptions"])
    assert "exclude each other" in text
    assert "all other stages stay" in text
    assert "upper limits" in text


def test_layers_of_a_kind_add_up_to_the_step(capsys: pytest.CaptureFixture[str]) -> None:
    decode = answer(capsys, "--config", DEEPSEEK, "--device", "H200", "--batch", "8")["decode"]
    rows = {row["name"]: row["bytes"] for row in decode["operators"]}

    assert [(r["mixer"], r["feed_forward"], r["count"]) for r in decode["layers"]] == [
        ("mla", "dense", 3), ("mla", "moe", 58),
    ]  # fmt: skip
    inside = sum(row["count"] * row["bytes"] for row in decode["layers"])
    assert inside == pytest.approx(decode["bytes"] - rows["embedding"] - rows["head"])


@pytest.mark.req("10.08", "10.12")
def test_a_prefix_hit_runs_only_what_is_new(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--config", LLAMA, "--context", "4096", "--device", "H100"]
    whole = answer(capsys, *options)["prefill"]
    hit = answer(capsys, *options, "--reused-tokens", "3072")["prefill"]
    chunked = answer(capsys, *options, "--chunk-tokens", "1024")["prefill"]

    assert (hit["tokens"], hit["reused_tokens"], hit["unreused_tokens"]) == (4096, 3072, 1024)

    def attention(prefill: dict[str, Any]) -> int:
        (row,) = [row for row in prefill["operators"] if row["name"] == "attention"]
        return int(row["useful_flops"])

    # U H + U (U + 1) / 2 = 1024 x 3072 + 1024 x 1025 / 2 pairs of 4 x 32 x 128 FLOP in 32 layers
    assert attention(hit) == (1024 * 3072 + 1024 * 1025 // 2) * 4 * 32 * 128 * 32
    # work is the same in chunks, weights are read once a chunk, so the bound is no smaller
    assert chunked["steps"] == 4
    assert chunked["flops"] == whole["flops"]
    assert chunked["bytes_by"]["weights"] > 3 * whole["bytes_by"]["weights"]
    assert chunked["bound_s"] >= whole["bound_s"]


@pytest.mark.req("10.23", "10.24", "10.25", "13.34")
def test_experts_stand_in_three_lists(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "--config", MIXTRAL, "--batch", "4")
    experts = found["experts"]

    active = found["parameters"]["active_definitions"]["active_without_input_embedding"]
    assert experts["compute"]["flops_per_token"] == 2 * active
    assert experts["storage"]["bytes"] == found["weights"]["bytes"]
    assert experts["storage"]["total_parameters"] == found["parameters"]["total"]
    # 2 x 4 tokens x 4096 x 2 B x 2 experts
    assert experts["transfer"]["bytes_per_layer"] == 131072
    assert experts["transfer"]["label"] == "logical payload of one layer"
    assert "metadata and padding" in experts["transfer"]["not_stated"]
    # 8 (1 - (3/4)^4) = 5.46875 experts
    (layer,) = experts["layers"]
    assert (layer["count"], layer["experts_read"]) == (32, 5.46875)
    assert "independent uniform routing" in experts["label"]
    assert set(experts["recorded"]) >= {
        "skew", "capacity_factor", "dropped_tokens", "rerouted_tokens",
    }  # fmt: skip
    assert experts["recorded"]["skew"] is None
    assert "counts by expert" in experts["recorded"]["missing"]
    assert "dense model of that size" in experts["note"]


def test_counted_experts_replace_the_expected_union(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--config", MIXTRAL, "--batch", "4"]
    expected, counted = (
        answer(capsys, *options, *more)["decode"]["bytes_by"]["weights"]
        for more in ((), ("--experts-touched", "2"))
    )

    # 32 layers x 3.46875 experts less of 3 x 4096 x 14336 x 2 B
    assert expected - counted == pytest.approx(32 * 3.46875 * 3 * 4096 * 14336 * 2)


def test_a_dense_model_has_no_expert_lists(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(capsys, "--config", LLAMA)["experts"] is None


@pytest.mark.req("12.12", "12.14", "13.16")
def test_a_layout_lists_ranks_messages_and_accounts(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--config", LLAMA, "--device", "H100", "--tp", "8", "--batch", "8"]
    silent = answer(capsys, *options)["parallel"]
    linked = answer(capsys, *options, "--link-alpha-us", "6")["parallel"]

    (rank,) = linked["ranks"]
    assert rank["state_bytes_per_sequence"] == 4096 * 131072 // 8
    assert rank["layers"] == [0, 31]
    assert linked["bytes_by_account"].keys() == {"in domain", "across domains", "remote state"}
    assert linked["communication_s"] > 0
    assert "NVLink" in linked["links"]["in domain"]["source"]
    assert linked["messages"][0]["dominant"] == "latency"
    assert linked["tokens_per_s_at_most"] > 0
    # without the links' fixed times there are bytes but no rate
    assert silent["tokens_per_s_at_most"] is None
    assert silent["communication_s"] is None
    assert "device count times one rate is no answer" in silent["missing"]


@pytest.mark.req("12.08", "12.09", "12.10")
def test_memory_has_phases_reasons_a_grant_and_a_way_back(
    capsys: pytest.CaptureFixture[str],
) -> None:
    memory = answer(
        capsys, "--config", LLAMA, "--device", "RTX-4090", "--utilization", "0.9",
        "--remainder-bytes", "1238000000", "--storage-gb-per-s", "2", "--host-link-gb-per-s", "20",
    )["memory"]  # fmt: skip

    pool = memory["granted"]["pool_bytes"]
    assert memory["granted"]["blocks"] == pool // (16 * 131072)
    assert memory["phases"]["load"]["allocated"] == 16_060_522_496
    assert memory["phases"]["steady"]["allocated"] == 16_060_522_496 + pool
    assert memory["phases"]["warm_up"]["allocated"] is None
    assert "profiling run" in memory["phases_missing"]["warm_up"]["allocated"]
    assert memory["phases_missing"]["steady"].keys() == {"reserved", "device"}
    assert [leg["value"] for leg in memory["residency"]["recovery"]] == pytest.approx(
        [8.030261248, 0.8030261248]
    )


@pytest.mark.req("10.16", "10.17", "10.22")
def test_the_state_ledger_has_three_columns_an_entry(capsys: pytest.CaptureFixture[str]) -> None:
    state = answer(capsys, "--config", DEEPSEEK)["state"]

    (entry,) = state["entries"]
    assert entry["logical"]["bytes"] == 4096 * 70272
    assert (entry["layout"]["bytes"], entry["measured"]["bytes"]) == (None, None)
    assert {"kind", "growth", "sharing", "recomputation", "place"} <= set(entry)
    assert any("multi-token-prediction" in line for line in state["excluded"])


@pytest.mark.req("13.29")
def test_tables_redraw_the_figures_and_say_that_they_are_formulas(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = answer(
        capsys, "--config", LLAMA, "--device", "H100", "--batches", "1,64", "--contexts", "512,8192"
    )

    for drawn in (found["sweep"], found["decode"]["roofline"]):
        assert drawn["label"] == "drawn from formulas; nothing here was measured"
        assert {"m_rows", "flops", "bytes", "roof_flops_per_s"} <= set(drawn["columns"])
        assert all(
            len(row) == len(drawn["columns"]) == len(drawn["units"]) for row in drawn["rows"]
        )
    points = [
        dict(zip(found["sweep"]["columns"], row, strict=True)) for row in found["sweep"]["rows"]
    ]
    assert [(p["batch"], p["context_tokens"]) for p in points] == [
        (1, 512), (1, 8192), (64, 512), (64, 8192),
    ]  # fmt: skip
    assert points[3]["state_bytes"] == 64 * 8193 * 131072
    assert points[0]["roof_flops_per_s"] == pytest.approx(
        points[0]["intensity_flops_per_byte"] * 3350e9
    )


@pytest.mark.req("13.15", "13.31")
def test_the_ridge_batch_is_no_optimum_and_activations_move_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ridge = answer(capsys, "--config", LLAMA, "--device", "H100")["decode"]["ridge"]

    # I = B for 2 B weights: 989.4 / 3.35 = 295.3, so 296 by weights alone
    assert ridge["batch_weights_only"] == 296
    assert ridge["batch_with_activations"] > 296
    assert "not an optimal batch" in ridge["label"]


@pytest.mark.req("10.34")
def test_a_bound_names_no_bottleneck(capsys: pytest.CaptureFixture[str]) -> None:
    phases = answer(capsys, "--config", LLAMA, "--device", "H100")["hypotheses"]

    for phase, points_at in (("decode", "memory"), ("prefill", "compute")):
        assert phases[phase]["bound_points_at"] == points_at
        assert phases[phase]["named"] is None
        assert len(phases[phase]["hypotheses"]) >= 2
        assert phases[phase]["deciding_measurements"]


def test_the_form_of_latent_attention_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "--config", DEEPSEEK, "--context", "2048")

    def form(phase: str) -> str | None:
        (row,) = [r for r in found[phase]["operators"] if r["name"] == "attention_latent"]
        return None if row["form"] is None else str(row["form"])

    assert (form("decode"), form("prefill")) == ("absorbed", "expanded")


def test_thirty_two_points_take_a_fifth_of_a_second(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--config", DEEPSEEK, "--device", "H200", "--batches", "1,2,4,8,16,32,64,128",
               "--contexts", "1024,4096,16384,65536"]  # fmt: skip
    answer(capsys, *options)  # imports are paid for once

    start = time.process_time()
    found = answer(capsys, *options)

    assert len(found["sweep"]["rows"]) == 32
    assert time.process_time() - start < 0.2


def test_the_table_shows_operators_experts_and_ranks(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--config", DEEPSEEK, "--device", "H200", "--dp", "8", "--ep", "8"]

    assert main(["predict", *options]) == 0

    text = capsys.readouterr().out
    assert "attention_latent" in text
    assert "logical payload of one layer" in text
    assert "all-to-all" in text
    assert "no rate:" in text


@pytest.mark.req("12.12")
def test_moved_state_has_an_account_and_a_link_of_its_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    parallel = answer(
        capsys, "--config", LLAMA, "--remote-alpha-us", "20", "--remote-gb-per-s", "50"
    )["parallel"]

    # 4096 tokens x 131,072 B over 50 GB/s and 20 us
    moved = parallel["state_transfer"]
    assert (moved["account"], moved["payload_bytes"]) == ("remote state", 536_870_912)
    assert moved["seconds"] == pytest.approx(20e-6 + 536_870_912 / 50e9)
    assert parallel["bytes_by_account"]["remote state"] == 0  # it is no part of a step


def test_an_engine_grants_blocks_on_every_rank(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(
        capsys, "--config", str(CONFIGS / "mistralai__Mistral-Nemo-Instruct-2407.json"),
        "--device", "H100", "--tp", "2", "--utilization", "0.9", "--remainder-bytes", "1300000000",
        "--total-bytes", "85061842370",
    )["parallel"]  # fmt: skip

    (rank,) = found["ranks"]
    # vLLM granted 48,009 blocks (H100 80GB, TP 2); 79.22 GiB is the total its log prints for such a card
    free = int(85_061_842_370 * 0.9) - rank["weight_bytes"] - 1_300_000_000
    assert rank["granted_blocks"] == free // (16 * 81920) == 48070


@pytest.mark.req("10.21")
def test_an_executed_format_that_differs_from_the_files_is_a_gap(
    capsys: pytest.CaptureFixture[str],
) -> None:
    as_stored = answer(capsys, "--config", LLAMA)["formats"][0]
    widened = answer(capsys, "--config", LLAMA, "--weight-dtype", "float32")["formats"][0]

    assert (as_stored["budget_format"], as_stored["gap"]) == ("bfloat16", None)
    assert "nothing has run yet" in as_stored["budget_basis"]
    assert (widened["designed"], widened["budget_format"]) == ("bfloat16", "float32")
    assert "executed as float32" in widened["gap"]["what"]


@pytest.mark.req("11.09")
@pytest.mark.parametrize(
    ("config", "kind"),
    [(LLAMA, "gqa_kv_cache"), (DEEPSEEK, "latent_kv_cache")],
    ids=["classic", "current"],
)
def test_a_classic_and_a_current_structure_each_have_a_ledger(
    config: str, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (entry,) = answer(capsys, "--config", config)["state"]["entries"]

    assert entry["kind"] == kind
    assert entry["logical"]["bytes"] > 0
