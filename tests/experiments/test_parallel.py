"""A parallel layout that its devices cannot have is refused before anything runs."""

from typing import Any

import pytest

from experiments.checks import parallel
from tests.experiments.declarations import example


def declared(count: int, interconnect: str | None, **kinds: int) -> dict[str, Any]:
    document = example()
    document["engine"]["key"] = "vllm"
    document["device"] |= {"count": count, "interconnect": interconnect}
    document["engine"]["parallel"] |= kinds
    return document


@pytest.mark.parametrize(
    "kinds", [{"tensor": 8}, {"data": 2, "tensor": 4, "expert": 8}, {"pipeline": 2, "tensor": 4}]
)
def test_a_layout_that_fills_its_devices_is_accepted(kinds: dict[str, int]) -> None:
    assert list(parallel.check(declared(8, "NVLink 4", **kinds))) == []


@pytest.mark.req("14.12")
@pytest.mark.parametrize(
    ("document", "field"),
    [
        (declared(8, "NVLink 4", tensor=4), "engine.parallel"),
        (declared(2, None, tensor=2), "device.interconnect"),
        (declared(4, "PCIe 5 x16", tensor=4, expert=3), "engine.parallel.expert"),
        (declared(1, None, tensor=0), "engine.parallel.tensor"),
    ],
)
def test_a_layout_that_cannot_be_is_refused_by_field(document: dict[str, Any], field: str) -> None:
    findings = list(parallel.check(document))

    assert [f.field for f in findings] == [field]


def test_the_torch_engine_runs_on_one_device() -> None:
    document = declared(2, "PCIe 5 x16", data=2)
    document["engine"]["key"] = "torch"

    assert [f.allowed for f in parallel.check(document)] == ["1 with the torch engine"]
