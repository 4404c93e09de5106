"""Seven responsibilities, mapped onto the parts of an engine's version."""

import importlib
from pathlib import Path

import pytest

from experiments.changes.components import FOLDER, component_map, load
from experiments.changes.vocabulary import Responsibility
from experiments.errors import Refusal

ENGINES = sorted(path.stem for path in FOLDER.glob("*.yaml"))


@pytest.mark.req("7.01")
def test_there_are_seven_responsibilities() -> None:
    assert [r.value for r in Responsibility] == [
        "protocol front end",
        "admission and queue",
        "scheduler",
        "cache and state management",
        "model runner",
        "execution back end",
        "sampling, stopping and output",
    ]


@pytest.mark.req("7.01", "7.02")
@pytest.mark.parametrize("engine", ENGINES)
def test_every_responsibility_of_a_mapped_engine_has_a_part_and_a_version(engine: str) -> None:
    found = component_map(engine)

    assert found is not None
    assert found.version
    assert all(found.by_responsibility[r] for r in Responsibility)


@pytest.mark.req("7.02")
def test_the_parts_of_our_own_engine_are_where_the_map_says() -> None:
    found = component_map("torch")

    assert found is not None
    for parts in found.by_responsibility.values():
        for part in parts:
            assert hasattr(importlib.import_module(part.where), part.name), part.where


def test_an_engine_that_was_not_read_has_no_map() -> None:
    assert component_map("openai_endpoint") is None


def test_a_map_that_leaves_a_responsibility_out_is_refused_by_its_name(tmp_path: Path) -> None:
    text = (FOLDER / "torch.yaml").read_text(encoding="utf-8")
    path = tmp_path / "torch.yaml"
    path.write_text("\n".join(x for x in text.splitlines() if "scheduler" not in x))

    with pytest.raises(Refusal, match="scheduler has none"):
        load(path)
