"""``assay review``: what the pages do, for a terminal and for scripts."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from assay.accounts.models import Role
from assay.accounts.services import join, local_user, main_project
from assay.archive.paths import Home
from assay.cli import main as cli
from assay.ledger.models import Interpretation, Study
from assay.review import steps
from assay.review.models import ForeignHistory
from assay.review.process import VerdictKind
from tests.assay.pages.factory import Laboratory, laboratory
from tests.assay.review.people import author, reviewer, submitted

Ran = Callable[..., tuple[int, Any, str]]


@pytest.fixture
def lab(transactional_db: None, assay_home: Home) -> Laboratory:
    return laboratory(assay_home)


@pytest.fixture
def assay(capsys: pytest.CaptureFixture[str]) -> Ran:
    """Runs the command line in this process; gives exit code, parsed stdout, stderr."""

    def ran(*arguments: str) -> tuple[int, Any, str]:
        code = cli.main(["review", *arguments, "--json"])
        out, err = capsys.readouterr()
        return code, json.loads(out) if out else None, err

    return ran


def test_a_review_is_submitted_judged_and_signed_off(lab: Laboratory, assay: Ran) -> None:
    Study.objects.update(owner="ada")  # the local user made none of the runs, and submits them
    code, made, _ = assay(
        "submit", str(lab.run.id), "--title", "Under load", "--statement", "TTFT p50 142 ms (E1)"
    )
    assert (code, made["state"]) == (0, "open")
    assert made["runs"][0]["bundle_digest"] == lab.bundle.digest

    code, refused, err = assay("approve", made["review"][:13], "--words", "fine")
    assert code == 2
    assert refused["refused"][0]["field"] == "by"
    assert "Ask another person" in err


def test_the_local_user_judges_what_another_submitted(lab: Laboratory, assay: Ran) -> None:
    review = submitted(lab.run)
    join(main_project().team, local_user(), Role.reviewer)
    name = str(review.id)

    assert assay("list")[1][0]["awaited"] == "verdict"
    for gap in assay("show", name)[1]["open_gaps"]:
        assert assay("accept-gap", name, gap, "--words", "not needed")[0] == 0
    assert assay("comment", name, "--words", "which level?")[0] == 0
    assert assay("request-changes", name, "--words", "say it")[1]["state"] == "changes_requested"
    steps.answer_changes(author(), review.id, "said")
    for item in assay("show", name)[1]["unanswered"]:
        done = assay("answer-item", name, item["key"], "holds", "--words", "read")
        assert done[0] == 0
    assert assay("approve", name, "--words", "yes")[1]["state"] == "approved"
    code, document, _ = assay("sign-off", name, "--words", "may be quoted")

    assert (code, document["state"]) == (0, "signed_off")
    assert len(document["sign_off"]["digest"]) == 64
    Interpretation.objects.create(
        bundle=lab.bundle, definition_version="2099.1.1", digest="ab" * 32
    )
    assert assay("show", name)[1]["state"] == "stale"
    assert assay("list", "--state", "stale")[1][0]["review"] == name


@pytest.mark.parametrize("name", ["nothing", "ffffffff", "12"])
def test_an_unknown_review_is_refused(lab: Laboratory, assay: Ran, name: str) -> None:
    code, refused, _ = assay("show", name)

    assert code == 2
    assert refused["refused"][0]["field"] == "review"


def test_a_wrong_step_names_what_is_allowed(lab: Laboratory, assay: Ran) -> None:
    review = submitted(lab.run)
    steps.give_verdict(reviewer(), review.id, VerdictKind.reject, "no")

    code, refused, _ = assay("sign-off", str(review.id), "--words", "yes")

    assert code == 2
    assert refused["refused"][0]["seen"] == "rejected"
    assert refused["refused"][0]["allowed"].startswith("approved")


def test_an_export_with_its_review_is_imported_with_it(
    lab: Laboratory, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    submitted(lab.run)
    file = str(tmp_path / "run.assay.zip")

    assert cli.main(["export", lab.bundle.digest, file, "--with-review"]) == 0
    assert cli.main(["import", file]) == 0

    kept = ForeignHistory.objects.get()
    assert kept.document["reviews"][0]["title"] == "SmolLM2 under load"
    assert User.objects.get(pk=kept.by_id).username == local_user().username
