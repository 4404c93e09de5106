"""Schemathesis against the API in this process, on the real database: whatever is sent, the server stands.

Seeded and bounded. ``ASSAY_SOAK=1`` asks for many more, and for the boundary cases of every parameter.
"""

import os
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.config import SchemathesisConfig
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from assay.accounts.models import Role
from assay.wsgi import application
from tests.assay.api.conftest import Caller
from tests.assay.pages.factory import Laboratory

SOAK = os.environ.get("ASSAY_SOAK") == "1"
CONFIG = {
    "seed": 20261130,
    "generation": {"max-examples": 200 if SOAK else 8, "deterministic": True},
    "phases": {"coverage": {"enabled": SOAK}, "stateful": {"enabled": False}},
}
CHECKS: list[Any] = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@pytest.fixture
def _open_connection(db: None) -> Iterator[None]:
    """A request's end closes the connection of its process, and with it the test's transaction."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture
def described(_open_connection: None) -> schemathesis.BaseSchema:
    return schemathesis.openapi.from_wsgi(
        "/api/v1/openapi.json", app=application, config=SchemathesisConfig.from_dict(CONFIG)
    )


@pytest.fixture
def known(lab: Laboratory) -> dict[str, Any]:
    """What there is, by the name of the parameter that names it."""
    return {
        "run_id": str(lab.run.pk),
        "study_id": str(lab.study.pk),
        "bundle_digest": lab.bundle.digest,
        "attempt_id": "cases-0001.A1",
        "engine": "vllm",
        "path": "engine.log",
    }


@pytest.fixture
def maintainer(calling: Any) -> Caller:
    return calling(Role.maintainer)


schema = schemathesis.pytest.from_fixture("described")


@schema.parametrize()
@settings(
    deadline=None,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,  # what one example changed, the next one meets
        HealthCheck.too_slow,
        HealthCheck.filter_too_much,
    ],
)
def test_nothing_that_is_sent_breaks_the_server(
    case: Any, known: dict[str, Any], maintainer: Caller
) -> None:
    names = set(case.path_parameters or {}) & set(known)
    case.path_parameters = {**(case.path_parameters or {}), **{n: known[n] for n in names}}
    if case.operation.label.startswith("DELETE"):
        case.path_parameters["token_id"] = 2**40  # or it would end the token that asks

    case.call_and_validate(headers=maintainer.headers, checks=CHECKS)
