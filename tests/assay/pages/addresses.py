"""The address of every page, with something there for each name in it. A new name needs its value here."""

from collections.abc import Iterator
from typing import Any

from django.urls import URLPattern, reverse

from assay.pages.urls import urlpatterns
from assay.review.discussing import start_thread_on_statement
from tests.assay.pages.factory import Laboratory
from tests.assay.review.people import author, submitted

# Where one name stands for different things.
OF_PAGE: dict[str, dict[str, Any]] = {
    "review-judge": {"step": "approve"},
    "review-step": {"step": "comment"},
    "review-manage": {"step": "retract"},
}


def patterns() -> dict[str, URLPattern]:
    return {pattern.name: pattern for pattern in urlpatterns if pattern.name}


def every_page(lab: Laboratory) -> Iterator[tuple[str, str]]:
    """Name and address of each page."""
    review = submitted(lab.run)
    thread = start_thread_on_statement(author(), review, "Which of them?")
    given = {
        "run_id": lab.run.pk,
        "study_id": lab.study.pk,
        "digest": lab.artifact.digest,
        "attempt_id": "cases-0001.A1",
        "number": 0,
        "form": "csv",
        "path": "engine.log",
        "slug": "Qwen__Qwen3-8B",
        "key": "vllm",
        "versions": ("0.32.0", "0.33.0"),
        "metric": "tpot.last_token:p50",
        "finding_id": lab.finding and lab.finding.pk,
        "schedule_id": lab.finding and lab.finding.schedule_id,
        "review_id": review.pk,
        "thread_id": thread.pk,
        "turn": "say",
        "team": "main",
        "token_id": 0,
    }
    for name, pattern in patterns().items():
        values = {**given, **OF_PAGE.get(name, {})}
        yield name, reverse(name, kwargs={n: values[n] for n in pattern.pattern.converters})
