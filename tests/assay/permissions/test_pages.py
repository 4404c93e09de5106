"""Every page, by everybody. A new page needs its line in ``NEEDS``."""

import pytest
from django.test import Client

from tests.assay.pages.addresses import every_page, patterns
from tests.assay.pages.conftest import lab as lab
from tests.assay.pages.factory import Laboratory
from tests.assay.permissions.callers import EVERYBODY, Need, browser, met

# page -> what it takes to look, what it takes to post; None: it does not take that method
NEEDS: dict[str, tuple[str | None, str | None]] = {
    "home": ("view", None),
    "runs": ("view", None),
    "runs-tag": (None, "write"),
    "saved-views": ("view", "view"),
    "run": ("view", None),
    "run-progress": ("view", None),
    "run-identity": ("view", None),
    "run-declaration": ("view", None),
    "run-timeline": ("view", None),
    "run-timeline-detail": ("view", None),
    "run-ledgers": ("view", None),
    "run-latency": ("view", None),
    "run-residuals": ("view", None),
    "run-diagnosis": ("view", None),
    "run-evidence": ("view", None),
    "run-log": ("view", None),
    "run-files": ("view", None),
    "run-file": ("view", None),
    "run-quote": ("view", None),
    "run-attempts": ("view", None),
    "run-attempt": ("view", None),
    "run-cancel": ("write", "write"),
    "run-repeat": ("write", "write"),
    "compare": ("view", None),
    "compare-report": ("view", None),
    "run-report": ("view", None),
    "review-report": ("view", None),
    "notifications": ("view", "view"),
    "launch": ("write", "write"),
    "launch-resolved": ("write", "write"),
    "launch-checked": ("write", "write"),
    "studies": ("view", None),
    "study": ("view", None),
    "study-cancel": ("write", "write"),
    "study-repeat": ("write", "write"),
    "reviews": ("view", None),
    "review-submit": ("write", "write"),
    "review": ("view", None),
    "review-judge": (None, "review"),
    "review-step": (None, "write"),
    "review-manage": (None, "manage"),
    "run-discussion": ("view", "write"),
    "run-notes": (None, "write"),
    "study-notes": (None, "write"),
    "thread": ("view", None),
    "thread-turn": (None, "write"),
    "schedules": ("view", None),
    "schedule": ("view", None),
    "schedule-series": ("view", None),
    "schedule-approve": (None, "manage"),
    "schedule-pause": (None, "manage"),
    "schedule-fire": (None, "write"),
    "schedule-accept": (None, "manage"),
    "finding": ("view", None),
    "finding-bisect": (None, "write"),
    "finding-move": (None, "manage"),
    "artifacts": ("view", None),
    "artifact": ("view", None),
    "models": ("view", None),
    "fits": ("view", None),
    "model": ("view", None),
    "engines": ("view", None),
    "engine": ("view", None),
    "engine-diff": ("view", None),
    "rules": ("view", None),
    "operations": ("manage", None),
    "account": ("view", "view"),
    "account-password": (None, "view"),
    "account-token-revoke": (None, "view"),
    "teams": ("view", None),
    "team": ("view", None),
    "team-member": (None, "manage"),
    "team-member-remove": (None, "manage"),
    "team-project": (None, "manage"),
}
# Names in addresses that stand for something of a team.
OF_TEAM = {
    *("run_id", "study_id", "digest", "team"),
    *("review_id", "thread_id", "schedule_id", "finding_id"),
}
# Posted to with nothing, or with the id of nobody's thing, these answer 404 to whoever is let in.
NOTHING_THERE = {"account-password", "account-token-revoke", "schedule-accept"}


def test_every_page_says_what_it_takes() -> None:
    assert sorted(patterns()) == sorted(NEEDS)


@pytest.mark.parametrize("caller", EVERYBODY)
def test_everybody_meets_what_the_page_takes(lab: Laboratory, caller: str) -> None:
    client = browser(caller)
    known, wrong = patterns(), {}
    for name, url in every_page(lab):
        of_team = bool(set(known[name].pattern.converters) & OF_TEAM)
        for method, action in zip(("GET", "POST"), NEEDS[name], strict=True):
            expected = expectation(action, of_team=of_team, caller=caller)
            found = ask(client, method, url)
            if found not in expected and not (name in NOTHING_THERE and found == "not there"):
                wrong[f"{method} {name}"] = f"{found}, not {' or '.join(expected)}"

    assert wrong == {}


def expectation(action: str | None, *, of_team: bool, caller: str) -> set[str]:
    if action is not None:
        return {Need(action, of_team).expected(caller)}
    # Of a method that a page does not take, it is enough that nothing is done.
    return {"no such method", "forbidden", "not there", "sign in"}


def ask(client: Client, method: str, url: str) -> str:
    response = client.generic(method, url)
    if response.streaming:
        b"".join(response)  # to its end, so that a file is closed
    return met(response.status_code, response.headers.get("Location", ""))
