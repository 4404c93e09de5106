"""The schema can be walked: every field has a role, a path and, where null is unknown, a mark."""

import dataclasses

import pytest

from experiments.schema import fields
from experiments.schema.engine import ENGINE_SCHEMAS
from experiments.schema.roles import Role
from experiments.schema.root import RootConfig
from tests.experiments.declarations import example


def test_every_declared_value_of_the_example_is_reached_once() -> None:
    paths = [leaf.path for leaf in fields.leaves(example())]

    assert len(paths) == len(set(paths))
    assert "engine.settings.kv_blocks" in paths
    assert "workload.cases.3.cancel.after_chunks" in paths
    assert "artifact.files.0.sha256" in paths


def test_what_lies_below_a_context_field_is_context() -> None:
    roles = {leaf.path: leaf.role for leaf in fields.leaves(example())}

    assert roles["study.seed"] is Role.context
    assert roles["load.concurrency"] is Role.variable
    assert roles["artifact.revision"] is Role.key


def test_nothing_declared_is_a_reading() -> None:
    assert not [leaf.path for leaf in fields.leaves(example()) if leaf.role is Role.reading]


def test_fields_whose_null_is_unknown_are_marked() -> None:
    marked = {leaf.path for leaf in fields.leaves(example()) if leaf.null_unknown}

    assert "artifact.source.upstream_revision" in marked
    assert "load.rate_per_s" not in marked


@pytest.mark.parametrize("schema", [RootConfig, *ENGINE_SCHEMAS.values()])
def test_every_schema_field_has_a_role(schema: type) -> None:
    for member in fields.members(schema):
        assert member.role in Role
        if member.node is not None:
            assert dataclasses.is_dataclass(member.node)
            test_every_schema_field_has_a_role(member.node)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("load.concurrency", True),
        ("engine.settings.threads", True),
        ("workload.cases.0.name", True),
        ("workload.cases.name", False),
        ("workload.cases.0.nothing", False),
        ("load.concurrency.more", False),
        ("nothing", False),
    ],
)
def test_a_path_is_found_if_the_schema_has_it(path: str, found: bool) -> None:
    assert (fields.find(path) is not None) is found


def test_keys_that_the_schema_does_not_have_are_listed_with_their_path() -> None:
    document = example()
    document["workload"]["cases"][1]["colour"] = "grey"
    document["engine"]["settings"]["speed"] = "high"
    document["extra"] = 1

    assert sorted(fields.unknown_keys(document)) == [
        "engine.settings.speed",
        "extra",
        "workload.cases.1.colour",
    ]
