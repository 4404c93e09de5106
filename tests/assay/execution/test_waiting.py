"""Why a queued run waits: what nobody here has, in words."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from assay.archive.paths import Home
from assay.cli.main import main
from assay.execution import registration
from assay.execution.machine import Worker
from assay.execution.offers import Offer, OfferedEngine
from assay.execution.waiting import not_offered, waiting
from assay.ledger.needs import NeedDocument, need_of
from tests.assay.specs import offered, queued_study

VLLM = OfferedEngine(key="vllm", version="0.33.0", environment="venv", lock_sha256="a" * 64)
H200 = "NVIDIA H200"


def need(**changes: Any) -> NeedDocument:
    device = {"name": "H200", "kind": "cuda", "count": 2}
    engine = {"key": "vllm", "version": "0.33.0", "environment": {"kind": "venv"}}
    return NeedDocument(**{**need_of({"device": device, "engine": engine}), **changes})


def machine(devices: int = 2, *, name: str = H200, engine: OfferedEngine = VLLM) -> Offer:
    return offered(queues=["cuda"], accelerators=[name] * devices, engines=[engine])


@pytest.mark.parametrize(
    ("offers", "wanted", "why"),
    [
        ([], {}, "needs 2 x H200 with vllm 0.33.0; no worker is registered"),
        ([offered()], {}, "needs 2 x H200 with vllm 0.33.0; none registered"),
        ([machine()], {}, ""),
        ([machine(1)], {}, "needs 2 x H200 with vllm 0.33.0; host-boot has 1 x H200"),
        (
            [machine(engine=replace(VLLM, version="0.32.0"))],
            {},
            "needs 2 x H200 with vllm 0.33.0; host-boot has vllm 0.32.0",
        ),
        (
            [machine()],
            {"lock_sha256": "b" * 64},
            "needs 2 x H200 with vllm 0.33.0; host-boot has vllm 0.33.0 from another lock or image",
        ),
        (
            [machine()],
            {"host_memory_bytes": 2**36},
            "needs 2 x H200 with vllm 0.33.0 and 64 GiB of memory; host-boot has 16 GiB of memory",
        ),
        # whole words: an H20 is no H200, and the NVL is another device
        (
            [replace(machine(name="NVIDIA H20"), queues=("cpu",))],
            {},
            "needs 2 x H200 with vllm 0.33.0; host-boot serves no cuda runs, has no H200",
        ),
        (
            [machine(name="NVIDIA H200 NVL")],
            {},
            "needs 2 x H200 with vllm 0.33.0; host-boot has no H200",
        ),
        ([machine(name="Own Board")], {"name": "own board"}, ""),
        ([machine()], {"environment": "url", "engine": "openai_endpoint", "version": None}, ""),
    ],
)
def test_what_is_lacking_is_said(offers: list[Offer], wanted: dict[str, Any], why: str) -> None:
    assert not_offered(need(**wanted), offers) == why


@pytest.mark.django_db
def test_a_run_waits_for_what_nobody_has_and_then_for_its_turn(
    home: Home, worker: Worker, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    registration.register(worker, offered())
    gpu = queued_study(kind="cuda").runs.get()
    first, second = queued_study(2).runs.order_by("position")

    with django_assert_num_queries(5):
        found = waiting([gpu, first, second])

    lacks = "host-boot serves no cuda runs, has no this machine"
    assert found[gpu.id].why == f"needs 1 x this machine with torch 1; {lacks}"
    assert found[first.id].why == "next in queue cpu: no worker has taken it yet"
    assert found[second.id].why == "1 run before it in queue cpu"


@pytest.mark.django_db
def test_list_and_show_say_why_a_run_waits(
    home: Home, worker: Worker, capsys: pytest.CaptureFixture[str], behave: Callable[..., None]
) -> None:
    run = queued_study().runs.get()
    why = "needs 1 x this machine with torch 1; no worker is registered"

    for arguments in (["list", "--json"], ["show", str(run.id), "--json"]):
        assert main(arguments) == 0
        found = json.loads(capsys.readouterr().out)
        assert (found["runs"][0] if "runs" in found else found)["reason"] == why


@pytest.mark.django_db
def test_a_worker_is_registered_while_it_serves_and_again_when_its_row_was_lost(
    home: Home, worker: Worker
) -> None:
    machine = offered(accelerators=[H200])

    registration.register(worker, machine)
    assert registration.live_offers() == [machine]

    registration.leave(worker)
    assert registration.live_offers() == []
    assert not registration.give_sign(worker)
