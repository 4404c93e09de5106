"""The API for people to read: one page from its own description, without a script, from this host alone."""

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from assay.api.site import api

METHODS = ("get", "post", "put", "patch", "delete")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    name: str
    place: str  # path | query
    kind: str
    required: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    name: str
    kind: str
    required: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    anchor: str
    method: str
    path: str
    description: str
    parameters: list[Parameter]
    body: list[Field]
    status: str
    answer: list[Field]


@require_safe
@login_required
def docs(request: HttpRequest) -> HttpResponse:
    schema = api.get_openapi_schema()
    groups: dict[str, list[Operation]] = {}
    for path, methods in schema["paths"].items():
        for method in METHODS:
            if method in methods:
                found = _operation(path, method, methods[method], schema)
                groups.setdefault(methods[method]["tags"][0], []).append(found)
    context = {
        "groups": groups.items(),
        "version": api.version,
        "description": api.description,
        "section": "api",
    }
    return render(request, "pages/api_docs.html", context)


def _operation(path: str, method: str, said: dict[str, Any], schema: Any) -> Operation:
    parameters = [
        Parameter(
            name=p["name"],
            place=p["in"],
            kind=_kind(p["schema"]),
            required=p.get("required", False),
        )
        for p in said.get("parameters", ())
    ]
    status = next(code for code in map(str, said["responses"]) if code.startswith("2"))
    answers = {str(code): answer for code, answer in said["responses"].items()}
    return Operation(
        anchor=said["operationId"],
        method=method.upper(),
        path=path,
        description=said.get("description", "").replace("``", ""),
        parameters=parameters,
        body=_fields(said.get("requestBody", {}), schema),
        status=status,
        answer=_fields(answers[status], schema),
    )


def _fields(holder: dict[str, Any], schema: Any) -> list[Field]:
    """The fields of a JSON document that is sent or answered; none where it has no fixed ones."""
    document = holder.get("content", {}).get("application/json", {}).get("schema", {})
    found = _resolved(document, schema)
    required = set(found.get("required", ()))
    return [
        Field(name=name, kind=_kind(kind), required=name in required)
        for name, kind in found.get("properties", {}).items()
    ]


def _resolved(document: dict[str, Any], schema: Any) -> dict[str, Any]:
    reference = document.get("$ref", "")
    if not reference:
        return document
    found: dict[str, Any] = schema["components"]["schemas"][reference.rpartition("/")[2]]
    return found


def _kind(said: dict[str, Any]) -> str:
    """A type in a few words: ``integer 1 to 200``, ``list of RunOut``, ``text or null``."""
    if "anyOf" in said:
        return " or ".join(_kind(one) for one in said["anyOf"])
    if "$ref" in said:
        return str(said["$ref"].rpartition("/")[2])
    if "enum" in said:
        return " | ".join(map(str, said["enum"]))
    if said.get("type") == "array":
        return f"list of {_kind(said.get('items', {}))}"
    bounds = [str(said[name]) for name in ("minimum", "maximum") if name in said]
    kind = str(said.get("format") or said.get("type") or "any value")
    return f"{kind} {' to '.join(bounds)}".strip()
