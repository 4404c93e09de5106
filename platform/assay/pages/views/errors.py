"""Error pages: what happened, what to do; for the maintainer a reference that stands in the log too."""

import logging
import secrets

from django.http import HttpRequest, HttpResponse, HttpResponseServerError
from django.template.loader import render_to_string

log = logging.getLogger("assay.pages")


def server_error(request: HttpRequest) -> HttpResponse:
    """Without context processors: whatever broke the page must not break this one."""
    reference = secrets.token_hex(4)
    log.error("reference %s: %s %s failed", reference, request.method, request.path, exc_info=True)
    return HttpResponseServerError(render_to_string("500.html", {"reference": reference}))
