"""Does an answer hold its form, taken whole; and is there a call in a reply?"""

from typing import Any

import pytest

from runners.protocol.answer_form import call_in_fields, call_in_text, form_problem

SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}


def check(constraint: str, **more: Any) -> dict[str, Any]:
    return {"constraint": constraint, "schema": None, "pattern": None, "choices": [], **more}


@pytest.mark.req("10.29")
@pytest.mark.parametrize(
    ("answer", "form", "problem"),
    [
        (' {"n": 1}\n', check("json_object"), None),
        ("[1]", check("json_object"), "JSON, but no object: list"),
        ('```json\n{"n": 1}\n```', check("json_object"), "not JSON"),
        ('{"n": 1}', check("json_schema", schema=SCHEMA), None),
        ('{"n": "1"}', check("json_schema", schema=SCHEMA), "at $.n: '1' is not of type 'integer'"),
        ("{}", check("json_schema", schema={"$ref": "http://127.0.0.1:1/s"}), "does not hold"),
        ("{}", check("json_schema", schema={"type": 7}), "the schema itself is wrong"),
        ("aab", check("regex", pattern="a+b"), None),
        ("aab and more", check("regex", pattern="a+b"), "does not match"),
        ("yes", check("choice", choices=["yes", "no"]), None),
        ("Yes.", check("choice", choices=["yes", "no"]), "none of the choices"),
    ],
)
def test_the_whole_answer_is_held_to_its_form(
    answer: str, form: dict[str, Any], problem: str | None
) -> None:
    found = form_problem(answer, form)

    assert (found is None) == (problem is None)
    assert (problem or "") in (found or "")


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ('Sure: {"name": "f", "arguments": {"a": {"b": 1}}} done', {"a": {"b": 1}}),
        ('{"x": 1} {"name": "f", "arguments": {}}', {}),
        ('{"name": "g", "arguments": {}}', None),
        ('{"name": "f", "arguments": "{}"}', None),
        ('{"name": "f", "arguments": {', None),
        ("{" * 100_000, None),
    ],
)
def test_a_call_in_text_is_an_object_with_a_declared_name(
    text: str, arguments: dict[str, Any] | None
) -> None:
    found = call_in_text(text, ["f"])

    assert (None if found is None else found["arguments"]) == arguments


def test_a_call_in_the_field_needs_arguments_that_are_an_object() -> None:
    torn = {"id": "1", "name": "f", "arguments": '{"a": '}
    whole = {"id": "2", "name": "f", "arguments": '{"a": 1}'}

    assert call_in_fields([torn], ["f"]) is None
    assert call_in_fields([torn, whole], ["f"]) == {"id": "2", "name": "f", "arguments": {"a": 1}}
