"""Every operation of the API, by everybody. A new operation needs its line in ``NEEDS``."""

import functools
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from ninja.operation import Operation

from assay.accounts.models import Action
from assay.accounts.services import issue_token
from assay.api.doors import NoToken, Session, Token
from assay.api.site import api
from assay.regressions.models import Firing, FiringState
from tests.assay.pages.conftest import lab as lab
from tests.assay.pages.factory import BEGAN, Laboratory
from tests.assay.permissions.callers import EVERYBODY, Need, browser, met, user, with_token
from tests.assay.review.people import submitted

# operation -> what it takes
NEEDS: dict[str, str] = {
    "GET /studies": "view",
    "POST /studies": "write",
    "POST /studies/plan": "write",
    "GET /studies/{study_id}": "view",
    "GET /runs": "view",
    "GET /runs/{run_id}": "view",
    "GET /runs/{run_id}/spec": "view",
    "POST /runs/{run_id}/cancel": "write",
    "POST /runs/{run_id}/rerun": "write",
    "GET /runs/{run_id}/aggregates": "view",
    "GET /runs/{run_id}/residuals": "view",
    "GET /runs/{run_id}/gaps": "view",
    "GET /runs/{run_id}/identity": "view",
    "GET /runs/{run_id}/reconciliation": "view",
    "GET /runs/{run_id}/ledgers": "view",
    "GET /runs/{run_id}/ledgers/{ledger}": "view",
    "GET /runs/{run_id}/attempts": "view",
    "GET /runs/{run_id}/attempts/{attempt_id}": "view",
    "GET /bundles/{bundle_digest}": "view",
    "GET /bundles/{bundle_digest}/verification": "view",
    "GET /bundles/{bundle_digest}/files": "view",
    "GET /bundles/{bundle_digest}/files/{path}": "view",
    "GET /bundles/{bundle_digest}/export": "view",
    "GET /compare": "view",
    "GET /reviews": "view",
    "POST /reviews": "write",
    "GET /reviews/{review_id}": "view",
    "POST /reviews/{review_id}/verdicts": "review",
    "POST /reviews/{review_id}/gaps": "review",
    "POST /reviews/{review_id}/sign-off": "review",
    "POST /reviews/{review_id}/reviewers": "write",
    "POST /reviews/{review_id}/answers": "write",
    "POST /reviews/{review_id}/changes": "write",
    "POST /reviews/{review_id}/withdraw": "write",
    "POST /reviews/{review_id}/retract": "manage",
    "GET /schedules": "view",
    "POST /schedules": "manage",
    "GET /schedules/{schedule_id}": "view",
    "GET /schedules/{schedule_id}/firings": "view",
    "GET /schedules/{schedule_id}/firings/{firing}": "view",
    "POST /schedules/{schedule_id}/fire": "write",
    "POST /schedules/{schedule_id}/pause": "manage",
    "POST /schedules/{schedule_id}/resume": "manage",
    "GET /findings": "view",
    "GET /findings/{finding_id}": "view",
    "POST /findings/{finding_id}/state": "manage",
    "GET /me": "view",
    "GET /tokens": "view",
    "POST /tokens": "view",
    "DELETE /tokens/{token_id}": "view",
    "GET /rules": "view",
    "GET /engines": "view",
    "GET /engines/{engine}/versions": "view",
    "GET /models": "view",
    "POST /predict": "view",
}
OF_TEAM = ("run_id", "study_id", "bundle_digest", "review_id", "schedule_id", "finding_id")
BY_SESSION = {
    "POST /tokens",
    "DELETE /tokens/{token_id}",
}  # forbidden to every token; but to end itself
ROOT = "/api/v1"


@pytest.fixture(autouse=True)
def _nobody_asked_before() -> None:
    cache.clear()


@functools.cache
def operations() -> tuple[str, ...]:
    paths = api.get_openapi_schema()["paths"]
    return tuple(
        f"{method.upper()} {path.removeprefix(ROOT)}"
        for path, methods in paths.items()
        for method in methods
    )


def bound() -> Iterator[Operation]:
    for router in api._get_bound_routers():
        for view in router.path_operations.values():
            yield from view.operations


def test_every_operation_says_what_it_takes() -> None:
    assert sorted(operations()) == sorted(NEEDS)


def test_no_operation_is_without_a_door() -> None:
    for operation in bound():
        kinds = [type(door) for door in operation.auth_callbacks]
        assert kinds in ([Token, Session], [NoToken, Session]), operation.path


def _firing(lab: Laboratory) -> Firing:
    assert lab.finding is not None
    return Firing.objects.create(
        schedule=lab.finding.schedule, slot=BEGAN, due_at=BEGAN, state=FiringState.missed
    )


@pytest.fixture
def known(lab: Laboratory) -> dict[str, Any]:
    """What there is, by the name of the parameter that names it."""
    return {
        "review_id": submitted(lab.run).pk,
        "finding_id": lab.finding and lab.finding.pk,
        "schedule_id": lab.finding and lab.finding.schedule_id,
        "firing": _firing(lab).pk,
        "run_id": lab.run.pk,
        "study_id": lab.study.pk,
        "bundle_digest": lab.bundle.digest,
        "attempt_id": "cases-0001.A1",
        "ledger": "client",
        "path": "engine.log",
        "engine": "vllm",
        "token_id": 0,
    }


def address(operation: str, known: dict[str, Any], caller: str) -> tuple[str, str]:
    method, path = operation.split(" ")
    if "token_id" in path and caller != "anonymous":
        known = {**known, "token_id": issue_token(user(caller), name="t", scopes=[]).token.pk}
    return method, ROOT + path.format(**known)


def ask(client: Client, method: str, url: str) -> str:
    response = client.generic(method, url, b"{}", content_type="application/json")
    if response.streaming:
        b"".join(response)
    else:
        assert response.status_code == 204 or response.json() is not None
    return met(response.status_code)


@pytest.mark.parametrize("caller", EVERYBODY)
@pytest.mark.parametrize("way", [browser, with_token], ids=["session", "token"])
def test_everybody_meets_what_the_operation_takes(
    known: dict[str, Any], caller: str, way: Any
) -> None:
    client, wrong = way(caller), {}
    for operation in operations():
        need = Need(NEEDS[operation], any(f"{{{name}}}" in operation for name in OF_TEAM))
        expected = need.expected(caller)
        if operation in BY_SESSION and way is with_token and caller != "anonymous":
            expected = "forbidden"
        found = ask(client, *address(operation, known, caller))
        if found != expected:
            wrong[operation] = f"{found}, not {expected}"

    assert wrong == {}


@pytest.mark.parametrize("scope", ["view", "write", "review", "manage"])
def test_a_token_allows_its_scopes_and_nothing_else(known: dict[str, Any], scope: str) -> None:
    client, wrong = with_token("maintainer", (scope,)), {}
    for operation in operations():
        if operation in BY_SESSION:
            continue
        expected = "let in" if NEEDS[operation] == scope else "forbidden"
        # Who may not look finds nothing that could be changed.
        if NEEDS[operation] == scope != "view" and any(n in operation for n in OF_TEAM):
            expected = "not there"
        found = ask(client, *address(operation, known, "maintainer"))
        if found != expected:
            wrong[operation] = f"{found}, not {expected}"

    assert wrong == {}


def test_a_session_needs_the_csrf_token_to_change_something(lab: Laboratory) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(user("author"))
    url = f"{ROOT}/runs/{lab.by_state['queued'].pk}/cancel"

    refused = client.post(url)
    client.get("/account")  # sets the cookie
    token = client.cookies["csrftoken"].value
    allowed = client.post(url, headers={"X-CSRFToken": token})

    assert refused.status_code == 403
    assert refused.json()["error"]["findings"][0]["field"] == "csrf"
    assert allowed.status_code == 202


def test_a_bad_token_is_no_reason_to_look_at_the_cookie(lab: Laboratory) -> None:
    client = browser("maintainer")

    response = client.get(f"{ROOT}/me", headers={"Authorization": "Bearer assay_none"})

    assert response.status_code == 401
    assert response["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    ("path", "status"), [("/nothing", 404), ("/runs/not-an-id", 404), ("/rules", 405)]
)
def test_what_no_operation_answers_is_said_in_the_same_form(
    db: None, path: str, status: int
) -> None:
    response = with_token("viewer").generic("PATCH", ROOT + path)

    assert response.status_code == status
    assert set(response.json()["error"]) == {"code", "findings", "reference"}
    assert response["Assay-Api"] == "1.0"


def test_runs_of_others_cannot_be_compared(lab: Laboratory) -> None:
    first, second = lab.sweep[0].pk, lab.sweep[1].pk

    own = with_token("viewer").get(f"{ROOT}/compare?run={first}&run={second}")
    others = with_token("other team").get(f"{ROOT}/compare?run={first}&run={second}")

    assert (own.status_code, others.status_code) == (200, 404)


def test_no_secret_is_written_to_a_log(
    lab: Laboratory, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = issue_token(user("viewer"), name="t", scopes=[Action.view]).secret
    monkeypatch.setattr("assay.accounts.tokens.tokens_of", lambda user: 1 / 0)

    response = Client().get(f"{ROOT}/tokens", headers={"Authorization": f"Bearer {secret}"})

    assert response.status_code == 500
    assert f"reference {response.json()['error']['reference']}" in caplog.text
    assert secret not in caplog.text
