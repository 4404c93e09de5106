"""The grade of the client's figures beside every run, with why it is not an A."""

import json

import pytest
from django.test import Client
from django.urls import reverse

from assay.analysis.documents import GradeDocument
from assay.cli.main import main
from assay.ledger.models import Interpretation
from assay.pages.grades import grades_of
from tests.assay.pages.conftest import page
from tests.assay.pages.factory import Laboratory, grade

WHY = "client limited: the loop was late by 40 ms"


def test_a_run_shows_its_grade_with_the_reasons(lab: Laboratory, somebody: Client) -> None:
    grade(lab, GradeDocument(letter="D", reasons=[WHY]))

    text = page(somebody, reverse("run", args=[lab.run.pk]))

    assert f'data-grade="D" title="client-side figures: {WHY}"' in text


def test_a_reading_from_before_there_were_grades_has_none(lab: Laboratory) -> None:
    reading = Interpretation.objects.get(bundle=lab.bundle)

    assert grades_of([reading]) == {reading.pk: None}


def test_the_terminal_says_the_grade(lab: Laboratory, capsys: pytest.CaptureFixture[str]) -> None:
    grade(lab, GradeDocument(letter="D", reasons=[WHY]))

    assert main(["show", str(lab.run.pk)]) == 0

    assert f"D (client-side figures: {WHY})" in capsys.readouterr().out
    assert main(["show", str(lab.run.pk), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["grade"] == {"letter": "D", "reasons": [WHY]}
