"""Who may look: somebody at this machine or signed in; nobody else, on any page."""

from collections.abc import Iterator

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import URLPattern, get_resolver, reverse

from tests.assay.pages.factory import Laboratory

OPEN = {"healthz", "login"}


def every_page(lab: Laboratory) -> Iterator[tuple[str, str]]:
    given = {
        "run_id": lab.run.pk,
        "study_id": lab.study.pk,
        "digest": lab.artifact.digest,
        "attempt_id": "cases-0001.A1",
        "number": 0,
        "form": "csv",
        "path": "engine.log",
        "slug": "Qwen__Qwen3-8B",
        "key": "vllm",
        "versions": ("0.32.0", "0.33.0"),
    }
    for pattern in get_resolver().reverse_dict.keys():  # noqa: SIM118 - a MultiValueDict
        if isinstance(pattern, str):
            for found in _patterns():
                if found.name == pattern:
                    names = found.pattern.converters
                    yield pattern, reverse(pattern, kwargs={n: given[n] for n in names})


def _patterns() -> list[URLPattern]:
    from assay.pages.urls import urlpatterns

    return urlpatterns


def test_a_stranger_is_sent_to_sign_in_from_every_page(lab: Laboratory, stranger: Client) -> None:
    seen = list(every_page(lab))

    assert len(seen) >= 20
    for name, url in seen:
        response = stranger.get(url)
        assert response.status_code == 302, name
        assert response["Location"].startswith("/login/?next="), name


def test_somebody_at_this_machine_sees_every_page(lab: Laboratory, somebody: Client) -> None:
    for name, url in every_page(lab):
        response = somebody.get(url)
        b"".join(response)  # to its end, so that a file is closed
        assert response.status_code == 200, name


def test_who_comes_through_a_proxy_is_not_at_this_machine(
    lab: Laboratory, somebody: Client
) -> None:
    response = somebody.get("/", headers={"X-Forwarded-For": "127.0.0.1"})

    assert response.status_code == 302


def test_who_signs_in_sees_the_page_asked_for(lab: Laboratory, stranger: Client) -> None:
    get_user_model().objects.create_user("ada", password="an assay of silver")
    url = reverse("run", args=[lab.run.pk])

    response = stranger.post(
        f"/login/?next={url}", {"username": "ada", "password": "an assay of silver", "next": url}
    )

    assert response["Location"] == url
    assert stranger.get(url).status_code == 200


def test_a_wrong_password_is_said_plainly(db: None, stranger: Client) -> None:
    response = stranger.post("/login/", {"username": "ada", "password": "guess"})

    assert "do not belong together" in response.content.decode()


def test_a_partial_is_refused_to_a_stranger_without_a_redirect(
    lab: Laboratory, stranger: Client
) -> None:
    response = stranger.get("/?part=table", headers={"HX-Request": "true"})

    assert response.status_code == 401


@pytest.mark.parametrize("name", sorted(OPEN))
def test_sign_in_and_health_are_open(name: str, db: None, stranger: Client) -> None:
    assert stranger.get(reverse(name)).status_code == 200


def test_no_page_can_be_written_to(lab: Laboratory, somebody: Client) -> None:
    for name, url in every_page(lab):
        assert somebody.post(url).status_code == 405, name


def test_no_page_lets_scripts_of_others_or_inline_ones_run(
    lab: Laboratory, somebody: Client
) -> None:
    for name, url in every_page(lab):
        response = somebody.get(url)
        b"".join(response)
        policy = response["Content-Security-Policy"]
        assert "script-src 'self'" in policy, name
        assert "unsafe-eval" not in policy
