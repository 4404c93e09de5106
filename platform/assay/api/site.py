"""The API as one: its routers below one address, each behind the doors, with one form of error."""

from typing import Any

from ninja import NinjaAPI
from ninja.errors import ValidationError, ValidationErrorContext

from assay.api import (
    bundles,
    catalogue,
    compare,
    findings,
    people,
    predict,
    readings,
    reviews,
    runs,
    schedules,
    studies,
    tables,
)
from assay.api.doors import EVERYBODY_KNOWN
from assay.api.errors import SHOWN, answer_errors
from assay.api.middleware import VERSION


class _Site(NinjaAPI):
    def validation_error_from_error_contexts(
        self, error_contexts: list[ValidationErrorContext[Any]]
    ) -> ValidationError:
        """With the value seen, which Ninja leaves out."""
        seen = [
            repr(found["input"])[:SHOWN]
            for context in error_contexts
            for found in context.pydantic_validation_error.errors(include_url=False)
        ]
        error = super().validation_error_from_error_contexts(error_contexts)
        for row, value in zip(error.errors, seen, strict=True):
            row["seen"] = value
        return error


api = _Site(
    title="Assay",
    version=VERSION,
    description=(
        "Declared experiments on LLM inference: studies, runs, bundles, ledgers, numbers with a passport. "
        "Absent values are null beside a reason. Every answer that is no success has the form of Problem."
    ),
    urls_namespace="api",
    docs_url=None,
    auth=EVERYBODY_KNOWN,
)
answer_errors(api)
api.add_router("/studies", studies.router)
api.add_router("/runs", runs.router)
api.add_router("/runs", readings.router)
api.add_router("/runs", tables.router)
api.add_router("/bundles", bundles.router)
api.add_router("", people.router)
api.add_router("", catalogue.router)
api.add_router("", predict.router)
api.add_router("", compare.router)
api.add_router("/reviews", reviews.router)
api.add_router("/schedules", schedules.router)
api.add_router("/findings", findings.router)
