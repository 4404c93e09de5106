"""An artifact that is made here is the pinned one, bit for bit, or it is not there."""

import json
from pathlib import Path

import pytest

from runners import converting
from runners.artifacts import gguf_header, tokenizer
from runners.environments.pins import artifacts_folder
from runners.protocol.errors import Refused
from tests.runners.engines.torch.launched import smollm2_file

NAME = "smollm2_135m_bf16"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path))
    return tmp_path


@pytest.mark.slow
def test_the_shipped_conversion_gives_the_declared_bytes_and_the_plans_own_tokens(
    home: Path,
) -> None:
    made = converting.convert(NAME)

    assert made == home / "artifacts" / "smollm2-135m-instruct-bf16"
    assert json.loads((made / "config.json").read_text())["dtype"] == "bfloat16"
    parents = tokenizer.from_gguf(gguf_header.read(smollm2_file()))
    text = "On 30 November 2026, <|im_start|>çé 12345"
    assert tokenizer.from_file(made / "tokenizer.json").encode(text) == parents.encode(text)
    assert converting.convert(NAME) == made  # it is there, and looked at again


def test_a_folder_that_is_not_the_pinned_one_is_refused(home: Path) -> None:
    folder = artifacts_folder() / "smollm2-135m-instruct-bf16"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")

    with pytest.raises(Refused, match="is what this machine makes of") as refused:
        converting.convert(NAME)

    assert refused.value.finding.field == "artifact.revision"


def test_only_an_artifact_with_a_declared_parent_is_made(home: Path) -> None:
    with pytest.raises(Refused, match=NAME):
        converting.convert("smollm2_135m_q4_1")

    assert list(home.iterdir()) == []


def test_other_bytes_than_the_declared_ones_never_appear(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other(source: Path, folder: Path) -> None:
        folder.mkdir()
        (folder / "model.safetensors").write_bytes(b"other")

    monkeypatch.setitem(converting._RECIPES, converting.GGUF_TO_BF16, other)  # type: ignore[arg-type]

    with pytest.raises(Refused, match=r"Use the tools that artifact\.parent\.tools names"):
        converting.convert(NAME)

    assert list(artifacts_folder().iterdir()) == []
