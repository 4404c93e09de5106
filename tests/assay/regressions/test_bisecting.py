"""A finding is bisected over installed versions: asked once, fresh starts only, one answer."""

import pytest

from assay.archive.installed_engines import InstalledVersion, installed_versions
from assay.archive.paths import Home
from assay.ledger.ids import uuid7
from assay.ledger.models import Study
from assay.regressions import bisecting
from assay.regressions.models import Bisection, Finding
from experiments.errors import Refusal, refuse
from tests.assay.regressions.installed import install
from tests.assay.regressions.starts import Laboratory, add_run, laboratory
from tests.assay.regressions.test_checking import look_to_the_end, steady

pytestmark = pytest.mark.django_db

OLD, NEW = 0.100, 0.120


@pytest.fixture
def lab(assay_home: Home) -> Laboratory:
    """0.32.0 is steady at 0.100, 0.36.0 is at 0.120, and what lies between is installed."""
    made = laboratory(assay_home, variable="engine.version")
    steady(made)
    made.fire(NEW, engine="0.36.0")
    made.fresh = [NEW] * 3
    look_to_the_end(made)
    install(assay_home, "vllm", "0.33.0", "0.34.0", "0.35.0")
    return made


def installed(lab: Laboratory) -> list[InstalledVersion]:
    return installed_versions(lab.home, Finding.objects.get().run.spec["engine"])


def asked(lab: Laboratory) -> Bisection:
    return bisecting.ask(Finding.objects.get(), installed(lab), by="ada")


def follow(lab: Laboratory, first_bad: str, *, broken: str = "") -> Bisection:
    """Every fresh start ends at once; versions from ``first_bad`` on are at the new level."""

    def start(bisection: Bisection, version: str) -> Study:
        assert any(version in pin for pin in bisection.overrides[version])
        if version == broken:
            raise refuse(field="engine", seen=version, allowed="another", remedy="Take it.")
        study = Study.objects.create(id=uuid7(), name=version)
        add_run(lab.home, study, NEW if version >= first_bad else OLD, engine=version)
        return study

    bisection = asked(lab)
    for _ in range(30):
        bisecting.look(bisection, lab.home, start)
    return bisection


@pytest.mark.parametrize(
    ("first_bad", "last_good"), [("0.33.0", "0.32.0"), ("0.35.0", "0.34.0"), ("0.36.0", "0.35.0")]
)
def test_the_version_that_brought_it_is_named(
    lab: Laboratory, first_bad: str, last_good: str
) -> None:
    found = follow(lab, first_bad)

    assert (found.state, found.answer) == (
        "found",
        {"last_good": last_good, "first_bad": first_bad, "reason": ""},
    )
    assert found.versions == ["0.32.0", "0.33.0", "0.34.0", "0.35.0", "0.36.0"]
    assert found.starts.count() <= 6  # two halvings of three starts


def test_a_version_that_cannot_be_started_is_left_out_and_the_answer_says_so(
    lab: Laboratory,
) -> None:
    found = follow(lab, "0.35.0", broken="0.34.0")

    assert found.state == "unclear"
    assert found.answer == {
        "last_good": "0.33.0",
        "first_bad": "0.35.0",
        "reason": "between them without an answer: 0.34.0 (could not be run)",
    }
    assert found.starts.filter(version="0.34.0").get().note.startswith("engine: 0.34.0")


def test_asking_twice_is_one_bisection(lab: Laboratory) -> None:
    assert asked(lab) == asked(lab)


def test_without_an_installed_version_between_it_is_refused_with_what_to_do(
    lab: Laboratory,
) -> None:
    with pytest.raises(Refusal, match="assay engines install"):
        bisecting.ask(Finding.objects.get(), [], by="ada")


def test_what_did_not_change_its_version_is_refused(assay_home: Home) -> None:
    made = laboratory(assay_home)
    steady(made)
    made.fire(NEW)
    made.fresh = [NEW] * 3
    look_to_the_end(made)

    with pytest.raises(Refusal, match="nothing to bisect"):
        bisecting.ask(Finding.objects.get(), [], by="ada")
