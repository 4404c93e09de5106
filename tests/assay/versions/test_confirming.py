"""A record is the version's own word until a run showed it; the link is a row that is never changed."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction

from assay.archive.paths import Home
from assay.ledger.ids import uuid7
from assay.ledger.models import Run
from assay.ledger.services import record_bundle
from assay.versions.confirming import THE_VERSION, confirm_change, confirm_version
from assay.versions.models import Confirmation
from assay.versions.queries import shown_by
from experiments.errors import Finding, Refusal
from runners.protocol.documents import Pointer
from tests.assay.ledger.summaries import summary
from tests.assay.specs import queued_study

pytestmark = pytest.mark.django_db
DIGEST = "c" * 64
SAID = {"strength": "log", "statement": "GET /version answered", "pointer": None}
LOG = "banner\nWARNING --log-config-file is deprecated and will be removed in v0.33.0\n"


@pytest.fixture
def run(assay_home: Home) -> Run:
    """A sealed run of vLLM whose engine printed a warning about a flag."""
    made = queued_study().runs.get()
    execution = uuid7()
    Run.objects.filter(pk=made.pk).update(
        engine_key="vllm", engine_version="0.32.0", state="sealed", accepted_execution=execution
    )
    made.refresh_from_db()
    record_bundle(summary(made), run=made, execution_id=execution)
    folder = assay_home.bundle(DIGEST)
    folder.mkdir(parents=True)
    (folder / "engine.log").write_text(LOG)
    return made


def identified(home: Home, ran: Any, *evidence: Any) -> Path:
    folder = home.bundle(DIGEST)
    item = {"item": "engine_version", "declared": {"version": "0.32.0"}, "ran": ran}
    document = {"run": [item | {"evidence": list(evidence)}]}
    (folder / "identity.json").write_text(json.dumps(document))
    return folder


def confirm(run: Run, folder: Path) -> Confirmation | None:
    return confirm_version(run, run.bundles.get(), folder)


@pytest.mark.req("7.16", "7.17")
def test_a_run_whose_engine_answered_the_version_shows_its_record(
    run: Run, assay_home: Home
) -> None:
    folder = identified(assay_home, {"answered": "0.32.0+cpu"}, SAID)

    first, again = confirm(run, folder), confirm(run, folder)

    assert first == again
    found = shown_by(["vllm 0.32.0", "vllm 0.33.0"])
    assert found[("vllm 0.32.0", THE_VERSION)].run == run
    assert len(found) == 1


@pytest.mark.req("7.17")
@pytest.mark.forbids
@pytest.mark.parametrize(
    ("ran", "evidence"),
    [
        (None, ()),
        ({"answered": "0.32.0"}, ()),
        ({"answered": "0.32.0"}, (SAID | {"strength": "source"},)),
        ({"key": "vllm"}, (SAID,)),
        ({"answered": "0.31.7"}, (SAID,)),
        ({"answered": "newest"}, (SAID,)),
        ("0.32.0", ("log",)),
    ],
)
def test_a_run_without_the_engines_own_word_on_a_recorded_version_shows_nothing(
    ran: Any, evidence: tuple[Any, ...], run: Run, assay_home: Home
) -> None:
    assert confirm(run, identified(assay_home, ran, *evidence)) is None
    assert not Confirmation.objects.exists()


@pytest.mark.req("7.17")
def test_a_change_is_shown_by_a_line_of_the_log_that_names_it(run: Run, assay_home: Home) -> None:
    identified(assay_home, {"answered": "0.32.0"}, SAID)

    confirm_change(run, "--log-config-file", Pointer(file="engine.log", line=2))

    row = shown_by(["vllm 0.32.0"])[("vllm 0.32.0", "--log-config-file")]
    assert row.evidence == [{"file": "engine.log", "line": 2}]
    assert row.strength == "log"


@pytest.mark.req("7.17", "7.23")
@pytest.mark.forbids
@pytest.mark.parametrize(
    ("statement", "pointer", "field"),
    [
        ("--log-config-file", Pointer(file="engine.log", line=1), "evidence"),
        ("--log-config-file", Pointer(file="engine.log", line=99), "evidence"),
        ("--log-config-file", Pointer(file="spec.json", line=1), "evidence"),
        ("--ir-op-priority", Pointer(file="engine.log", line=2), "statement"),  # of 0.33.0
    ],
)
def test_a_change_is_not_shown_by_what_does_not_name_it(
    statement: str, pointer: Pointer, field: str, run: Run, assay_home: Home
) -> None:
    identified(assay_home, {"answered": "0.32.0"}, SAID)

    assert refusal(run, statement, pointer).field == field


@pytest.mark.req("7.17")
@pytest.mark.forbids
def test_a_declared_version_shows_no_change(run: Run, assay_home: Home) -> None:
    identified(assay_home, None)

    found = refusal(run, "--log-config-file", Pointer(file="engine.log", line=2))

    assert found.field == "run"
    assert "own word on its version is missing" in found.seen


def refusal(run: Run, statement: str, pointer: Pointer) -> Finding:
    with pytest.raises(Refusal) as refused:
        confirm_change(run, statement, pointer)
    return refused.value.findings[0]


@pytest.mark.parametrize(
    "statement",
    ["UPDATE versions_confirmation SET strength = 'trace'", "DELETE FROM versions_confirmation"],
)
def test_the_database_itself_keeps_a_confirmation_as_it_is(
    statement: str, run: Run, assay_home: Home
) -> None:
    confirm(run, identified(assay_home, {"answered": "0.32.0"}, SAID))

    with (
        pytest.raises(DatabaseError, match="cannot be changed"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)
