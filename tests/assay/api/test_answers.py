"""What the API says of a laboratory, to somebody who may see it."""

from collections.abc import Callable

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from assay.accounts.models import Role
from tests.assay.api.conftest import BASE, Caller
from tests.assay.pages.factory import Laboratory


def test_runs_are_listed_newest_first_in_pages(lab: Laboratory, author: Caller) -> None:
    first = author.get("/runs", size=4).json()
    last = author.get("/runs", size=4, page=3).json()

    # Three sealed runs of a sweep and one in each of six other states: nine, on three pages of four.
    assert [first[name] for name in ("total", "page", "pages", "next")] == [9, 1, 3, 2]
    assert (len(first["runs"]), len(last["runs"]), last["next"]) == (4, 1, None)
    assert first["runs"][0]["created_at"] >= first["runs"][-1]["created_at"]


def test_a_list_takes_the_query_language_of_the_pages(lab: Laboratory, author: Caller) -> None:
    found = author.get("/runs", q="state:sealed study:smollm2_concurrency").json()

    assert {row["run"] for row in found["runs"]} == {str(run.pk) for run in lab.sweep}


def test_a_query_that_is_not_understood_is_refused_word_by_word(
    lab: Laboratory, author: Caller
) -> None:
    response = author.get("/runs", q="stat:sealed ttft.p99<500")

    assert response.status_code == 422
    findings = response.json()["error"]["findings"]
    assert [f["field"] for f in findings] == ["stat:sealed", "ttft.p99<500"]
    assert all(set(f) == {"field", "seen", "allowed", "remedy"} for f in findings)


def test_a_run_is_the_object_that_the_command_line_prints(lab: Laboratory, author: Caller) -> None:
    from assay.ledger.run_objects import run_object

    found = author.get(f"/runs/{lab.run.pk}").json()

    printed = run_object(lab.run, lab.home)
    assert found["bundle"] == f"{BASE}/bundles/{lab.bundle.digest}"
    assert set(found) == set(printed)
    assert {k: v for k, v in found.items() if k != "bundle"} == {
        k: v for k, v in printed.items() if k != "bundle"
    }


@pytest.mark.parametrize("name", ["aggregates", "residuals", "gaps", "identity"])
def test_the_parts_of_a_reading_are_those_of_its_document(
    lab: Laboratory, author: Caller, name: str
) -> None:
    from assay.archive.stored_reading import StoredReading

    found = author.get(f"/runs/{lab.run.pk}/{name}").json()

    version = found["definition_version"]
    document = StoredReading(lab.home.derived / lab.bundle.digest / version).run()
    assert found[name] == document[name]  # type: ignore[literal-required]
    assert found["reason"] is None


def test_a_run_without_a_reading_says_why(lab: Laboratory, author: Caller) -> None:
    found = author.get(f"/runs/{lab.by_state['failed'].pk}/aggregates").json()

    assert (found["aggregates"], found["definition_version"]) == ([], None)
    assert found["reason"] == "no bundle: the run is failed: the engine died at start: Killed"


def test_ledger_rows_come_in_pages_that_join_to_the_whole(lab: Laboratory, author: Caller) -> None:
    url = f"/runs/{lab.run.pk}/ledgers/client"
    whole = author.get(url, size=1000).json()

    pages = [author.get(url, size=7, page=p).json()["rows"] for p in range(1, whole["total"])]
    joined = [row for rows in pages for row in rows]

    assert whole["total"] > 14
    assert joined == whole["rows"]
    assert {row["subject_type"] for row in whole["rows"]} == {"attempt"}


def test_the_ledgers_at_an_instant_are_those_of_the_command_line(
    lab: Laboratory, author: Caller
) -> None:
    from assay.archive.instants import at_instant
    from assay.archive.stored_reading import StoredReading

    url = f"/runs/{lab.run.pk}/ledgers"
    found = author.get(url, at="2s", size=5, page=2).json()

    reading = StoredReading(lab.home.derived / lab.bundle.digest / found["definition_version"])
    printed = at_instant(reading, 2_000_000_000)
    assert found["attempts"] == printed["attempts"][5:10]
    assert found["total"] == len(printed["attempts"])


def test_attempts_come_whole_and_one_of_them_alone(lab: Laboratory, author: Caller) -> None:
    page = author.get(f"/runs/{lab.run.pk}/attempts", size=3).json()
    one = author.get(f"/runs/{lab.run.pk}/attempts/{page['attempts'][1]['attempt_id']}").json()

    assert one["attempt"] == page["attempts"][1]
    assert (one["previous"], one["next"]) == tuple(
        page["attempts"][n]["attempt_id"] for n in (0, 2)
    )


def test_a_file_comes_byte_for_byte_and_no_other_is_given_out(
    lab: Laboratory, author: Caller
) -> None:
    digest = lab.bundle.digest
    listed = author.get(f"/bundles/{digest}/files").json()["files"]
    name = next(f["path"] for f in listed if f["present"])

    response = author.get(f"/bundles/{digest}/files/{name}")

    assert b"".join(response) == (lab.home.bundle(digest) / name).read_bytes()
    for outside in ("../../db.sqlite3", "%2e%2e/manifest.json", "nothing.json"):
        assert author.get(f"/bundles/{digest}/files/{outside}").status_code == 404


def test_verification_names_what_changed(lab: Laboratory, author: Caller) -> None:
    before = author.get(f"/bundles/{lab.bundle.digest}/verification").json()
    path = lab.home.bundle(lab.bundle.digest) / "engine.log"
    path.chmod(0o600)
    path.write_bytes(path.read_bytes() + b"x")

    after = author.get(f"/bundles/{lab.bundle.digest}/verification").json()

    assert not [p for p in before["problems"] if "engine.log" in p]
    assert [p for p in after["problems"] if "engine.log" in p]
    assert after["ok"] is False


def test_the_number_of_queries_does_not_grow_with_the_rows(
    lab: Laboratory, author: Caller, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    # Token, its use, memberships, count, rows, bundles; of queued ones what runs and who is before them.
    for size in (1, 9):
        with django_assert_max_num_queries(9):
            assert len(author.get("/runs", size=size).json()["runs"]) == size


def test_a_token_is_shown_once_and_only_to_a_session(
    lab: Laboratory, calling: Callable[..., Caller], somebody: Client
) -> None:
    wanted = {"name": "ci", "scopes": ["view"], "days": 7}
    by_token = calling(Role.maintainer).post("/tokens", wanted)

    made = somebody.post(f"{BASE}/tokens", wanted, content_type="application/json")

    assert by_token.status_code == 403
    assert made.status_code == 201
    caller = Caller(made.json()["secret"])
    assert caller.get("/me").json()["scopes"] == ["view"]
    assert "secret" not in caller.get("/tokens").json()["tokens"][0]


def test_a_revoked_token_stands_for_nobody(lab: Laboratory, author: Caller) -> None:
    number = author.get("/tokens").json()["tokens"][0]["token"]

    assert author.delete(f"/tokens/{number + 1}").status_code == 403
    assert author.delete(f"/tokens/{number}").status_code == 204  # it ends itself

    assert author.get("/me").status_code == 401


def test_rules_engines_and_versions_are_there_without_any_run(author: Caller) -> None:
    rules = author.get("/rules").json()["rules"]
    engines = {e["engine"]: e for e in author.get("/engines").json()["engines"]}
    versions = author.get("/engines/vllm/versions").json()["versions"]

    assert "ttft.first_content.client" in {rule["rule"] for rule in rules}
    assert engines["vllm"]["versions_read"] == [v["version"] for v in versions]
    assert author.get("/engines/abacus/versions").status_code == 404


def test_a_prediction_is_that_of_the_command_line(
    author: Caller, capsys: pytest.CaptureFixture[str]
) -> None:
    import json

    from assay.archive.model_configs import SHIPPED
    from assay.cli.main import main

    main(
        ["predict", "--config", str(SHIPPED / "Qwen__Qwen3-8B.json"), "--context", "2048", "--json"]
    )
    printed = json.loads(capsys.readouterr().out)

    found = author.post("/predict", {"model": "Qwen__Qwen3-8B", "context": 2048}).json()

    assert {**found, "memory": None} == {**printed, "memory": None}
    assert found["memory"]["known_bytes"] == printed["memory"]["known_bytes"]
