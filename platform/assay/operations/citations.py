"""What somebody relies on: the bundles that a review or a finding cites, and why. None of them may ever go.

Whatever is cited by way of its run protects every bundle of that run, partial ones included: they are the
evidence of how often it was tried.
"""

from collections.abc import Iterable, Iterator
from uuid import UUID

from django.db.models import Q

from assay.ledger.models import Bundle
from assay.regressions.models import BaselineRecord, CheckRecord, Finding, FreshStart
from assay.review.models import Subject, Thread
from assay.versions.models import Confirmation

CHUNK = 500  # ids in one question


def cited() -> dict[str, list[str]]:
    """Digest of each cited bundle, with everything that cites it, in words."""
    found: dict[str, set[str]] = {}
    for digest, reason in _bundles():
        found.setdefault(digest, set()).add(reason)
    runs: dict[UUID, set[str]] = {}
    for run, reason in _runs():
        runs.setdefault(run, set()).add(reason)
    for digest, run in _bundles_of(runs):
        found.setdefault(digest, set()).update(runs[run])
    return {digest: sorted(reasons) for digest, reasons in found.items()}


def _bundles() -> Iterator[tuple[str, str]]:
    """Cited by their own digest."""
    for digest, review in Subject.objects.values_list("bundle_id", "review_id"):
        yield digest, f"review {review}"
    for digest, record in Confirmation.objects.values_list("bundle_id", "record"):
        yield digest, f"version record {record}"


def _runs() -> Iterator[tuple[UUID, str]]:
    """Cited by way of their run: what was said of a place in it, and all that a finding stands on."""
    for run, review in Subject.objects.values_list("run_id", "review_id"):
        yield run, f"review {review}"
    for run, thread in Thread.objects.filter(run__isnull=False).values_list("run_id", "id"):
        yield run, f"discussion {thread}"
    for run, finding in Finding.objects.values_list("run_id", "id"):
        yield run, f"finding {finding}"
    checks = CheckRecord.objects.filter(run__isnull=False)
    for run, finding in checks.filter(finding__isnull=False).values_list("run_id", "finding_id"):
        yield run, f"finding {finding}"
    suspects = Finding.objects.values("run_id")
    starts = FreshStart.objects.filter(
        Q(suspect__in=suspects) | Q(suspect__checks__finding__isnull=False)
    )
    for run, suspect in starts.values_list("study__runs", "suspect_id").distinct():
        if run is not None:
            yield run, f"fresh starts of {suspect}"
    yield from _baselines()


def _baselines() -> Iterator[tuple[UUID, str]]:
    """Every baseline, a past one too: answers were given against it."""
    for number, last, runs in BaselineRecord.objects.values_list("id", "last_run_id", "runs"):
        for run in {str(last), *map(str, runs)}:
            yield UUID(run), f"baseline {number}"


def _bundles_of(runs: Iterable[UUID]) -> Iterator[tuple[str, UUID]]:
    ids = list(runs)
    for start in range(0, len(ids), CHUNK):
        some = ids[start : start + CHUNK]
        for digest, run in Bundle.objects.filter(run_id__in=some).values_list("digest", "run_id"):
            if run is not None:
                yield digest, run
