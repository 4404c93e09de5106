"""Ending a run and running it once more, from its page and its study's: asked first, done by a POST."""

from collections.abc import Callable

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse

from assay.accounts.models import Role
from assay.accounts.services import join, main_project
from assay.archive.paths import Home
from assay.execution import rehearsing
from assay.ledger.models import Run, Study
from experiments.compose import compose_sweep
from experiments.plan import plan
from tests.assay.pages.conftest import page
from tests.assay.pages.factory import Laboratory


@pytest.fixture(autouse=True)
def here(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsing, "_memory", rehearsing._Memory())
    monkeypatch.setattr("assay.execution.submitting.nudge", lambda _queue: True)


@pytest.fixture
def swept(db: None) -> Study:
    """Two cells that were carried out, as their declarations really are."""
    from assay.execution.declaring import create_study

    specs = plan(compose_sweep(["study=smollm2_smoke", "load.concurrency=1,2"]))
    study = create_study(specs, overrides=["study=smollm2_smoke"], owner="ada")
    study.runs.update(state="sealed")
    return study


def state(run: Run) -> tuple[str, bool]:
    run.refresh_from_db()
    return run.state, run.cancel_requested


@pytest.mark.parametrize(
    ("was", "becomes", "words"),
    [
        ("queued", ("aborted", True), "ends at once"),
        ("running", ("running", True), "next heartbeat of its worker"),
        ("failed", ("failed", False), "It is failed: there is nothing to cancel."),
        ("lost", ("lost", False), "It is lost: there is nothing to cancel."),
        ("refused", ("refused", False), "It is refused: there is nothing to cancel."),
    ],
)
def test_cancelling_says_what_will_happen_and_does_it(
    lab: Laboratory, somebody: Client, was: str, becomes: tuple[str, bool], words: str
) -> None:
    run = lab.by_state[was]
    url = reverse("run-cancel", args=[run.pk])

    text = page(somebody, url)
    asked = state(run)
    response = somebody.post(url)

    assert words in text
    assert asked == (was, False)  # asking changes nothing
    assert response["Location"] == reverse("run", args=[run.pk])
    assert state(run) == becomes


def test_a_run_that_is_being_cancelled_says_so(lab: Laboratory, somebody: Client) -> None:
    run = lab.by_state["running"]
    somebody.post(reverse("run-cancel", args=[run.pk]))

    text = page(somebody, reverse("run", args=[run.pk]))

    assert "cancel was asked" in text
    assert reverse("run-cancel", args=[run.pk]) not in text


def test_cancelling_a_study_ends_what_has_not_ended(lab: Laboratory, somebody: Client) -> None:
    study = lab.by_state["queued"].study
    url = reverse("study-cancel", args=[study.pk])

    text = page(somebody, url)
    somebody.post(url)

    assert "Cancel 2 runs" in text
    assert "4 runs have ended" in text
    assert state(lab.by_state["queued"]) == ("aborted", True)
    assert state(lab.by_state["running"]) == ("running", True)
    assert state(lab.by_state["failed"]) == ("failed", False)


def test_a_run_is_run_again_as_its_next_repetition(swept: Study, somebody: Client) -> None:
    run = swept.runs.get(position=1)
    url = reverse("run-repeat", args=[run.pk])
    assert run.spec_digest in page(somebody, url)

    response = somebody.post(url)

    again = Run.objects.exclude(study=swept).get()
    assert response["Location"] == reverse("run", args=[again.pk])
    assert (again.state, again.spec_digest) == ("queued", run.spec_digest)
    assert (again.repetition, again.variables) == (run.repetition + 1, run.variables)
    assert again.study.overrides == [f"repeat={run.pk}"]
    assert again.study.project_id == swept.project_id


def test_a_study_is_run_again_cell_by_cell(swept: Study, somebody: Client) -> None:
    response = somebody.post(reverse("study-repeat", args=[swept.pk]))

    study = Study.objects.exclude(pk=swept.pk).get()
    before = list(swept.runs.order_by("position").values_list("spec_digest", flat=True))
    after = list(study.runs.order_by("position").values_list("spec_digest", flat=True))
    assert response["Location"] == reverse("study", args=[study.pk])
    assert after == before
    assert set(study.runs.values_list("repetition", "state")) == {(1, "queued")}


@pytest.mark.forbids
def test_what_cannot_start_here_is_not_run_again(
    swept: Study, somebody: Client, behave: Callable[..., None]
) -> None:
    behave(prepare=3)

    response = somebody.post(reverse("study-repeat", args=[swept.pk]))

    assert response.status_code == 422
    assert "Fetch the file again." in response.content.decode()
    assert Study.objects.count() == 1


@pytest.mark.forbids
def test_a_declaration_that_no_longer_holds_is_refused_by_field(
    lab: Laboratory, somebody: Client
) -> None:
    response = somebody.post(reverse("run-repeat", args=[lab.run.pk]))

    assert response.status_code == 422
    assert "finding" in response.content.decode()
    assert Study.objects.count() == 2


@pytest.mark.forbids
@pytest.mark.parametrize("name", ["run-cancel", "run-repeat"])
def test_a_viewer_is_offered_neither_and_may_do_neither(lab: Laboratory, name: str) -> None:
    ada = get_user_model().objects.create_user("ada")
    join(main_project().team, ada, Role.viewer)
    client = Client()
    client.force_login(ada)
    run = lab.by_state["queued"]
    url = reverse(name, args=[run.pk])

    assert url not in page(client, reverse("run", args=[run.pk]))
    assert client.get(url).status_code == 403
    assert client.post(url).status_code == 403
    assert state(run) == ("queued", False)
