"""``assay report``: the file that the page gives, and whether its data are whole."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from assay.accounts.services import local_user
from assay.archive.paths import Home
from assay.cli.main import main
from tests.assay.pages.factory import Laboratory, laboratory
from tests.assay.review.people import submitted

Ran = Callable[..., tuple[int, Any, str]]


@pytest.fixture
def lab(transactional_db: None, assay_home: Home) -> Laboratory:
    return laboratory(assay_home)


@pytest.fixture
def assay(capsys: pytest.CaptureFixture[str]) -> Ran:
    def ran(*arguments: str) -> tuple[int, Any, str]:
        code = main(["report", *arguments, "--json"])
        out, err = capsys.readouterr()
        return code, json.loads(out) if out else None, err

    return ran


def without_moment(text: str) -> str:
    return re.sub(r"<time[^>]*>[^<]*</time> UTC, for", "", text)


def test_a_command_writes_the_file_that_the_page_gives(
    lab: Laboratory, assay: Ran, tmp_path: Path
) -> None:
    review = submitted(lab.run)
    a, b = str(lab.sweep[0].pk), str(lab.sweep[1].pk)
    client = Client()
    client.force_login(local_user())
    asked = {
        ("run", a): reverse("run-report", args=[a]),
        ("compare", a, b): reverse("compare-report") + f"?run={a}&run={b}",
        ("review", str(review.pk)): reverse("review-report", args=[review.pk]),
    }
    for number, (arguments, url) in enumerate(asked.items()):
        file = tmp_path / f"{number}.html"

        code, said, _ = assay(*arguments, "--out", str(file))

        assert (code, said["file"], said["bytes"]) == (0, str(file), file.stat().st_size)
        expected = client.get(url).content.decode()
        assert without_moment(file.read_text(encoding="utf-8")) == without_moment(expected)
        assert assay("check", str(file))[0] == 0


def test_without_a_name_the_file_lies_here_and_none_is_overwritten(
    lab: Laboratory, assay: Ran, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert assay("run", str(lab.run.pk))[0] == 0

    (file,) = tmp_path.glob("assay-run-*.html")
    before = file.read_bytes()
    assert assay("run", str(lab.run.pk))[0] == 2
    assert file.read_bytes() == before


def test_changed_data_are_told(lab: Laboratory, assay: Ran, tmp_path: Path) -> None:
    file = tmp_path / "r.html"
    assay("run", str(lab.run.pk), "--out", str(file))
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace('"kind": "run"', '"kind": "ruin"', 1), encoding="utf-8")

    code, said, _ = assay("check", str(file))

    assert code == 1
    assert not said["holds"]
    assert said["stated"] != said["computed"]


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (("run", "ffffff"), "run"),
        (("review", "ffffff"), "review"),
        (("compare", "{run}"), "runs"),
        (("compare", "{run}", "{run}"), "runs"),
        (("check", "{page}"), "file"),
    ],
)
def test_what_cannot_be_written_or_checked_is_refused_with_nothing_written(
    lab: Laboratory,
    assay: Ran,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    field: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.html"
    page.write_text("<p>no report</p>", encoding="utf-8")

    code, _, err = assay(*(text.format(run=lab.run.pk, page=page) for text in arguments))

    assert code == 2
    assert f"error: {field}" in err
    assert [path for path in tmp_path.iterdir() if path != lab.home.root] == [page]
