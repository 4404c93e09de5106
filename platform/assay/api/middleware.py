"""Below the API's address every answer is its own: Django's pages for errors become its JSON."""

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from assay.api.errors import failed, problem

PREFIX = "/api/v1/"
VERSION_HEADER = "Assay-Api"
VERSION = "1.0"

Respond = Callable[[HttpRequest], HttpResponseBase]


def speak_json(get_response: Respond) -> Respond:
    """Also names the API's version in every answer, so that a client can tell an old server from none."""

    def respond(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        if not request.path.startswith(PREFIX):
            return response
        if response.status_code >= 400 and not _is_json(response):
            response = _reworded(request, response)
        response.headers[VERSION_HEADER] = VERSION
        response.headers.setdefault("Cache-Control", "no-store")
        return response

    return respond


def _reworded(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    answer = failed(request) if response.status_code >= 500 else problem(response.status_code)
    for name in ("Allow", "Retry-After"):
        if name in response.headers:
            answer.headers[name] = response.headers[name]
    return answer


def _is_json(response: HttpResponseBase) -> bool:
    return response.headers.get("Content-Type", "").startswith("application/json")
