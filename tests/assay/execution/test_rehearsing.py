"""Whether a declaration could start here: the run's own first step, carried out and thrown away."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_django import Settings

from assay.archive.paths import Home
from assay.execution import leases, rehearsing
from assay.execution.machine import Worker
from assay.execution.offers import Offer
from experiments.compose import compose, compose_sweep
from experiments.plan import RunSpec, plan
from tests.assay.specs import queued_study

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsing, "_memory", rehearsing._Memory())


@pytest.fixture(scope="module")
def specs() -> list[RunSpec]:
    return plan([compose(["study=smollm2_smoke"])])


def test_what_could_start_is_said_and_leaves_nothing(home: Home, specs: list[RunSpec]) -> None:
    look = rehearsing.look(specs)

    assert look.refused is None
    assert (look.skipped, [p.estimated_bytes for p in look.prepared]) == ("", [1])
    assert [p for p in home.root.rglob("*") if p.is_file()] == []


@pytest.mark.parametrize("code", [2, 3])
def test_a_refusal_comes_with_its_findings(
    home: Home, specs: list[RunSpec], behave: Callable[..., None], code: int
) -> None:
    behave(prepare=code)

    look = rehearsing.look(specs)

    assert look.refused is not None
    assert look.refused.exit_code == code
    assert [f.field for f in look.findings] == ["artifact.files"]


def test_a_preparation_that_broke_down_is_a_finding_of_its_own(
    home: Home, specs: list[RunSpec], behave: Callable[..., None]
) -> None:
    behave(prepare=9)

    [finding] = rehearsing.look(specs).findings

    assert (finding.field, finding.seen) == ("prepare", "exit code 9")
    assert "the fake broke down" in finding.remedy


def test_looking_and_then_launching_prepares_once(
    home: Home, specs: list[RunSpec], behave: Callable[..., None]
) -> None:
    rehearsing.look(specs)
    behave(prepare=3)

    assert rehearsing.look(specs).refused is None


def test_a_measurement_on_this_machine_is_not_disturbed(
    home: Home, specs: list[RunSpec], worker: Worker, offer: Offer, behave: Callable[..., None]
) -> None:
    queued_study()
    assert leases.claim_next(worker, home=home, offer=offer) is not None
    behave(prepare=3)

    look = rehearsing.look(specs)

    assert (look.prepared, look.skipped) == ((), rehearsing.MEASURING)


def test_where_workers_are_elsewhere_they_look_themselves(
    home: Home, specs: list[RunSpec], settings: Settings
) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"

    assert rehearsing.look(specs).skipped == rehearsing.ELSEWHERE


def test_a_sweep_over_a_load_is_looked_at_once_for_all_its_cells(tmp_path: Path) -> None:
    cells = plan(compose_sweep(["study=smollm2_smoke", "load.concurrency=1,2,3"]))
    others = plan(compose_sweep(["study=smollm2_smoke", "device.name=cpu,other"]))

    assert len(rehearsing.representatives(cells)) == 1
    assert len(rehearsing.representatives(others)) == 2
