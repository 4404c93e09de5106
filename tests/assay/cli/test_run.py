"""``assay run``, ``submit``, ``show`` and ``cancel`` over a runner that keeps the contract."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from assay.archive.paths import Home
from assay.cli.main import main
from assay.execution import leases
from assay.execution.machine import Worker
from assay.execution.offers import Offer
from assay.ledger.models import Bundle, Run, Study
from tests.assay.specs import queued_study

pytestmark = pytest.mark.django_db(transaction=True)
SMOKE = ("study=smollm2_smoke", "prediction.enabled=false")


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    code = main([*arguments, "--json"])
    out = capsys.readouterr().out
    return code, json.loads(out) if out else {}


def interrupt_once_a_run_executes(home: Home) -> None:
    while not list(home.root.rglob("runner.pid")):
        time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGINT)


def test_a_run_prints_the_promised_object(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = run_json(capsys, "run", *SMOKE)

    run, bundle = Run.objects.get(), Bundle.objects.get()
    assert code == 0
    assert found["run"] == str(run.id)
    assert found["state"] == "sealed"
    assert found["bundle"] == str(home.bundle(bundle.digest))
    assert found["bundle_digest"] == bundle.digest
    assert found["spec_digest"] == run.spec_digest
    assert found["ledgers"] == {
        "client": {"cancelled": 1},
        "server": {},
        "task": {},
        "resource": {},
    }
    assert {"aggregates", "residuals", "gaps"} <= found.keys()


def test_a_sweep_is_one_study_with_runs_in_a_recorded_order(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    code, found = run_json(capsys, "run", "-m", *SMOKE, "load.concurrency=1,2,4")

    runs = list(Study.objects.get().runs.order_by("position"))
    assert code == 0
    assert [r["run"] for r in found["runs"]] == [str(r.id) for r in runs]
    assert sorted(r.variables["load.concurrency"] for r in runs) == [1, 2, 4]
    assert all(r.started_at and r.ended_at for r in runs)
    starts = [r.started_at for r in runs]
    assert starts == sorted(starts)  # type: ignore[type-var]


def test_without_json_it_says_where_to_look(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *SMOKE]) == 0

    seen = capsys.readouterr()
    run = Run.objects.get()
    assert f"assay show {run.id}" in seen.out
    assert "measure" in seen.err


@pytest.mark.forbids
@pytest.mark.req("5.02")
@pytest.mark.parametrize("verb", ["run", "submit"])
@pytest.mark.parametrize(
    "bad", ["artifact.revision=main", "load.rate_per_s=-1", "nonsense=1", "++nonsense=1"]
)
def test_a_refused_declaration_leaves_nothing(
    home: Home, capsys: pytest.CaptureFixture[str], verb: str, bad: str
) -> None:
    code = main([verb, *SMOKE, bad])

    assert code == 2
    assert capsys.readouterr().err.startswith("error: ")
    assert not Study.objects.exists()
    assert list(home.root.iterdir()) == []


@pytest.mark.parametrize("verb", ["run", "submit"])
@pytest.mark.parametrize("code", [2, 3])
def test_a_pin_or_an_environment_that_does_not_hold_leaves_nothing(
    home: Home,
    capsys: pytest.CaptureFixture[str],
    behave: Callable[..., None],
    verb: str,
    code: int,
) -> None:
    behave(prepare=code)

    ended, found = run_json(capsys, verb, *SMOKE)

    assert ended == code
    assert found["exit_code"] == code
    assert not Study.objects.exists()
    assert not home.root.exists() or list(home.root.iterdir()) == []


def test_a_run_that_fails_ends_with_1_and_keeps_its_evidence(
    home: Home, capsys: pytest.CaptureFixture[str], behave: Callable[..., None]
) -> None:
    behave(execute="fail")

    code, found = run_json(capsys, "run", *SMOKE)

    assert (code, found["state"]) == (1, "failed")
    assert found["bundle"] is not None


def test_ctrl_c_waits_for_the_sealing_and_ends_with_130(
    home: Home, capsys: pytest.CaptureFixture[str], behave: Callable[..., None]
) -> None:
    behave(execute="hang")
    threading.Thread(target=interrupt_once_a_run_executes, args=(home,), daemon=True).start()

    code, found = run_json(capsys, "run", "-m", *SMOKE, "load.concurrency=1,2")

    first, second = found["runs"]
    assert code == 130
    assert (first["state"], second["state"]) == ("aborted", "aborted")
    assert first["bundle"] is not None
    assert second["bundle"] is None


def test_ctrl_c_after_the_measurement_keeps_the_run_and_still_ends_with_130(
    home: Home, capsys: pytest.CaptureFixture[str], behave: Callable[..., None]
) -> None:
    behave(execute="deaf")  # past the point where an interrupt ends anything
    threading.Thread(target=interrupt_once_a_run_executes, args=(home,), daemon=True).start()

    code = main(["run", *SMOKE, "--json"])

    seen = capsys.readouterr()
    assert (code, json.loads(seen.out)["state"]) == (130, "sealed")
    assert "error: interrupted after the last run had been measured" in seen.err


def test_a_preparation_that_breaks_down_is_told_in_json_too(
    home: Home, capsys: pytest.CaptureFixture[str], behave: Callable[..., None]
) -> None:
    behave(prepare=9)

    code, found = run_json(capsys, "run", *SMOKE)

    assert (code, found["exit_code"]) == (1, 1)
    assert found["refused"][0]["field"] == "prepare"
    assert found["refused"][0]["remedy"] == "the fake broke down"


def test_a_run_whose_command_was_killed_is_shown_as_lost_at_once(
    home: Home, dead_worker: Worker, offer: Offer, capsys: pytest.CaptureFixture[str]
) -> None:
    queued_study()
    claim = leases.claim_next(dead_worker, home=home, offer=offer)
    assert claim is not None

    code, found = run_json(capsys, "show", str(claim.run_id))

    assert (code, found["state"]) == (0, "lost")


def test_submitted_runs_wait_for_a_worker(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = run_json(capsys, "submit", *SMOKE)

    run = Run.objects.get()
    assert code == 0
    assert found["runs"] == [
        {"run": str(run.id), "state": "queued", "spec_digest": run.spec_digest}
    ]
    assert (run.state, run.reserved_by) == ("queued", "")


def test_show_tells_ledgers_measures_residuals_and_gaps(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["run", *SMOKE])
    run = Run.objects.get()
    capsys.readouterr()

    assert main(["show", str(run.id)[:13]]) == 0

    words = " ".join(capsys.readouterr().out.split())
    for wanted in (
        "cancelled 1",
        "unknown: no server record",
        "unknown: needs two tokens",
        "step_s.decode",
        "no trace",
    ):
        assert wanted in words


@pytest.mark.req("2.01", "2.06")
def test_a_mocked_dependency_is_marked_in_the_json_and_beside_the_boundary(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    mocked = "boundary.external_dependencies=[{name: search, mocked: true, fixed_delay_s: 0.05}]"
    main(["run", *SMOKE, mocked])
    run = Run.objects.get()
    capsys.readouterr()

    assert main(["show", str(run.id), "--json"]) == 0
    marked = json.loads(capsys.readouterr().out)["mocked"]
    assert main(["show", str(run.id)]) == 0
    words = " ".join(capsys.readouterr().out.split())

    assert marked == ["search"]
    for wanted in (
        "system under test",
        "assumption about tools",
        "search (mocked: its variability was outside the experiment",
    ):
        assert wanted in words


def test_show_finds_a_run_by_the_digest_of_its_bundle(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["run", *SMOKE])
    digest = Bundle.objects.get().digest
    capsys.readouterr()

    assert main(["show", digest[:12], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["bundle_digest"] == digest


@pytest.mark.parametrize("text", ["", "12", "not-an-id", "0" * 12])
def test_show_refuses_what_is_no_run(
    home: Home, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    assert main(["show", text]) == 2
    assert f"error: run: {text} (allowed: the id of a run" in capsys.readouterr().err


def test_cancel_ends_a_queued_run_and_refuses_an_ended_one(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["submit", *SMOKE])
    run = Run.objects.get()

    assert main(["cancel", str(run.id)]) == 0
    assert main(["cancel", str(run.id)]) == 1
    assert Run.objects.get().state == "aborted"
