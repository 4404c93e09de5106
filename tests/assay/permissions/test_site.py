"""The whole site: nothing but pages, operations and doors, what the doors let in, and all other methods."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from assay.pages.urls import urlpatterns as pages
from assay.review.models import Review
from tests.assay.pages.addresses import every_page
from tests.assay.pages.conftest import lab as lab
from tests.assay.pages.factory import Laboratory
from tests.assay.permissions.callers import EVERYBODY, browser, met
from tests.assay.permissions.test_api import bound
from tests.assay.review.people import submitted

# Beside pages and operations: values in the address, what everybody meets there, what the anonymous meets.
DOORS: dict[str, tuple[dict[str, str], str, str]] = {
    "healthz": ({}, "let in", "let in"),
    "readyz": ({}, "let in", "let in"),
    "metrics": ({}, "let in", "let in"),
    "login": ({}, "let in", "let in"),
    "login-link": ({"secret": "a-guess"}, "forbidden", "forbidden"),
    "language": ({"code": "zh-hans"}, "let in", "let in"),
    "logout": ({}, "no such method", "sign in"),
    "api-docs": ({}, "let in", "sign in"),
    "api:openapi-json": ({}, "let in", "let in"),
    "api:api-root": ({}, "not there", "not there"),
}
# What names something of the team behind the question mark, or lists what it has.
ADDRESSES = (
    "/",
    "/runs?q=tag:smoke",
    "/runs?q={run}",
    "/runs?format=csv",
    "/studies?q=smollm2",
    "/studies?format=json",
    "/artifacts",
    "/compare?run={run}",
    "/compare?run={run}&run={another}",
    "/compare?run={run}&run={another}&format=json&table=distribution",
    "/compare?add={digest}",
    "/reviews",
    "/reviews/new?run={run}",
    "/reviews/new?study={study}",
    "/schedules",
)
OTHER_METHODS = ("PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
NOTHING_DONE = {"no such method", "forbidden", "not there", "sign in"}


def addresses(patterns: Sequence[URLPattern | URLResolver]) -> Iterator[URLPattern]:
    for one in patterns:
        if isinstance(one, URLResolver):
            yield from addresses(one.url_patterns)
        else:
            yield one


def test_no_address_is_outside_pages_api_and_doors() -> None:
    operations = {operation.view_func.__name__ for operation in bound()}
    doors = {name.rpartition(":")[2] for name in DOORS}
    found = list(addresses(get_resolver().url_patterns))

    strays = [p for p in found if p not in pages and p.name not in operations | doors]

    assert [str(stray.pattern) for stray in strays] == []
    assert {p for p in pages if isinstance(p, URLPattern)} <= set(found)


@pytest.mark.parametrize("caller", EVERYBODY)
def test_a_door_is_as_open_as_it_says(db: None, caller: str) -> None:
    client = browser(caller)
    place = 2 if caller == "anonymous" else 1

    found = {d: ask(client, "GET", reverse(d, kwargs=said[0])) for d, said in DOORS.items()}

    assert found == {door: said[place] for door, said in DOORS.items()}


@pytest.mark.parametrize("caller", ["viewer", "other team", "anonymous"])
def test_a_method_that_no_page_has_does_nothing_for_anybody(lab: Laboratory, caller: str) -> None:
    client, wrong = browser(caller), {}
    for name, url in every_page(lab):
        for method in OTHER_METHODS:
            if (found := ask(client, method, url)) not in NOTHING_DONE:
                wrong[f"{method} {name}"] = found

    assert wrong == {}


@pytest.mark.parametrize("caller", ["viewer", "other team"])
def test_asking_for_the_head_alone_meets_what_the_page_meets(lab: Laboratory, caller: str) -> None:
    client = browser(caller)
    for name, url in every_page(lab):
        assert ask(client, "HEAD", url) == ask(client, "GET", url), name


def test_nothing_of_a_team_is_told_to_others_whatever_a_query_names(lab: Laboratory) -> None:
    submitted(lab.run)
    author, other, wrong = browser("author"), browser("other team"), {}
    for address in ADDRESSES:
        url = address.format(
            run=lab.run.pk,
            another=lab.sweep[0].pk,
            study=lab.study.pk,
            digest=lab.bundle.digest[:12],
        )
        own = author.get(url, follow=True)
        if own.status_code != 200 or not told(own):
            wrong[address] = "tells nobody anything, so that nothing is shown here"
        if words := told(other.get(url, follow=True)):
            wrong[address] = f"tells others {words}"

    assert wrong == {}


@pytest.mark.parametrize("way", ["page", "API"])
def test_runs_of_others_are_not_submitted_for_review(lab: Laboratory, way: str) -> None:
    client, run = browser("other team"), str(lab.run.pk)
    asked = {"run": run, "runs": [run], "title": "t", "statement": "s"}

    if way == "page":
        found = client.post("/reviews/new", asked)
    else:
        found = client.post("/api/v1/reviews", asked, content_type="application/json")

    assert 400 <= found.status_code < 500
    assert not Review.objects.exists()


# What the laboratory and its review are called; no query above names any of it.
SECRETS = (
    "SmolLM2 on two CPU cores under load",
    "How do first token and output rate move",
    "SmolLM2-135M-Instruct Q4_1",
    "SmolLM2 under load",
    "smollm2 nightly",
    "smollm2_concurrency",
)


def told(response: Any) -> list[str]:
    text = (b"".join(response) if response.streaming else response.content).decode()
    return [word for word in SECRETS if word in text]


def ask(client: Client, method: str, url: str) -> str:
    response = client.generic(method, url)
    if response.streaming:
        b"".join(response)  # to its end, so that a file is closed
    return met(response.status_code, response.headers.get("Location", ""))
