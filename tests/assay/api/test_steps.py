"""What the API changes: studies queued, runs ended and done again, reviews carried through."""

from collections.abc import Callable
from types import SimpleNamespace

import pytest
from pytest_django import Settings

from assay.accounts.models import Role
from assay.ledger.models import Run, Study
from tests.assay.api.conftest import Caller
from tests.assay.pages.factory import Laboratory
from tests.assay.review.people import submitted

WANTED = {"overrides": ["study=smollm2_torch", "load.concurrency=2"]}


@pytest.fixture
def elsewhere(settings: Settings) -> None:
    """The workers are other machines: pins are theirs to check."""
    settings.REDIS_URL = "redis://127.0.0.1:1/0"


@pytest.mark.usefixtures("elsewhere")
def test_a_study_is_queued_with_the_runs_that_its_plan_names(author: Caller) -> None:
    planned = author.post("/studies/plan", WANTED).json()
    assert not Study.objects.exists()

    queued = author.post("/studies", WANTED)

    assert queued.status_code == 201
    found = queued.json()
    assert [r["spec_digest"] for r in found["runs"]] == [r["spec_digest"] for r in planned["runs"]]
    assert found["unchecked"].startswith("the workers are other machines")
    study = Study.objects.get()
    assert (str(study.id), study.owner, study.project.slug) == (found["study"], "ada", "main")
    assert Run.objects.get().state == "queued"


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        ({"overrides": ["study=smollm2_torch", "load.concurency=2"]}, "load.concurency"),
        ({"overrides": ["study=smollm2_torch"], "project": "elsewhere"}, "project"),
        ({"overrides": []}, "body.wanted.overrides"),
        ({"overrides": "study=x"}, "body.wanted.overrides"),
    ],
)
def test_what_is_wrong_with_a_study_is_said_field_by_field(
    author: Caller, wanted: dict[str, object], field: str
) -> None:
    response = author.post("/studies", wanted)

    assert response.status_code == 422
    assert field in [f["field"] for f in response.json()["error"]["findings"]]
    assert not Study.objects.exists()


def test_a_queued_run_is_ended_once_and_one_that_has_ended_is_not(
    lab: Laboratory, author: Caller
) -> None:
    url = f"/runs/{lab.by_state['queued'].pk}/cancel"

    first, second = author.post(url), author.post(url)

    assert (first.status_code, first.json()["state"]) == (202, "aborted")
    assert second.status_code == 409
    assert "aborted" in second.json()["error"]["findings"][0]["seen"]


@pytest.mark.usefixtures("elsewhere")
def test_a_run_is_done_again_in_its_own_project(author: Caller) -> None:
    first = Run.objects.get(id=author.post("/studies", WANTED).json()["runs"][0]["run"])

    again = author.post(f"/runs/{first.id}/rerun")

    assert again.status_code == 201
    second = Run.objects.get(id=again.json()["run"])
    assert second.spec_digest == first.spec_digest
    assert (second.repetition, second.study.project) == (1, first.study.project)
    assert second.study.overrides == [f"repeat={first.id}"]


def test_more_submissions_than_thirty_a_minute_have_to_wait(
    author: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    # 1,000,040 s is 20 s into its minute, 16,667 of them having gone: 40 s are left, and one more.
    monkeypatch.setattr("assay.api.throttle.time", SimpleNamespace(time=lambda: 1_000_040.0))
    wrong = {"overrides": ["study=smollm2_torch"], "project": "elsewhere"}

    statuses = [author.post("/studies", wrong).status_code for _ in range(30)]
    last = author.post("/studies", wrong)

    assert statuses == [422] * 30
    assert (last.status_code, last["Retry-After"]) == (429, "41")


def test_a_review_is_approved_by_a_reviewer_and_not_by_its_author(
    lab: Laboratory, calling: Callable[..., Caller]
) -> None:
    review = submitted(lab.run)  # by Ada
    url = f"/reviews/{review.id}"
    ada, ben = calling(Role.reviewer), calling(Role.reviewer, name="ben")
    said = {"kind": "request_changes", "words": "say for which load"}

    by_author, by_reviewer = ada.post(f"{url}/verdicts", said), ben.post(f"{url}/verdicts", said)

    assert by_author.status_code == 422
    assert by_reviewer.json()["state"] == "changes_requested"
    assert ada.get("/reviews").json()["reviews"][0]["awaited"] == "answer"
    answered = ada.post(f"{url}/changes", {"words": "four at a time"}).json()
    assert (answered["round"], answered["verdicts"][0]["by"]) == (2, "ben")


def test_runs_are_submitted_for_review(lab: Laboratory, author: Caller) -> None:
    wanted = {"runs": [str(lab.run.pk)], "title": "Load", "statement": "It holds\nat four."}

    made = author.post("/reviews", wanted)

    assert made.status_code == 201
    found = made.json()
    assert found["runs"][0]["bundle_digest"] == lab.bundle.digest
    assert author.get(f"/reviews/{found['review']}").json() == found
    assert author.post("/reviews", {**wanted, "statement": "\x00"}).status_code == 422
