"""``assay new study``: a file that runs at once, never over another, and nothing left of what is refused."""

import json
from pathlib import Path

import pytest

from assay.archive.paths import Home
from assay.cli import declaration
from assay.cli.main import _parser, main


@pytest.fixture(autouse=True)
def nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    assert main(["new", "study", *arguments, "--json"]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def planned(*overrides: str) -> dict[str, object]:
    """What ``assay run`` would plan of these words, in this home."""
    from assay.cli import run

    arguments = _parser("run", run).parse_args(list(overrides))
    return declaration.planned_runs(arguments)[0].document


def test_the_printed_command_runs_what_was_answered(
    assay_home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    found = said(
        capsys, "mine", "load.concurrency=4", "--engine", "torch_scan", "--question", "Does it?"
    )

    assert found["command"] == "assay run study=mine"
    document = planned("study=mine")
    assert document["study"]["question"] == "Does it?"  # type: ignore[index]
    assert document["load"]["concurrency"] == 4  # type: ignore[index]
    names = [Path(str(p)).relative_to(assay_home.studies).as_posix() for p in found["files"]]  # type: ignore[attr-defined]
    assert names == ["load/mine.yaml", "study/mine.yaml"]


def test_another_study_of_ones_own_is_taken_over(
    assay_home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "mine", "load.concurrency=4")

    said(capsys, "yours", "--from", "mine", "workload.requests=3")

    document = planned("study=yours")
    assert document["load"]["concurrency"] == 4  # type: ignore[index]
    assert document["workload"]["requests"] == 3  # type: ignore[index]


@pytest.mark.forbids
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["../mine"], "name: ../mine"),
        (["smollm2_smoke"], "smollm2_smoke is there already"),
        (["mine", "--load", "nowhere"], "load: nowhere"),
        (["mine", "load.concurrency=many"], "load.concurrency"),
        (["mine", "load.rate_per_s=2"], "load.rate_per_s"),
        (["mine", "load.x=2"], "load.x"),
        (["mine", "+load.seed=2"], "load.seed"),
        (["mine", "load.seed=1,2"], "load.seed"),
        (["mine", "load=closed"], "A group is chosen by its own option"),
        (["mine", "load.seed=${oc.env:HOME}"], "load.seed"),
    ],
)
def test_what_is_refused_leaves_nothing(
    assay_home: Home, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert main(["new", "study", *arguments]) == 2

    assert words in capsys.readouterr().err
    assert not assay_home.studies.exists()


@pytest.mark.forbids
def test_nothing_is_overwritten(assay_home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    taken = assay_home.studies / "load" / "mine.yaml"
    taken.parent.mkdir(parents=True)
    taken.write_text("kind: closed\nconcurrency: 9\nrate_per_s: null\n", encoding="utf-8")

    assert main(["new", "study", "mine", "load.concurrency=4"]) == 2

    assert "is there already" in capsys.readouterr().err
    assert "concurrency: 9" in taken.read_text(encoding="utf-8")
    assert not (assay_home.studies / "study").exists()


def test_the_files_of_each_group_are_listed_with_what_they_are(
    assay_home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", "study", "--list"]) == 0

    out = capsys.readouterr().out
    assert "Everything at once: each request is due at the start." in out
