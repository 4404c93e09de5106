"""Schemathesis against the API in this process, on the real database: whatever is sent, the server stands.

Each operation is asked by somebody who may do everything and by nobody, with what its description allows and
with what it does not. Seeded and bounded; ``ASSAY_SOAK=1`` asks for many more.
"""

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import schemathesis
from django.core.cache import cache
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from assay.accounts.models import Role
from assay.api.site import api
from assay.wsgi import application
from tests.assay.api.conftest import Caller
from tests.assay.pages.factory import Laboratory
from tests.assay.review.people import submitted

EXAMPLES = 75 if os.environ.get("ASSAY_SOAK") == "1" else 3  # of each operation, caller and mode
OURS = "token_id"  # always ours: a number that was made up might be the token that asks
CHECKS: list[Any] = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
SETTINGS = settings(
    max_examples=EXAMPLES,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[
        Phase.explicit,
        Phase.generate,
    ],  # a failure is shown as it came: each try costs a request
    suppress_health_check=list(HealthCheck),
)


def tags() -> list[str]:
    methods = [m for path in api.get_openapi_schema()["paths"].values() for m in path.values()]
    return sorted({tag for method in methods for tag in method["tags"]})


@pytest.fixture
def _open_connection(db: None) -> Iterator[None]:
    """The end of a request closes the connection of its process, and with it the test's transaction."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture
def known(lab: Laboratory) -> dict[str, Any]:
    """What there is, by the name of the parameter that names it; anything else is made up."""
    return {
        "review_id": str(submitted(lab.run).pk),
        "run_id": str(lab.run.pk),
        "study_id": str(lab.study.pk),
        "bundle_digest": lab.bundle.digest,
        "attempt_id": "cases-0001.A1",
        "engine": "vllm",
        "path": "engine.log",
        OURS: 2**40,
    }


# The client of the test never closes a file that is sent; a server does.
@pytest.mark.filterwarnings(
    "ignore:unclosed file", "ignore::pytest.PytestUnraisableExceptionWarning"
)
@pytest.mark.usefixtures("_open_connection")
@pytest.mark.parametrize("tag", tags())
def test_nothing_that_is_sent_breaks_the_server(
    known: dict[str, Any],
    calling: Callable[..., Caller],
    tag: str,
) -> None:
    maintainer, nobody = calling(Role.maintainer).headers, dict[str, str]()
    schema = schemathesis.openapi.from_wsgi("/api/v1/openapi.json", app=application)
    operations = [found.ok() for found in schema.include(tag=tag).get_all_operations()]

    assert operations
    for operation in operations:
        for mode in GenerationMode:
            _try(operation, mode, known, nobody)
            _try(operation, mode, known, maintainer)


def _try(
    operation: Any, mode: GenerationMode, known: dict[str, Any], headers: dict[str, str]
) -> None:
    @SETTINGS
    @given(case=operation.as_strategy(mode), is_there=st.booleans())
    def each(case: Any, is_there: bool) -> None:
        cache.clear()  # or the bound on requests a minute would answer in place of the operation
        for name in set(case.path_parameters or {}) & set(known):
            if is_there or name == OURS:
                case.path_parameters[name] = known[name]
        case.call_and_validate(headers=headers, checks=CHECKS)

    each()
