"""Who may look: who signed in, at what their team owns; nobody else, on any page."""

from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from assay.accounts.models import Role, SignInLink, Team
from assay.accounts.services import (
    join,
    local_user,
    main_project,
    make_sign_in_link,
    redeem_sign_in_link,
)
from tests.assay.pages.addresses import every_page
from tests.assay.pages.factory import Laboratory

OPEN = {"healthz", "login"}


def test_a_stranger_is_sent_to_sign_in_from_every_page(lab: Laboratory, stranger: Client) -> None:
    seen = list(every_page(lab))

    assert len(seen) >= 20
    for name, url in seen:
        response = stranger.get(url)
        assert response.status_code == 302, name
        assert response["Location"].startswith("/login/?next="), name


def test_a_printed_link_signs_in_whoever_sits_at_this_machine_once(lab: Laboratory) -> None:
    link = reverse("login-link", args=[make_sign_in_link(local_user())])
    first, second = Client(REMOTE_ADDR="127.0.0.1"), Client(REMOTE_ADDR="127.0.0.1")

    assert first.get(link)["Location"] == "/"
    assert second.get(link).status_code == 403

    assert first.get("/").status_code == 200
    assert second.get("/").status_code == 302


@pytest.mark.parametrize(
    ("address", "headers", "embedded"),
    [
        ("192.0.2.7", {}, True),
        ("127.0.0.1", {"X-Forwarded-For": "127.0.0.1"}, True),
        ("127.0.0.1", {}, False),
    ],
    ids=["over the network", "through a proxy", "where people have accounts"],
)
def test_a_link_signs_nobody_in_from_elsewhere(
    lab: Laboratory,
    settings: Settings,
    address: str,
    headers: dict[str, str],
    embedded: bool,
) -> None:
    settings.EMBEDDED = embedded
    secret = make_sign_in_link(local_user())
    client = Client(REMOTE_ADDR=address)

    response = client.get(reverse("login-link", args=[secret]), headers=headers)

    assert response.status_code == 403
    assert client.get("/").status_code == 302
    assert SignInLink.objects.get().used_at is None


def test_a_link_is_too_old_after_a_quarter_of_an_hour(lab: Laboratory) -> None:
    secret = make_sign_in_link(local_user())
    SignInLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    assert redeem_sign_in_link(secret) is None


def test_what_a_team_does_not_own_does_not_exist_for_its_members(lab: Laboratory) -> None:
    other = Team.objects.create(slug="other", name="Other")
    zoe = get_user_model().objects.create_user("zoe")
    join(other, zoe, Role.maintainer)
    client = Client()
    client.force_login(zoe)

    hidden = [url for name, url in every_page(lab) if _names_something(url, lab)]

    assert len(hidden) >= 12
    for url in hidden:
        assert client.get(url).status_code == 404, url
    for url in ("/", "/runs", "/studies", "/artifacts", "/engines/vllm"):
        text = client.get(url).content.decode()
        assert str(lab.run.pk)[:8] not in text, url
        assert lab.study.name not in text, url


def _names_something(url: str, lab: Laboratory) -> bool:
    return any(str(key) in url for key in (lab.run.pk, lab.study.pk, lab.artifact.digest))


def test_who_signs_in_sees_the_page_asked_for(lab: Laboratory, stranger: Client) -> None:
    ada = get_user_model().objects.create_user("ada", password="an assay of silver")
    join(main_project().team, ada, Role.viewer)
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
    response = stranger.get("/runs?part=table", headers={"HX-Request": "true"})

    assert response.status_code == 401


@pytest.mark.parametrize("name", sorted(OPEN))
def test_sign_in_and_health_are_open(name: str, db: None, stranger: Client) -> None:
    assert stranger.get(reverse(name)).status_code == 200


def test_no_page_lets_scripts_of_others_or_inline_ones_run(
    lab: Laboratory, somebody: Client
) -> None:
    for name, url in every_page(lab):
        response = somebody.get(url)
        b"".join(response)
        policy = response["Content-Security-Policy"]
        assert "script-src 'self'" in policy, name
        assert "unsafe-eval" not in policy
