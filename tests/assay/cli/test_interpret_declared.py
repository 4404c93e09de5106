"""What a reader may declare of a recorded stream: its dialect, its reasoning tags, its tokenizer."""

import json
from pathlib import Path
from typing import Any

import pytest

from assay.cli.main import main
from tests.assay.analysis.streams import DONE, delta, lines, read, row
from tests.runners.artifacts import real


@pytest.fixture
def wire(tmp_path: Path) -> Path:
    body = delta("<think>hm</think>") + delta("The capital is Paris.", finish="stop") + DONE
    path = tmp_path / "wire.jsonl"
    path.write_text("\n".join(lines([row("sent", 0), read(5, body), row("closed", 6)])))
    return path


def reading(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["interpret", "--json", *arguments]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    (attempt,) = document["attempts"]
    return dict(attempt)


def test_declared_tags_and_dialect_are_used(wire: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = reading(
        capsys, "--wire", str(wire), "--reasoning-tags", "<think>,</think>", "--dialect", "choices"
    )

    assert (found["text"], found["reasoning_text"]) == ("The capital is Paris.", "hm")
    assert (found["dialect"], found["dialect_by"]) == ("choices", "declared")


def test_a_tokenizer_counts_the_text_again(
    wire: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tokenizer = real.encoder().tokenizer
    path = tmp_path / "tokenizer.json"
    path.write_text(tokenizer.engine.to_str())

    found = reading(capsys, "--wire", str(wire), "--tokenizer", str(path))

    text = "<think>hm</think>The capital is Paris."
    assert found["counts"]["retokenized"] == len(tokenizer.encode(text))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--reasoning-tags", "<think>"], "--reasoning-tags: '<think>' (allowed: two different"),
        (["--tokenizer", "/nowhere.json"], "--tokenizer: /nowhere.json: no such file"),
    ],
)
def test_a_declaration_that_is_none_is_refused(
    wire: Path, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["interpret", "--wire", str(wire), *arguments]) == 2
    assert words in capsys.readouterr().err
