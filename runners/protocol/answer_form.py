"""Does an answer have its declared form, and does a reply hold a call of a declared tool?

The client asks while a run goes (to ask again, to fill a result back), the interpretation asks again of the
bundle's own bytes; both ask here, so that they cannot differ.
"""

import importlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def load_schema_library() -> None:
    """For a drive, before it begins: loading it at the first check would stop the event loop."""
    importlib.import_module("jsonschema")


def form_problem(answer: str, check: Mapping[str, Any]) -> str | None:
    """Why the answer does not hold the constraint, or None if it does.

    ``check`` has constraint (json_schema, json_object, regex, choice), schema, pattern and choices. The
    answer is taken whole: no fence is cut off, no prose is skipped; only blanks around it are.
    """
    text, constraint = answer.strip(), check["constraint"]
    if constraint == "choice":
        return None if text in check["choices"] else "none of the choices"
    if constraint == "regex":
        return None if re.fullmatch(check["pattern"], text) else "does not match the pattern"
    try:
        document = json.loads(text)
    except ValueError as error:
        return f"not JSON: {error}"
    if not isinstance(document, dict) and constraint == "json_object":
        return f"JSON, but no object: {type(document).__name__}"
    if constraint == "json_schema":
        return _schema_problem(document, check["schema"])
    return None


def _schema_problem(document: Any, schema: dict[str, Any]) -> str | None:
    # Loaded by those who check a schema: half of a second on a slow machine, before every run otherwise.
    import jsonschema
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    try:
        checker = jsonschema.validators.validator_for(schema)
        checker.check_schema(schema)
        # An empty registry: a "$ref" to somewhere else is no reason to fetch it.
        error = next(checker(schema, registry=Registry()).iter_errors(document), None)
    except jsonschema.SchemaError as wrong:
        return f"the schema itself is wrong: {wrong.message}"[:200]
    except Unresolvable as wrong:
        return f"the schema refers to what it does not hold: {wrong}"[:200]
    return None if error is None else f"at {error.json_path}: {error.message}"[:200]


def call_in_text(text: str, names: Sequence[str]) -> dict[str, Any] | None:
    """The first JSON object of the text that calls one of the tools: name and an object of arguments."""
    for found in _objects(text):
        if found.get("name") in names and isinstance(found.get("arguments"), dict):
            return {"name": found["name"], "arguments": found["arguments"]}
    return None


def _objects(text: str) -> Iterator[dict[str, Any]]:
    decoder = json.JSONDecoder()
    at = text.find("{")
    while at >= 0:
        try:
            found, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if isinstance(found, dict):
                yield found
        at = text.find("{", end)


def call_in_fields(
    calls: Sequence[Mapping[str, Any]], names: Sequence[str]
) -> dict[str, Any] | None:
    """The first call of the API's own field that names a declared tool and whose arguments are an object."""
    for call in calls:
        try:
            arguments = json.loads(call["arguments"] or "{}")
        except ValueError:
            continue
        if call["name"] in names and isinstance(arguments, dict):
            return {"id": call.get("id"), "name": call["name"], "arguments": arguments}
    return None
