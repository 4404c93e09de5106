"""``assay import`` of another load client's result."""

import json
from pathlib import Path

import pytest

from assay.archive.paths import Home
from assay.cli.main import main
from assay.ledger.models import Bundle, Run
from tests.assay.archive.foreign.results import FILES

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("tool", FILES)
def test_a_result_is_imported_as_an_e1_archive(
    home: Home, tool: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", str(FILES[tool]), "--json"]) == 0

    found = json.loads(capsys.readouterr().out)
    row = Bundle.objects.get()
    assert found["imported"] is True
    assert (row.imported, row.level, row.identity_complete) == (True, "E1", False)
    assert Run.objects.get().study.name == f"imported-{tool}"
    assert main(["verify", found["bundle"]]) == 0


def test_importing_twice_is_the_same_as_once(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["import", str(FILES["guidellm"])])
    capsys.readouterr()

    assert main(["import", "--from", "guidellm", str(FILES["guidellm"]), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["imported"] is False
    assert Run.objects.count() == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--from", "aiperf"], "--from: aiperf (allowed: guidellm"),
        (["--part", "2"], "--part: 2 (allowed: 1 to 1)"),
    ],
)
def test_another_tool_or_part_than_the_file_holds_is_refused(
    home: Home, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", *arguments, str(FILES["guidellm"])]) == 2

    assert words in capsys.readouterr().err
    assert not Run.objects.exists()


def test_a_file_that_no_tool_writes_is_refused_and_leaves_nothing(
    home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.json").write_text('{"ttft": 3}')

    assert main(["import", str(tmp_path / "notes.json")]) == 2

    complaint = capsys.readouterr().err
    assert "notes.json: members ttft (allowed: vllm bench serve --save-result JSON" in complaint
    assert "Nothing was imported" in complaint
    assert not Run.objects.exists()
    assert not home.scratch.exists() or list(home.scratch.iterdir()) == []
