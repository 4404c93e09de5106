"""``assay account``, ``team``, ``project`` and ``token``: who there is, and what stands for them."""

import io
import json

import pytest
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.test import Client

from assay.accounts.access import Access
from assay.accounts.models import Action, Role, Team
from assay.accounts.services import issue_token, join, main_project, token_of
from assay.archive.paths import Home
from assay.cli.main import main
from assay.ledger.models import Study

pytestmark = pytest.mark.django_db

CAPTURE = pytest.CaptureFixture[str]
PASSWORD = "an assay of silver"


@pytest.fixture(autouse=True)
def _home(assay_home: Home) -> None: ...


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{PASSWORD}\n"))


def printed(capsys: CAPTURE, *arguments: str, code: int = 0) -> str:
    assert main(arguments) == code
    return capsys.readouterr().out


def test_somebody_added_signs_in_with_the_password_that_was_read(
    typed: None, capsys: CAPTURE
) -> None:
    printed(capsys, "account", "add", "ada", "--email", "ada@example.org")

    assert authenticate(username="ada", password=PASSWORD) is not None
    row = next(
        a
        for a in json.loads(printed(capsys, "account", "list", "--json"))["accounts"]
        if a["name"] == "ada"
    )
    assert (row["email"], row["active"], row["administrator"]) == ("ada@example.org", True, False)
    assert PASSWORD not in json.dumps(row)


def test_an_administrator_sees_every_project(typed: None, capsys: CAPTURE) -> None:
    printed(capsys, "account", "add", "grace", "--administrator")

    assert Access(user=User.objects.get(username="grace")).everywhere


@pytest.mark.parametrize(
    ("name", "password", "words"),
    [
        ("ada", "1234", "password: This password is too short"),
        ("a b", PASSWORD, "name: a b (allowed: letters, digits"),
        ("", PASSWORD, "name: "),
        ("ada", "", "password: nothing"),
    ],
)
def test_a_name_or_password_that_will_not_do_is_refused(
    name: str, password: str, words: str, monkeypatch: pytest.MonkeyPatch, capsys: CAPTURE
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{password}\n"))

    assert main(["account", "add", name]) == 2

    said = capsys.readouterr().err
    assert words in said
    assert not password or password not in said
    assert not User.objects.filter(username=name).exists()


def test_whoever_is_shut_out_is_out_at_once(capsys: CAPTURE) -> None:
    ada = User.objects.create_user("ada", password=PASSWORD)
    join(main_project().team, ada, Role.author)
    secret = issue_token(ada, name="t", scopes=[Action.view]).secret
    session = Client()
    session.force_login(ada)

    printed(capsys, "account", "disable", "ada")

    assert authenticate(username="ada", password=PASSWORD) is None
    assert token_of(secret) is None
    assert session.get("/").status_code == 302
    printed(capsys, "account", "enable", "ada")
    assert authenticate(username="ada", password=PASSWORD) is not None
    assert token_of(secret) is None  # what was revoked stays so


def test_teams_projects_and_members_as_they_are_written_down(capsys: CAPTURE) -> None:
    User.objects.create_user("ada")
    printed(capsys, "team", "add", "kernels", "--name", "Kernel group")
    printed(capsys, "project", "add", "nightly", "--team", "kernels")
    printed(capsys, "team", "join", "kernels", "ada", "--role", "author")

    teams = {t["team"]: t for t in json.loads(printed(capsys, "team", "list", "--json"))["teams"]}

    assert teams["kernels"] == {
        "team": "kernels",
        "name": "Kernel group",
        "members": {"ada": "author"},
        "projects": ["nightly"],
    }
    printed(capsys, "team", "leave", "kernels", "ada")
    assert not Team.objects.get(slug="kernels").memberships.exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("team", "join", "nobodys", "ada"), "team: nobodys (allowed: one of main)"),
        (("team", "join", "main", "eve"), "name: eve (allowed: the name of somebody"),
        (("team", "join", "main"), "person: nobody"),
        (("team", "leave", "main", "ada"), "member: ada (allowed: one of nobody"),
        (("team", "add", "main"), "team: main (allowed: a free name)"),
        (("project", "add", "main"), "project: main (allowed: a free name)"),
        (("project", "add", "no way"), "project: no way (allowed: 1 to 60 letters"),
        (("token", "new"), "name:  (allowed: 1 to 80 characters)"),
        (("token", "new", "t", "--scopes", "all"), "scopes: all (allowed: view,write"),
        (("token", "new", "t", "--days", "400"), "days: 400 (allowed: 1 to 366)"),
        (("token", "revoke", "7"), "token: 7"),
        (("account", "password", "eve"), "name: eve"),
    ],
)
def test_bad_input_names_the_field_and_what_is_allowed(
    arguments: tuple[str, ...], words: str, capsys: CAPTURE
) -> None:
    User.objects.create_user("ada")

    assert main(arguments) == 2

    assert words in capsys.readouterr().err


def test_a_token_is_printed_once_and_listed_by_what_it_begins_with(capsys: CAPTURE) -> None:
    secret = printed(capsys, "token", "new", "laptop", "--scopes", "view", "--days", "7").strip()

    token = token_of(secret)
    listed = printed(capsys, "token", "list")
    assert token is not None
    assert token.scopes == ["view"]
    assert secret not in listed
    assert secret[:12] in listed
    printed(capsys, "token", "revoke", str(token.pk))
    assert token_of(secret) is None


@pytest.mark.parametrize("way", ["option", "environment"])
def test_a_study_is_put_into_the_project_that_is_named(
    way: str, monkeypatch: pytest.MonkeyPatch, capsys: CAPTURE
) -> None:
    printed(capsys, "project", "add", "nightly")
    monkeypatch.setattr("assay.execution.submitting.refused_here", lambda specs: None)
    arguments = ["submit", "study=smollm2_torch"]
    if way == "option":
        arguments += ["--project", "nightly"]
    else:
        monkeypatch.setenv("ASSAY_PROJECT", "nightly")

    printed(capsys, *arguments)

    assert Study.objects.get().project.slug == "nightly"


def test_an_unknown_project_is_refused_before_anything_is_written(
    monkeypatch: pytest.MonkeyPatch, capsys: CAPTURE
) -> None:
    monkeypatch.setattr("assay.execution.submitting.refused_here", lambda specs: None)

    assert main(["submit", "study=smollm2_torch", "--project", "elsewhere"]) == 2

    assert "project: elsewhere (allowed: one of main)" in capsys.readouterr().err
    assert not Study.objects.exists()
