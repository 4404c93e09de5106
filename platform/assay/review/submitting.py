"""Puts sealed runs up for review: on which bundles, by which reading, asked which questions."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.db import transaction

from assay.accounts.access import Access
from assay.accounts.models import Action
from assay.archive.paths import Home
from assay.ledger.ids import uuid7
from assay.ledger.models import Bundle, Interpretation, Run
from assay.ledger.visibility import visible_runs
from assay.notifications.models import Event
from assay.review.archive_facts import facts_of
from assay.review.checklist import checklist
from assay.review.models import ChecklistItem, Review, Subject
from assay.review.process import State, Step
from assay.review.rights import must, project_of
from assay.review.steps import ask, record, supersede, tell
from experiments.errors import Finding, Refusal, refuse

MOST_RUNS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """What somebody submits. ``reviewers`` are user names."""

    runs: Sequence[UUID]
    title: str
    statement: str
    reviewers: Sequence[str] = ()
    supersedes: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    run: Run
    bundle: Bundle
    interpretation: Interpretation


def submit(access: Access, submission: Submission) -> Review:
    """A review of sealed and interpreted runs of one project, with its checklist. Raises Refusal."""
    subjects = sealed_runs(access, submission.runs)
    _must_say_something(submission)
    projects = {project_of(s.run.study) for s in subjects}
    if len(projects) != 1:
        raise refuse(
            field="runs",
            seen=f"runs of {len(projects)} projects",
            allowed="runs of one project",
            remedy="Submit the runs of each project on their own.",
        )
    project_id = projects.pop()
    user = must(access, Action.write, project_id)
    home = Home(Path(settings.HOME))
    asked = checklist([facts_of(s.run, s.bundle, s.interpretation, home=home) for s in subjects])
    with transaction.atomic():
        old = _superseded(access, submission.supersedes, project_id)
        review = Review.objects.create(
            id=uuid7(),
            project_id=project_id,
            title=submission.title.strip(),
            statement=submission.statement.strip(),
            author=user,
            supersedes=old,
        )
        Subject.objects.bulk_create([_subject(review, s) for s in subjects])
        ChecklistItem.objects.bulk_create(
            ChecklistItem(
                review=review,
                position=position,
                key=item.key,
                requirement=item.requirement,
                question=item.question,
                automatic=item.automatic or "",
                evidence=list(item.evidence),
            )
            for position, item in enumerate(asked)
        )
        record(review, user, Step.submit, words=review.statement)
        tell(Event.review_asked, review, f"asked for by {user.get_username()}")
        for name in submission.reviewers:
            ask(access, review.id, name)
        if (
            old is not None and old.state != State.signed_off
        ):  # a sign-off stands until the next one
            supersede(old, user, by_review=review)
    return review


def sealed_runs(access: Access, run_ids: Sequence[UUID]) -> list[Sealed]:
    """The runs with the bundle and reading they show. Raises Refusal with a finding a run that has none."""
    if not 1 <= len(set(run_ids)) <= MOST_RUNS:
        raise refuse(
            field="runs",
            seen=len(set(run_ids)),
            allowed=f"1 to {MOST_RUNS} runs",
            remedy="Choose the runs that the statement is about.",
        )
    runs = visible_runs(access).filter(id__in=run_ids).select_related("study")
    found = {run.id: run for run in runs}
    subjects, findings = [], []
    for run_id in dict.fromkeys(run_ids):
        sealed = _sealed(found[run_id]) if run_id in found else None
        if sealed is not None:
            subjects.append(sealed)
            continue
        state = found[run_id].state if run_id in found else "no run of yours"
        findings.append(
            Finding(
                field="runs",
                seen=f"{run_id}: {state}",
                allowed="a run with an accepted, sealed and interpreted bundle",
                remedy="Wait for its end, or leave it out.",
            )
        )
    if findings:
        raise Refusal(findings)
    return subjects


def submittable(runs: Sequence[Run]) -> set[UUID]:
    """Which of these runs can be submitted. One query."""
    accepted = {run.id: run.accepted_execution for run in runs if run.accepted_execution}
    bundles = Bundle.objects.filter(run__in=list(accepted), interpretations__isnull=False)
    rows = bundles.values_list("run_id", "execution_id").distinct()
    return {run_id for run_id, execution in rows if run_id and accepted[run_id] == execution}


def _sealed(run: Run) -> Sealed | None:
    if run.accepted_execution is None:
        return None
    bundle = Bundle.objects.filter(run=run, execution_id=run.accepted_execution).first()
    reading = bundle.interpretations.order_by("pk").last() if bundle else None
    if bundle is None or reading is None:
        return None
    return Sealed(run=run, bundle=bundle, interpretation=reading)


def _subject(review: Review, sealed: Sealed) -> Subject:
    return Subject(
        review=review,
        run=sealed.run,
        bundle=sealed.bundle,
        definition_version=sealed.interpretation.definition_version,
        interpretation_digest=sealed.interpretation.digest,
    )


def _must_say_something(submission: Submission) -> None:
    limits = (("title", submission.title, 200), ("statement", submission.statement, 20_000))
    findings = [
        Finding(
            field=name,
            seen=f"{len(text.strip())} characters",
            allowed=f"1 to {most} characters",
            remedy="Say what is claimed of these runs; that is what gets signed.",
        )
        for name, text, most in limits
        if not 1 <= len(text.strip()) <= most
    ]
    if findings:
        raise Refusal(findings)


def _superseded(access: Access, review_id: UUID | None, project_id: UUID) -> Review | None:
    if review_id is None:
        return None
    old = Review.objects.filter(id=review_id, project_id=project_id).first()
    if old is None:
        raise refuse(
            field="supersedes",
            seen=review_id,
            allowed="a review of the same project",
            remedy="Open the review to supersede and submit its runs anew from there.",
        )
    return old
