"""The amounts of a step, worked by hand on a model of two layers."""

import pytest

from assay.analysis import calibration
from assay.analysis.device_estimate.terms import StepLoad, memory_kind, prompt_amounts, step_amounts
from assay.analysis.device_estimate.validity import Place, validity
from assay.analysis.devices.catalogue import device
from assay.analysis.perfmodel.parallel.laid_out import LaidOut, lay_out
from assay.analysis.perfmodel.parallel.layout import Layout
from assay.analysis.perfmodel.quantization.declared import declared_formats
from assay.analysis.perfmodel.structure import Structure
from tests.assay.analysis.perfmodel.structures import dense

H100_BYTES_PER_S, H100_FLOPS = 3350e9, 989.4e12

# width 64, 4 heads on 2 KV heads of 16, feed-forward 128, 100 words, two layers
MODEL = dense(layers=2, d_model=64, h=4, h_kv=2, d_head=16, d_ff=128, vocabulary=100)


def model(structure: Structure = MODEL, *, layout: Layout = Layout()) -> LaidOut:  # noqa: B008
    declared = declared_formats(structure, {}, companion=None, weight_dtype=None, kv_dtype=None)
    return lay_out(structure, declared, layout)


def amounts(laid_out: LaidOut, load: StepLoad, *, engine: str = "vllm") -> dict[str, float]:
    return step_amounts(laid_out, load, device_name="H100", engine=engine).together()


def test_a_step_on_one_device_has_weights_state_layers_rows_and_itself() -> None:
    found = amounts(model(), StepLoad(batch=3, context=10))

    # a layer: 64 x (64 + 32 + 32) + 64 x 64 + 3 x 64 x 128 = 36,864; head 6,400; 3 rows of the table
    weights = 2 * (2 * 36_864 + 6_400 + 3 * 64)
    # K and V, 2 heads of 16, 2 layers, 2 B = 256 B a token: 3 x 10 read, 3 written
    state = 256 * (30 + 3)
    assert found == pytest.approx(
        {
            "weight_pass.HBM3": weights / H100_BYTES_PER_S,
            "state_pass": state / H100_BYTES_PER_S,
            "layer_s.serving": 2,
            "expert_layer_s": 0,
            "step_s.serving": 1,
            "row_s": 3,
        }
    )


def test_two_devices_send_two_messages_a_layer_and_two_around() -> None:
    found = amounts(model(layout=Layout(tensor=2)), StepLoad(batch=1, context=10))

    # all-reduce: 2 x 1/2 of 64 x 2 B, in 2 layers twice and after the embedding; gather: half of 100 x 2 B
    moved = 5 * 128 + 100
    assert found["message_s.NVLink"] == 6
    assert found["link_pass.NVLink"] == pytest.approx(moved / 450e9)


def test_prompts_that_run_in_between_add_their_share_of_products() -> None:
    # 4 sequences of 8 tokens each: half a prompt a step. Its products have 4096 rows, above the ridge of 295
    alone = amounts(model(), StepLoad(batch=4, context=10))
    beside = amounts(model(), StepLoad(batch=4, context=10, new=4096, output=8))

    # the head runs on the prompt's last row only and stays below the ridge
    flops = 2 * 4096 * 2 * 36_864
    assert beside["products"] >= 0.5 * flops / H100_FLOPS
    assert beside["layer_s.serving"] == alone["layer_s.serving"]


def test_a_compiled_engine_has_constants_of_its_own_and_no_row_on_the_host() -> None:
    found = amounts(model(), StepLoad(batch=1, context=10), engine="gpt-fast")

    assert found["layer_s.compiled"] == 2
    assert found["step_s.compiled"] == 1
    assert not {"layer_s.serving", "step_s.serving", "row_s"} & found.keys()


def test_a_prompt_alone_is_one_step() -> None:
    found = prompt_amounts(model(), new=4096, reused=0, device_name="H100", engine="vllm")

    assert found.work["step_s.serving"] == 1
    assert found.work["products"] > 0


@pytest.mark.parametrize(
    ("name", "kind"),
    [("A100", "HBM2"), ("B200", "HBM3"), ("RTX-4090", "GDDR"), ("Apple-M4-Max", "LPDD")],
)
def test_memory_is_told_apart_by_its_family(name: str, kind: str) -> None:
    assert memory_kind(device(name)) == kind


@pytest.mark.req("13.25")
@pytest.mark.parametrize(
    ("change", "beyond"),
    [
        ({}, ()),
        ({"device": "H200-SXM"}, ("another device",)),
        ({"engine": "sglang"}, ("another engine",)),
        ({"layout": (2, 1, 1)}, ("another parallelism",)),
        ({"rows": 65}, ("another batch",)),
        ({"context": 4096, "rows": 2}, ("another context",)),
        ({"context": 10, "rows": 65}, ("another batch", "another context")),
    ],
)
def test_an_estimate_is_calibrated_only_inside_what_was_fitted(
    change: dict[str, object], beyond: tuple[str, ...]
) -> None:
    def place(**values: object) -> Place:
        return Place(
            **{
                "device": "H100-SXM",
                "engine": "vllm",
                "layout": (1, 1, 1),
                "rows": 1,
                "context": 500,
                **values,
            }  # type: ignore[arg-type]
        )

    mark, found = validity(place(**change), [place(), place(rows=64, context=2000)])

    assert found == beyond
    assert mark == (calibration.EXTRAPOLATED if beyond else calibration.CALIBRATED)
