"""``assay compare``: a verdict, tables and JSON; exit code 1 where nothing may be compared."""

import json

import pytest

from assay.archive.paths import Home
from assay.cli.main import main
from assay.ledger.models import Run
from tests.assay.pages.factory import Laboratory, laboratory
from tests.assay.pages.starts import add_start

pytestmark = pytest.mark.django_db


@pytest.fixture
def lab(assay_home: Home) -> Laboratory:
    return laboratory(assay_home)


def ids(*runs: Run) -> list[str]:
    return [str(run.pk) for run in runs]


def test_two_runs_are_compared_in_words(
    lab: Laboratory, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["compare", *ids(*lab.sweep[:2])])

    said = capsys.readouterr().out
    assert code == 0
    assert said.startswith("B differs from A in load.concurrency (2 and 4) alone")
    assert "one start each: start-to-start spread unknown" in said
    # TTFT p50: 0.142 s against 0.142 * 0.8 = 0.114 s
    assert "+25.0%" in said
    assert "[low, high] beside a side: within this start" in said


def test_prefixes_and_bundle_digests_name_runs_too(
    lab: Laboratory, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["compare", lab.bundle.digest[:16], str(lab.sweep[0].pk), "--json"])

    found = json.loads(capsys.readouterr().out)
    assert code == 0
    assert [side["runs"][0]["run"] for side in found["sides"]] == ids(lab.run, lab.sweep[0])


def test_the_document_has_its_stable_names(
    lab: Laboratory, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["compare", *ids(*lab.sweep), "--json"])

    found = json.loads(capsys.readouterr().out)
    assert list(found) == [
        *("format", "definition_version", "standing", "verdict", "starts", "refusals", "sides"),
        *("pairs", "fields", "populations", "population_notes", "measuring_notes", "not_covered"),
        *("metrics", "residuals"),
    ]
    assert found["format"] == 1
    (ttft,) = [
        m
        for m in found["metrics"]
        if (m["rule"], m["statistic"]) == ("ttft.first_content.client", "p50")
    ]
    assert set(ttft["values"]) == {"A", "B", "C"}
    assert set(ttft["differences"]) == {"B", "C"}


@pytest.mark.forbids
@pytest.mark.req("2.02")
def test_runs_of_different_boundaries_end_with_code_1_and_the_reason(
    lab: Laboratory, capsys: pytest.CaptureFixture[str]
) -> None:
    other = add_start(lab, 2, 1, boundary={"sut": "engine and gateway"})

    code = main(["compare", *ids(lab.sweep[0], other), "--json"])

    said = capsys.readouterr()
    found = json.loads(said.out)
    assert code == 1
    assert (found["standing"], found["metrics"]) == ("refused", [])
    assert found["refusals"][0]["field"] == "boundary.sut"
    assert "error: boundary.sut" in said.err


def test_a_refused_comparison_prints_no_number(
    lab: Laboratory, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["compare", *ids(lab.run, lab.by_state["running"])])

    said = capsys.readouterr().out
    assert code == 1
    assert "refused: no number is compared" in said
    assert "ttft" not in said


@pytest.mark.parametrize(
    ("count", "seen"), [(1, "runs: 1 runs"), (2, "twice")], ids=["one run", "the same twice"]
)
def test_what_is_no_comparison_is_refused_input(
    count: int, seen: str, lab: Laboratory, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["compare", *ids(lab.run) * count])

    assert code == 2
    assert seen in capsys.readouterr().err


def test_an_unknown_run_is_refused_input(
    lab: Laboratory, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", str(lab.run.pk), "ffffffffffff"]) == 2
    assert "run: ffffffffffff" in capsys.readouterr().err
