"""Predictions of a run: their three kinds, their labels, and that they come before the launch."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from assay.analysis.absence import Absent
from assay.analysis.errors import ClaimRefused
from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.predictions import build_predictions
from assay.analysis.registered import check_registered
from experiments.identity import spec_digest
from runners.protocol.documents import Prediction, PredictionsDocument
from runners.protocol.manifest import canonical
from tests.assay.analysis import benchmarks
from tests.assay.analysis.run_specs import PLAN_DIGEST, spec

NOW = "2026-11-29T12:00:00Z"


def built(document: dict[str, Any] | None = None, **given: Any) -> PredictionsDocument:
    wanted: dict[str, Any] = {"benchmarks": [benchmarks.document()]} | given
    return build_predictions(
        document or spec(), {"plan_digest": PLAN_DIGEST, "plan": {}}, wanted["benchmarks"], NOW
    )


def rows(document: PredictionsDocument, quantity: str, **conditions: Any) -> list[Prediction]:
    return [
        row
        for row in document["predictions"]
        if row["quantity"] == quantity and conditions.items() <= row["conditions"].items()
    ]


def one(document: PredictionsDocument, quantity: str, **conditions: Any) -> Prediction:
    (row,) = rows(document, quantity, **conditions)
    return row


@pytest.mark.req("13.19")
def test_three_kinds_are_stated_and_bound_to_the_run() -> None:
    document = built()

    assert {row["kind"] for row in document["predictions"]} == {"work", "capacity", "time"}
    assert document["spec_digest"] == spec_digest(spec())
    assert document["plan_digest"] == PLAN_DIGEST
    assert document["registered_at"] == NOW
    canonical(document)  # it is hashed: no NaN, no integer beyond 2**53


def test_the_same_inputs_give_the_same_bytes() -> None:
    assert canonical(built()) == canonical(built())


@pytest.mark.req("13.20", "13.25")
def test_every_row_names_its_layer_validity_and_what_would_overturn_it() -> None:
    document = built()
    named = {parameter["name"] for parameter in document["parameters"]}

    for row in document["predictions"]:
        assert row["layer"] in {"engine_loop", "client_socket"}
        assert row["validity"] == "extrapolated"  # nothing was calibrated
        assert row["overturned_by"]
        assert set(row["parameters"]) <= named
    for parameter in document["parameters"]:
        assert parameter["source"] in {"specification", "micro-benchmark", "fit", "assumption"}
        assert parameter["reference"]
        assert parameter["spread"] is not None
        assert parameter["spread"][0] <= parameter["value"] <= parameter["spread"][1]


@pytest.mark.req("10.14", "13.05")
def test_capacity_is_that_of_the_executed_formats() -> None:
    document = built()

    assert one(document, "kv_bytes_per_token")["estimate"] == 46080
    # 512 blocks x 16 tokens x 46,080 B
    assert one(document, "kv_bytes_allocated")["estimate"] == 377_487_360
    # float32, although the file holds Q4_1
    assert one(document, "weights_bytes_executed")["estimate"] == 538_060_032
    assert one(document, "weight_file_bytes")["estimate"] == 98_362_432
    # the load stores 64 + 24 - 1 = 87 tokens in 6 blocks; 512 / 6 = 85, the batch stops at 8
    assert one(document, "concurrent_sequences_max")["estimate"] == 8
    # long_input alone: 1024 + 15 tokens, 65 blocks; the load 4 x 6
    assert one(document, "kv_peak_used_blocks")["estimate"] == 65
    assert one(document, "engine_rss_peak")["bound"] == 538_060_032 + 377_487_360


@pytest.mark.req("10.08", "10.11")
def test_work_counts_tokens_flops_and_bytes() -> None:
    document = built()
    step = {"batch": 4, "context_tokens": 76}

    # matrices 134,479,872 x 4 B, and 4 x 77 x 46,080 B of K/V
    assert one(document, "decode_step_bytes", **step)["estimate"] == 537_919_488 + 4 * 77 * 46080
    # 2 x 4 x 134,479,872 and 4 FLOP x 576 x 30 layers x 77 tokens x 4
    wanted = 8 * 134_479_872 + 4 * 576 * 30 * 77 * 4
    assert one(document, "decode_step_flops", **step)["estimate"] == wanted
    assert one(document, "prompt_tokens", segment="load")["estimate"] == 1024


@pytest.mark.req("13.13")
@pytest.mark.parametrize(
    "cost",
    ["launch", "synchronisation", "host time", "dependent operators", "queue", "communication"],
)
def test_what_the_roofline_omits_is_listed_with_every_prediction(cost: str) -> None:
    listed = [line for line in built()["assumptions"] if line.startswith("not counted: ")]

    assert [line for line in listed if cost in line]


@pytest.mark.req("1.13")
@pytest.mark.forbids
def test_a_ratio_of_prompt_lengths_is_no_ratio_of_times() -> None:
    document = built()
    short, long = (one(document, "prompt_time", case=case) for case in ("short", "long_input"))
    assert [row["conditions"]["input_tokens"] for row in (short, long)] == [32, 1024]

    # 32 times the tokens take under 15 times as long: fixed costs of a step do not grow with the prompt.
    assert short["estimate"] is not None
    assert long["estimate"] is not None
    assert long["estimate"] / short["estimate"] == pytest.approx(14.6, abs=0.1)


def test_a_cancelled_case_is_predicted_up_to_its_cancellation() -> None:
    document = built()

    step = one(document, "decode_step", case="active_cancel")
    assert step["conditions"]["context_tokens"] == 64 + 12 // 2
    assert not rows(document, "time_to_last_token", case="active_cancel")


def test_a_long_prompt_is_the_sum_of_its_chunks() -> None:
    document = built()
    row = one(document, "prompt_time", case="long_input")

    # by FLOPs: 2 x 1024 x 106,168,320 / 200 GFLOP/s = 1,087.164 ms in the matrices of four chunks, and
    # 4 x 576 x 30 x 524,800 pairs / 200 GFLOP/s = 181.371 ms in attention; by bytes: the head of the last
    # chunk alone, 113,246,208 B / 20 GB/s = 5.662 ms
    assert row["bound"] == pytest.approx(1.274197, rel=1e-5)
    ttft = one(document, "ttft", case="long_input")
    assert ttft["estimate"] == pytest.approx((row["estimate"] or 0) + 6e-3)
    assert (ttft["layer"], row["layer"]) == ("client_socket", "engine_loop")


@pytest.mark.req("13.08")
def test_bound_estimate_and_range_are_in_order() -> None:
    timed = [row for row in built()["predictions"] if row["kind"] == "time"]

    assert len(timed) > 10
    for row in timed:
        assert row["bound"] is not None
        assert row["estimate"] is not None
        assert row["range"] is not None
        assert row["bound"] <= row["range"][0] <= row["estimate"] <= row["range"][1], row
        assert row["coverage"] == 0.9
        assert row["memory_level"] == "L3 and DRAM"


def test_every_batch_of_a_closed_loop_has_a_decode_row() -> None:
    found = rows(built(), "decode_step", segment="load")

    assert [row["conditions"]["batch"] for row in found] == [1, 2, 3, 4]


def test_an_open_loop_gets_no_estimate_of_what_queues() -> None:
    document = built(spec(kind="poisson", concurrency=None, rate_per_s=2.0))

    row = one(document, "ttft", segment="load")
    assert (row["estimate"], row["range"]) == (None, None)
    assert row["bound"] is not None
    assert not rows(document, "kv_peak_used_blocks")
    assert any("queueing is not modelled" in line for line in document["assumptions"])


def test_without_a_measured_machine_no_time_is_invented() -> None:
    document = built(benchmarks=[])

    timed = [row for row in document["predictions"] if row["kind"] == "time"]
    assert all(row["bound"] is None and row["estimate"] is None for row in timed)
    assert any("no micro-benchmark" in line for line in document["assumptions"])
    assert one(document, "kv_bytes_per_token")["estimate"] == 46080


def test_packed_weights_get_a_bound_from_their_stored_bytes_and_no_estimate() -> None:
    packed = copy.deepcopy(spec())
    packed["engine"]["settings"]["weights"] = "packed"

    document = built(packed)

    # 106,168,320 x 5 bits + 28,311,552 x 8.5 bits + 35,136 x 32 bits
    assert one(document, "weights_bytes_executed")["estimate"] == 66_355_200 + 30_081_024 + 140_544
    row = one(document, "decode_step", case="short")
    assert row["estimate"] is None
    assert row["bound"] is not None


def vllm_on(device: dict[str, Any]) -> dict[str, Any]:
    other = copy.deepcopy(spec())
    other["engine"] = {
        "key": "vllm",
        "settings": {"dtype": "bfloat16", "kv_dtype": "auto", "max_num_seqs": 4, "block_size": 16},
    }
    other["artifact"]["precision"]["weights"] = {"dtype": "bfloat16"}
    other["device"] = device
    return other


@pytest.mark.req("13.08", "13.28")
def test_an_engine_that_nothing_calibrates_gets_bounds_of_its_device_and_no_estimate() -> None:
    document = built(vllm_on({"kind": "cuda", "name": "H100-SXM", "count": 1}))

    row = one(document, "decode_step", segment="load", batch=1)
    # (134,479,872 matrices x 2 B + 77 x 23,040 B) / 3.35 TB/s
    assert row["bound"] == pytest.approx((268_959_744 + 77 * 23_040) / 3.35e12, rel=1e-3)
    assert (row["estimate"], row["range"]) == (None, None)
    sources = {p["name"]: p["source"] for p in document["parameters"]}
    assert {sources[name] for name in row["parameters"]} == {"specification"}
    assert any("nothing calibrates vllm" in line for line in document["assumptions"])
    assert one(document, "kv_bytes_per_token")["estimate"] == 23_040
    assert not rows(document, "kv_total_blocks")  # it declares no number of blocks


@pytest.mark.req("12.14")
@pytest.mark.forbids
def test_peaks_of_several_devices_are_not_added_to_a_bound() -> None:
    document = built(vllm_on({"kind": "cuda", "name": "H100-SXM", "count": 2}))

    assert one(document, "decode_step", segment="load", batch=1)["bound"] is None
    assert any("2 devices share a step" in line for line in document["assumptions"])


@pytest.mark.forbids
def test_an_endpoint_elsewhere_is_not_bounded_by_this_host() -> None:
    elsewhere = vllm_on({"kind": "cpu", "name": "cpu", "count": 1})
    elsewhere["engine"] |= {"key": "openai_endpoint", "environment": {"kind": "url"}}

    document = built(elsewhere)

    assert one(document, "decode_step", segment="load", batch=1)["bound"] is None
    assert any("neither measured nor catalogued" in line for line in document["assumptions"])


def test_requests_that_follow_one_another_get_bounds_of_their_steps_only() -> None:
    session = copy.deepcopy(spec())
    session["workload"]["structure"] = "linear_session"

    document = built(session)

    timed = {row["quantity"] for row in document["predictions"] if row["kind"] == "time"}
    assert timed == {"decode_step"}
    assert all(row["bound"] for row in rows(document, "decode_step"))
    assert any("follow one another" in line for line in document["assumptions"])


@pytest.mark.forbids
@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda s: s["engine"].update(key="replay"), "engine.key"),
        (lambda s: s["artifact"]["config"].update(moe={"experts": 8}), "artifact.config.moe"),
        (lambda s: s["artifact"].update(config=None), "artifact.config"),
        (lambda s: s["artifact"].update(precision=None), "artifact.precision"),
        (lambda s: s["workload"].update(call_type="embedding"), "workload.call_type"),
    ],
)
def test_what_runs_no_known_model_is_refused_by_name(
    change: Callable[[dict[str, Any]], None], field: str
) -> None:
    document = copy.deepcopy(spec())
    change(document)

    with pytest.raises(ModelRefused) as caught:
        built(document)

    assert caught.value.finding.field == field


@pytest.mark.forbids
def test_predictions_without_a_plan_are_refused() -> None:
    with pytest.raises(ClaimRefused, match="plan_digest"):
        build_predictions(spec(), {}, [], NOW)


def test_the_plan_gives_the_loads_real_token_counts() -> None:
    plan = {"load": {"requests": 10, "input_tokens": 700, "output_tokens": 300, "shapes": []}}

    document = build_predictions(spec(), plan, [], NOW, plan_digest=PLAN_DIGEST)

    assert one(document, "prompt_tokens", segment="load")["conditions"]["input_tokens"] == 70


REGISTERED = {"event": "predictions_registered", "sha256": "d" * 64}
LAUNCH = {"event": "launch"}


@pytest.mark.req("13.19")
def test_predictions_registered_before_the_launch_hold() -> None:
    assert check_registered([{"event": "prepared"}, REGISTERED, LAUNCH], "d" * 64) is None
    assert check_registered([REGISTERED], "d" * 64) is None  # not launched yet


@pytest.mark.req("13.19")
@pytest.mark.forbids
def test_predictions_registered_after_the_launch_are_refused() -> None:
    with pytest.raises(ClaimRefused, match="after the launch"):
        check_registered([LAUNCH, REGISTERED], "d" * 64)
    with pytest.raises(ClaimRefused, match="after the launch"):
        check_registered([LAUNCH, {"event": "phase_end"}, REGISTERED, LAUNCH], "d" * 64)


@pytest.mark.req("13.19")
@pytest.mark.forbids
def test_another_document_than_the_registered_one_is_refused() -> None:
    with pytest.raises(ClaimRefused, match="the registered sha256"):
        check_registered([REGISTERED, LAUNCH], "e" * 64)


def test_a_run_without_predictions_is_absent_not_refused() -> None:
    found = check_registered([LAUNCH], "d" * 64)

    assert isinstance(found, Absent)
