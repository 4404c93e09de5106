"""The launch page: what a choice comes to before anything is queued, and queuing what was shown."""

import re
from collections.abc import Callable
from html import unescape

import pytest
from django.contrib.auth import get_user_model
from django.http import QueryDict
from django.test import Client

from assay.accounts.models import MAIN_PROJECT, Project, Role, Team
from assay.accounts.services import join, main_project
from assay.archive.paths import Home
from assay.execution import rehearsing
from assay.ledger.models import Run, Study
from assay.pages.contexts.launch_asked import Asked, command, quoted
from experiments.compose import compose
from experiments.plan import plan
from tests.assay.pages.conftest import page

HTMX = {"HX-Request": "true"}
SMOKE = {"study": "smollm2_smoke", "project": str(MAIN_PROJECT)}


@pytest.fixture(autouse=True)
def here(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsing, "_memory", rehearsing._Memory())
    monkeypatch.setattr("assay.execution.submitting.nudge", lambda _queue: True)


def asked(**fields: str) -> Asked:
    data = QueryDict(mutable=True)
    data.update(fields)
    return Asked.parse(data)


def shown(client: Client, **fields: str) -> str:
    response = client.post("/launch/resolved", {**SMOKE, **fields}, headers=HTMX)
    assert response.status_code == 200
    return response.content.decode()


def hidden(text: str, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]+)"', text)
    assert found is not None, name
    return unescape(found[1])


def test_the_form_offers_every_group_with_what_each_file_is(somebody: Client) -> None:
    text = page(somebody, "/launch")

    assert "smollm2_smoke: SmolLM2-135M-Instruct on the torch engine" in text
    for group in ("artifact", "engine", "device", "workload", "load", "contract", "evidence"):
        assert f'name="g.{group}"' in text
    assert "Nothing is chosen yet" in text
    assert "assay submit study=smollm2_smoke" in text


def test_an_address_fills_the_form_in_and_shows_the_very_digest_of_the_command_line(
    somebody: Client,
) -> None:
    [spec] = plan([compose(["study=smollm2_smoke", "load.concurrency=3"])])

    text = page(somebody, "/launch?study=smollm2_smoke&v.load.concurrency=3")

    assert f'title="{spec.digest}"' in text
    assert "assay submit study=smollm2_smoke load.concurrency=3" in text
    assert 'name="v.load.concurrency" value="3"' in text
    assert "h_kv: 3" in text  # of the resolved YAML
    assert 'name="v.engine.settings.max_batch"' in text


@pytest.mark.req("12.06")
def test_the_memory_budget_stands_beside_the_device(somebody: Client) -> None:
    text = shown(somebody)

    # 134 515 008 parameters in float32; 512 blocks x 16 tokens x 46 080 bytes
    assert 'title="538060032 byte"' in text
    assert 'title="377487360 byte"' in text
    assert "2 sequences of 39 tokens" in text
    assert "memory of this machine, /proc/meminfo" in text


def test_a_finding_stands_beside_its_field_and_the_button_stays_off(somebody: Client) -> None:
    free = shown(somebody, free="load.x=1")
    typed = shown(somebody, **{"v.load.concurrency": "many"})

    beside = free[free.index('id="at-free"') :]
    assert "load.x" in beside[:400]
    beside = typed[typed.index('id="at-load-concurrency"') :]
    assert "load.concurrency=many" in beside[:400]
    for text in (free, typed):
        assert "Refused: 1 finding" in text
        assert "disabled>Queue" in text
        assert "/launch/checked" not in text


@pytest.mark.forbids
@pytest.mark.parametrize(
    "written",
    ["hydra.run.dir=/tmp/x", "~load", "++load.seed=1", "load.seed=${oc.env:HOME}", 'load.seed="1'],
)
def test_the_free_box_keeps_the_rules_of_the_command_line(somebody: Client, written: str) -> None:
    text = shown(somebody, free=written)

    assert "Refused: 1 finding" in text
    assert not Study.objects.exists()


def test_a_sweep_shows_each_cell_with_its_digest(somebody: Client) -> None:
    specs = plan(
        [compose(["study=smollm2_smoke", f"load.concurrency={number}"]) for number in (1, 2)]
    )

    text = shown(somebody, sweep="load.concurrency=1,2", **{"v.study.repetitions": "2"})

    for spec in specs:
        assert spec.digest in text
    assert "Queue 4 runs" in text
    assert "assay submit -m study=smollm2_smoke study.repetitions=2 load.concurrency=1,2" in text


def test_the_address_follows_what_is_filled_in(somebody: Client) -> None:
    response = somebody.post("/launch/resolved", {**SMOKE, "v.load.concurrency": "3"}, headers=HTMX)

    again = page(somebody, response["HX-Replace-Url"])
    assert 'name="v.load.concurrency" value="3"' in again


def test_pins_are_looked_at_before_the_button_is_there(
    somebody: Client, behave: Callable[..., None]
) -> None:
    behave(prepare=3)

    text = somebody.post("/launch/checked", SMOKE, headers=HTMX).content.decode()

    assert "This machine lacks something" in text
    assert "Fetch the file again." in text
    assert "formaction" not in text


def queue(client: Client, **changed: str) -> tuple[int, str]:
    """Press the button that the page showed; status, and where it leads."""
    text = client.post("/launch/checked", SMOKE, headers=HTMX).content.decode()
    assert 'formaction="/launch"' in text
    fields = {name: hidden(text, name) for name in ("expected", "ticket")}
    response = client.post("/launch", {**SMOKE, **fields, **changed})
    return response.status_code, response.headers.get("Location", "")


def test_what_was_shown_is_queued_for_whoever_pressed(somebody: Client) -> None:
    [spec] = plan([compose(["study=smollm2_smoke"])])

    status, where = queue(somebody)

    study = Study.objects.get()
    run = Run.objects.get()
    assert (status, where) == (302, f"/studies/{study.id}")
    assert (run.state, run.spec_digest) == ("queued", spec.digest)
    assert study.owner == get_user_model().objects.get().get_username()
    assert (study.project_id, study.overrides) == (MAIN_PROJECT, ["study=smollm2_smoke"])


def test_pressing_twice_queues_once(somebody: Client) -> None:
    text = somebody.post("/launch/checked", SMOKE, headers=HTMX).content.decode()
    fields = {**SMOKE, **{name: hidden(text, name) for name in ("expected", "ticket")}}

    first, second = somebody.post("/launch", fields), somebody.post("/launch", fields)

    assert first["Location"] == second["Location"]
    assert Study.objects.count() == 1


@pytest.mark.forbids
def test_what_was_not_shown_is_not_queued(somebody: Client) -> None:
    status, _ = queue(somebody, **{"v.load.concurrency": "4"})

    assert status == 422
    assert not Study.objects.exists()


@pytest.mark.forbids
def test_a_declaration_that_cannot_start_here_is_not_queued(
    somebody: Client, behave: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = somebody.post("/launch/checked", SMOKE, headers=HTMX).content.decode()
    fields = {name: hidden(text, name) for name in ("expected", "ticket")}
    monkeypatch.setattr(rehearsing, "_memory", rehearsing._Memory())
    behave(prepare=2)

    response = somebody.post("/launch", {**SMOKE, **fields})

    assert response.status_code == 422
    assert "Fetch the file again." in response.content.decode()
    assert not Study.objects.exists()


def member(role: Role, team: Team) -> Client:
    ada = get_user_model().objects.create_user("ada")
    join(team, ada, role)
    client = Client()
    client.force_login(ada)
    return client


@pytest.mark.forbids
def test_a_viewer_launches_nothing(db: None) -> None:
    client = member(Role.viewer, main_project().team)

    assert client.get("/launch").status_code == 403
    assert client.post("/launch/resolved", SMOKE).status_code == 403
    assert client.post("/launch", SMOKE).status_code == 403


@pytest.mark.forbids
def test_nobody_launches_into_a_project_of_others(db: None) -> None:
    other = Team.objects.create(slug="other", name="Other")
    Project.objects.create(slug="other", name="Other", team=other)
    main_project()
    client = member(Role.author, other)

    response = client.post("/launch", SMOKE)

    assert response.status_code == 422
    assert "Choose one of the projects below" in response.content.decode()
    assert not Study.objects.exists()


@pytest.mark.parametrize(
    "text", ['say "so"', "back\\slash", 'end\\"', "a=b, [c] {d}", "comma, 'single'", "\\"]
)
def test_words_reach_the_declaration_as_they_were_typed(text: str) -> None:
    composed = compose(["study=smollm2_smoke", f"study.title={quoted(text)}"])

    assert composed.document["study"]["title"] == text


def test_the_command_can_be_pasted_into_a_shell() -> None:
    wanted, wrong = asked(
        study="smollm2_smoke", tags="a, b", free="load.seed=3", **{"v.study.title": "It's"}
    ).wanted()

    assert wrong == []
    assert command(wanted) == (
        "assay submit study=smollm2_smoke 'study.title=\"It'\"'\"'s\"' "
        '\'study.tags=["a","b"]\' load.seed=3'
    )
