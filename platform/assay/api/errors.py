"""What the API answers when it cannot do what was asked: one form, with stable codes.

``{"error": {"code", "findings": [{"field", "seen", "allowed", "remedy"}], "reference"}}``. A reference stands
in the server's log too.
"""

import logging
import secrets
from collections.abc import Iterable
from typing import Any

from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from ninja import NinjaAPI, Schema
from ninja.errors import HttpError, Throttled, ValidationError

from assay.analysis.errors import AnalysisError
from assay.analysis.perfmodel.errors import ModelRefused
from assay.api.lacking import Lacking
from experiments.errors import Finding, Refusal

log = logging.getLogger("assay.api")

CODES = {
    400: "bad_request",
    401: "unauthenticated",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    409: "conflict",
    413: "too_large",
    422: "refused",
    429: "too_many_requests",
    500: "server_error",
    503: "lacking",
}
SHOWN = 200  # characters of a value that is quoted back


class FindingOut(Schema):
    """What is wrong, what was seen there, what is allowed, and what to do."""

    field: str
    seen: str
    allowed: str
    remedy: str


class ErrorOut(Schema):
    code: str
    findings: list[FindingOut]
    reference: str | None = None


class Problem(Schema):
    """Every answer that is no success."""

    error: ErrorOut


class Conflict(Exception):
    """What was asked does not go with the state that things are in."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(str(finding))
        self.finding = finding


def answers(success: Any, *, status: int = 200, also: Iterable[int] = ()) -> dict[Any, Any]:
    """The ``response`` of an operation: its success, and the problems that any may have."""
    usual = {400, 401, 403, 404, 422, 429, 500}
    return {status: success, frozenset(usual | set(also)): Problem}


def problem(
    status: int, findings: Iterable[Any] = (), *, reference: str | None = None
) -> HttpResponse:
    rows = [
        {"field": f.field, "seen": f.seen, "allowed": f.allowed, "remedy": f.remedy}
        for f in findings
    ]
    error = {"code": CODES.get(status, "error"), "findings": rows, "reference": reference}
    response = JsonResponse({"error": error}, status=status)
    if status == 401:
        response["WWW-Authenticate"] = 'Bearer realm="assay"'
    return response


def answer_errors(api: NinjaAPI) -> None:
    """Give each kind of error its answer."""
    for kind, handler in HANDLERS.items():
        api.add_exception_handler(kind, handler)


def failed(request: HttpRequest, _error: BaseException | None = None) -> HttpResponse:
    """Something of Assay's own broke. The trace goes to the log, a reference to the caller."""
    reference = secrets.token_hex(4)
    log.error("reference %s: %s %s failed", reference, request.method, request.path, exc_info=True)
    return problem(500, reference=reference)


def _http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    if error.status_code != 400:
        return problem(error.status_code)
    unreadable = Finding(
        field="body",
        seen="something that is no JSON",
        allowed="a JSON document",
        remedy="Send Content-Type: application/json.",
    )
    return problem(400, [unreadable])


def _throttled(request: HttpRequest, error: Throttled) -> HttpResponse:
    wait_s = int(error.wait or 60)
    finding = Finding(
        field="requests",
        seen="too many of this kind",
        allowed="some a minute",
        remedy=f"Try again in {wait_s} s.",
    )
    response = problem(429, [finding])
    response["Retry-After"] = str(wait_s)
    return response


def _forbidden(request: HttpRequest, error: PermissionDenied) -> HttpResponse:
    said = str(error)
    if said == "csrf":
        remedy = "Send the page's token as X-CSRFToken, or use a token of your own."
        return problem(403, [_finding("csrf", "none or a wrong one", "the page's own", remedy)])
    remedy = "Ask a maintainer of the team, or use a token whose scopes allow it."
    return problem(
        403, [_finding("right", f"without {said or 'it'}", f"{said or 'the right'}", remedy)]
    )


def _invalid(_request: HttpRequest, error: ValidationError) -> HttpResponse:
    return problem(422, [invalid_value(e) for e in error.errors])


def invalid_value(error: dict[str, Any]) -> Finding:
    """One complaint of the parser. Where it stood comes first: ``query.page``, ``body.overrides.0``."""
    place = [str(part) for part in error["loc"] if part != "body_params"]
    seen = error.get("seen", "a value that does not fit")
    return _finding(".".join(place), str(seen)[:SHOWN], str(error["msg"]), "Correct it.")


def _finding(field: str, seen: str, allowed: str, remedy: str) -> Finding:
    return Finding(field=field, seen=seen, allowed=allowed, remedy=remedy)


HANDLERS: dict[Any, Any] = {
    Exception: failed,
    Http404: lambda _request, _error: problem(404),
    HttpError: _http_error,
    Throttled: _throttled,
    PermissionDenied: _forbidden,
    SuspiciousOperation: lambda _request, _error: problem(400),
    ValidationError: _invalid,
    Refusal: lambda _request, error: problem(422, error.findings),
    ModelRefused: lambda _request, error: problem(422, [error.finding]),
    AnalysisError: lambda _request, error: problem(422, [error.finding]),
    Lacking: lambda _request, error: problem(503, error.findings),
    Conflict: lambda _request, error: problem(409, [error.finding]),
}
