"""Runs of one configuration form one side; what ran decides as much as what was declared."""

from assay.analysis.comparability.sides import sides_of
from tests.assay.analysis.comparability.runs import HOST, moved, observed, run


def test_repetitions_of_one_declaration_are_one_side_of_several_starts() -> None:
    sides = sides_of([run("a1"), run("b1", "load.concurrency=1"), run("a2")])

    assert [(s.letter, [r.run for r in s.runs], s.starts) for s in sides] == [
        ("A", ["a1", "a2"], 2),
        ("B", ["b1"], 1),
    ]


def test_the_same_declaration_on_another_host_is_another_side() -> None:
    elsewhere = observed(host={**HOST, "fingerprint": "0000000000000000"})

    assert len(sides_of([run("a"), run("b", observed=elsewhere)])) == 2


def test_a_declaration_of_an_older_schema_is_the_same_one_at_its_defaults() -> None:
    older = {k: v for k, v in run("a").spec.items() if k != "boundary"}
    older["boundary"] = {
        k: v for k, v in run("a").spec["boundary"].items() if k not in ("hops", "segments")
    }
    older["schema_version"] = 1

    assert len(sides_of([run("a"), run("b", spec=older)])) == 1


def test_an_engine_that_somebody_else_started_gives_no_start() -> None:
    found = run("a")
    endpoint = moved("a", "engine.environment.kind", "url")

    assert (found.starts_engine, endpoint.starts_engine) == (True, False)
    assert sides_of([endpoint])[0].starts == 0


def test_two_declarations_that_cannot_be_read_are_two_sides() -> None:
    assert len(sides_of([moved("a", "schema_version", 99), moved("b", "schema_version", 99)])) == 2
