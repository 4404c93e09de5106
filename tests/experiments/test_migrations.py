"""An older declaration is carried to the present schema version by pure steps."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from experiments.errors import Refusal
from experiments.identity import spec_digest
from experiments.migrations import STEPS, migrate
from experiments.schema.root import SCHEMA_VERSION
from tests.experiments.declarations import changed, example

DATA = Path(__file__).parents[1] / "data" / "specs"


def add_colour(document: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**document, "colour": "grey"}


def add_weight(document: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**document, "weight": 1}


def test_the_present_version_is_left_as_it_is() -> None:
    document = example()

    assert migrate(document) == document
    assert spec_digest(migrate(document)) == spec_digest(document)


def test_there_is_a_step_from_every_earlier_version() -> None:
    assert set(STEPS) == set(range(1, SCHEMA_VERSION))


def test_a_declaration_of_version_1_becomes_what_is_composed_today() -> None:
    stored = json.loads((DATA / "version_1.json").read_text(encoding="utf-8"))

    assert migrate(stored) == example("evidence.calibrate_client=false", "workload.disjoint=run")


def test_steps_are_applied_one_after_the_other() -> None:
    old = {"schema_version": 1}

    new = migrate(old, steps={1: add_colour, 2: add_weight}, target=3)

    assert new == {"schema_version": 3, "colour": "grey", "weight": 1}
    assert old == {"schema_version": 1}


def test_a_missing_step_is_refused() -> None:
    with pytest.raises(Refusal, match="No step from 2 to 3"):
        migrate({"schema_version": 1}, steps={1: add_colour}, target=3)


@pytest.mark.parametrize("version", [0, SCHEMA_VERSION + 1, "1", None, True])
def test_a_version_that_cannot_be_read_is_refused(version: Any) -> None:
    with pytest.raises(Refusal, match="schema_version"):
        migrate(changed(example(), "schema_version", version))
