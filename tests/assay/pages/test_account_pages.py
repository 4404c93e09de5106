"""One's own account, and the teams one is in."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from assay.accounts.models import ApiToken, FailedSignIn, Membership, Project, Role, Team
from assay.accounts.services import issue_token, join, main_project, token_of
from tests.assay.pages.conftest import page

PASSWORD = "an assay of silver"


@pytest.fixture
def main(db: None) -> Team:
    return main_project().team


def signed_in(name: str, role: Role | None = None) -> Client:
    user = User.objects.create_user(name, password=PASSWORD)
    if role is not None:
        join(main_project().team, user, role)
    client = Client()
    client.force_login(user)
    return client


def test_a_new_token_is_shown_once_and_works(main: Team) -> None:
    ada = signed_in("ada", Role.author)

    made = ada.post("/account", {"name": "laptop", "scopes": ["view", "write"], "days": "30"})

    secret = made.content.decode().split("<code>assay_")[1].split("<")[0]
    token = token_of(f"assay_{secret}")
    assert token is not None
    assert (token.name, token.scopes) == ("laptop", ["view", "write"])
    assert made["Cache-Control"].startswith("max-age=0")
    assert secret not in page(ada, "/account")


def test_a_token_without_scopes_is_refused_in_words(main: Team) -> None:
    ada = signed_in("ada")

    response = ada.post("/account", {"name": "laptop", "days": "30"})

    assert response.status_code == 422
    assert "This field is required." in response.content.decode()
    assert not ApiToken.objects.exists()


def test_one_revokes_one_s_own_tokens_and_nobody_else_s(main: Team) -> None:
    ada, bob = signed_in("ada"), signed_in("bob")
    issued = issue_token(User.objects.get(username="ada"), name="t", scopes=[])
    url = reverse("account-token-revoke", args=[issued.token.pk])

    assert bob.post(url).status_code == 404
    assert token_of(issued.secret) is not None
    assert ada.post(url).status_code == 302

    assert token_of(issued.secret) is None


def test_a_changed_password_ends_the_other_sessions(main: Team, settings: Settings) -> None:
    settings.EMBEDDED = False
    here, elsewhere = signed_in("ada"), Client()
    elsewhere.login(username="ada", password=PASSWORD)
    new = {"new_password1": "a touch of gold", "new_password2": "a touch of gold"}

    assert here.post("/account/password", {"old_password": "guess", **new}).status_code == 422
    assert here.post("/account/password", {"old_password": PASSWORD, **new}).status_code == 302

    assert here.get("/account").status_code == 200
    assert elsewhere.get("/account").status_code == 302
    assert Client().login(username="ada", password="a touch of gold")


def test_where_nobody_has_a_password_none_can_be_changed(main: Team) -> None:
    ada = signed_in("ada")  # signed in by a link, on a machine of one person

    assert "Change it" not in page(ada, "/account")
    assert ada.post("/account/password", {}).status_code == 404


def test_a_maintainer_puts_people_in_and_changes_what_they_are(main: Team) -> None:
    grace = signed_in("grace", Role.maintainer)
    User.objects.create_user("ada")
    url = reverse("team-member", args=["main"])

    assert grace.post(url, {"person": "ada", "role": "viewer"}).status_code == 302
    assert grace.post(url, {"person": "ada", "role": "author"}).status_code == 302

    assert Membership.objects.get(user__username="ada").role == "author"
    assert "ada" in page(grace, "/teams/main")


def test_the_last_maintainer_stays_while_others_are_in_the_team(main: Team) -> None:
    grace = signed_in("grace", Role.maintainer)
    signed_in("ada", Role.viewer)

    leaves = grace.post(reverse("team-member-remove", args=["main"]), {"person": "grace"})
    steps_down = grace.post(
        reverse("team-member", args=["main"]), {"person": "grace", "role": "viewer"}
    )

    assert (leaves.status_code, steps_down.status_code) == (422, 422)
    assert "the only maintainer" in leaves.content.decode()
    assert Membership.objects.get(user__username="grace").role == "maintainer"


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("team-member", {"person": "nobody", "role": "viewer"}),
        ("team-member-remove", {"person": "nobody"}),
        ("team-project", {"slug": "main"}),
        ("team-project", {"slug": "not a slug"}),
    ],
)
def test_what_cannot_be_done_to_a_team_is_said_on_its_page(
    main: Team, address: str, said: dict[str, str]
) -> None:
    grace = signed_in("grace", Role.maintainer)

    response = grace.post(reverse(address, args=["main"]), said)

    assert response.status_code == 422
    assert 'role="alert"' in response.content.decode()


def test_a_new_project_is_the_team_s(main: Team) -> None:
    grace = signed_in("grace", Role.maintainer)

    grace.post(reverse("team-project", args=["main"]), {"slug": "nightly", "name": "Nightly"})

    assert Project.objects.get(slug="nightly").team == main


@pytest.mark.parametrize("role", [Role.viewer, Role.author, Role.reviewer])
@pytest.mark.parametrize("address", ["team-member", "team-member-remove", "team-project"])
def test_nobody_but_maintainers_changes_a_team(main: Team, role: Role, address: str) -> None:
    ada = signed_in("ada", role)
    said = {"person": "ada", "role": "maintainer", "slug": "mine"}

    assert ada.post(reverse(address, args=["main"]), said).status_code == 403

    assert Membership.objects.get(user__username="ada").role == role
    assert "Put somebody in" not in page(ada, "/teams/main")


def test_a_team_of_others_does_not_exist(main: Team) -> None:
    Team.objects.create(slug="other", name="Other")
    ada = signed_in("ada", Role.maintainer)

    assert ada.get("/teams/other").status_code == 404
    assert "Other" not in page(ada, "/teams")
    for address in ("team-member", "team-member-remove", "team-project"):
        assert ada.post(reverse(address, args=["other"]), {}).status_code == 404


def attempt(client: Client, password: str, address: str = "192.0.2.7") -> int:
    said = {"username": "ada", "password": password}
    return client.post("/login/", said, REMOTE_ADDR=address).status_code


def test_guessing_has_to_wait_even_with_the_right_password(main: Team) -> None:
    signed_in("ada")
    client = Client()

    guesses = [attempt(client, "guess") for _ in range(11)]
    right = client.post(
        "/login/", {"username": "ada", "password": PASSWORD}, REMOTE_ADDR="192.0.2.7"
    )

    assert guesses == [200] * 10 + [429]
    assert right.status_code == 429
    assert "Wait 15 min" in right.content.decode()
    assert 0 < int(right["Retry-After"]) <= 901


def test_who_guesses_elsewhere_does_not_lock_somebody_out_at_once(main: Team) -> None:
    signed_in("ada")
    for _ in range(11):
        attempt(Client(), "guess", "198.51.100.9")

    assert attempt(Client(), PASSWORD, "192.0.2.7") == 302


def test_after_a_quarter_of_an_hour_one_may_try_again(main: Team) -> None:
    signed_in("ada")
    for _ in range(10):
        attempt(Client(), "guess")
    FailedSignIn.objects.update(at=timezone.now() - timedelta(minutes=15, seconds=1))

    assert attempt(Client(), PASSWORD) == 302


def test_neither_names_nor_addresses_of_failures_are_kept(main: Team) -> None:
    attempt(Client(), "guess")

    keys = list(FailedSignIn.objects.values_list("key", flat=True))
    assert keys
    assert all(len(key) == 64 and set(key) <= set("0123456789abcdef") for key in keys)
