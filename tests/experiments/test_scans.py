"""The shipped scans: one variable moves, the rest stays; what the model cannot take is refused by name."""

from typing import Any

import pytest

from experiments.compose import compose_sweep
from experiments.errors import Refusal
from experiments.plan import RunSpec, plan


def scan(study: str, *moved: str) -> list[RunSpec]:
    return plan(compose_sweep([f"study={study}", *moved]))


@pytest.mark.req("11.01", "11.02", "11.04")
@pytest.mark.parametrize(
    ("study", "moved", "field", "values"),
    [
        (
            "input",
            "workload.input_tokens=512,2048,8160",
            "workload.input_tokens",
            {512, 2048, 8160},
        ),
        ("batch", "load.concurrency=1,2,4,8", "load.concurrency", {1, 2, 4, 8}),
        ("output", "workload.input_tokens=128", None, set()),
    ],
)
def test_a_scan_moves_one_variable_and_nothing_else(
    study: str, moved: str, field: str | None, values: set[int]
) -> None:
    specs = scan(f"smollm2_scan_{study}", moved)

    assert {name for spec in specs for name in spec.variables} == ({field} if field else set())
    if field:
        assert {spec.variables[field] for spec in specs} == values


@pytest.mark.req("11.02", "11.03")
def test_one_scan_fixes_the_output_and_the_other_lets_it_stop() -> None:
    (fixed,) = scan("smollm2_scan_input")
    (natural,) = scan("smollm2_scan_output")

    assert fixed.document["workload"]["ignore_eos"] is True
    assert natural.document["workload"]["ignore_eos"] is False


@pytest.mark.req("11.02")
@pytest.mark.forbids
def test_an_input_beyond_the_model_is_refused_by_name() -> None:
    with pytest.raises(Refusal) as caught:
        scan("smollm2_scan_input", "workload.input_tokens=512,32768")

    assert "32768 input + 32 output = 32800 tokens" in str(caught.value)
    assert "at most 8192 (artifact.config.max_length)" in str(caught.value)


def test_all_scans_run_on_the_same_engine_so_that_one_calibration_takes_them() -> None:
    engines: list[Any] = [
        scan(f"smollm2_scan_{name}")[0].document["engine"] for name in ("input", "batch", "output")
    ]

    assert engines[0] == engines[1] == engines[2]
