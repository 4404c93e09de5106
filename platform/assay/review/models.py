"""Reviews of sealed runs. They lie beside the archive: nothing here changes a bundle or a reading of it.

Verdicts, comments, answers, acceptances, sign-offs and the audit trail are only added to; triggers hold that
on both databases. A review's own row changes its state and round and nothing else.
"""

from django.conf import settings
from django.db import models
from django.db.models import Q

from assay.accounts.models import Project
from assay.ledger.models import Bundle, Run, Study
from assay.review.anchors import Anchor, AnchorKind
from assay.review.process import State, VerdictKind


class Review(models.Model):
    """One statement about sealed runs, and where its judging stands."""

    id = models.UUIDField(primary_key=True)  # UUIDv7
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="reviews")
    title = models.CharField(max_length=200)
    statement = models.TextField()  # what is claimed of the runs; a sign-off freezes it
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="reviews"
    )
    supersedes = models.ForeignKey(
        "self", null=True, on_delete=models.PROTECT, related_name="superseded_by"
    )
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)
    state = models.CharField(
        max_length=20, choices=[(s.value, s.value) for s in State], default=State.open.value
    )
    round = models.PositiveIntegerField(default=1)


class Subject(models.Model):
    """A run under review, as it was when it was submitted."""

    review = models.ForeignKey(Review, on_delete=models.PROTECT, related_name="subjects")
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="review_subjects")
    bundle = models.ForeignKey(Bundle, on_delete=models.PROTECT, related_name="review_subjects")
    definition_version = models.CharField(max_length=40)
    interpretation_digest = models.CharField(max_length=64)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["review", "run"], name="run_once_a_review")]


class Reviewer(models.Model):
    """Somebody who was asked to review, or did so unasked."""

    review = models.ForeignKey(Review, on_delete=models.PROTECT, related_name="reviewers")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="asked_reviews"
    )
    added_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["review", "user"], name="asked_once")]


class Said(models.Model):
    """What somebody said in a review at some time."""

    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        abstract = True


class Verdict(Said):
    review = models.ForeignKey(Review, on_delete=models.PROTECT, related_name="verdicts")
    kind = models.CharField(max_length=20, choices=[(k.value, k.value) for k in VerdictKind])
    statement = models.TextField()
    round = models.PositiveIntegerField()


class ChecklistItem(models.Model):
    """A question that the requirements put to these runs, with what the archive answers itself."""

    review = models.ForeignKey(Review, on_delete=models.PROTECT, related_name="items")
    position = models.PositiveIntegerField()
    key = models.CharField(max_length=40)
    requirement = models.CharField(max_length=10)
    question = models.TextField()
    automatic = models.CharField(max_length=20, blank=True)  # an Answer; empty: only people can say
    evidence = models.JSONField(default=list)  # lines: what was seen, run by run

    class Meta:
        constraints = [models.UniqueConstraint(fields=["review", "key"], name="asked_in_review")]


class ChecklistAnswer(Said):
    """A person's answer; the newest of an item counts."""

    item = models.ForeignKey(ChecklistItem, on_delete=models.PROTECT, related_name="answers")
    answer = models.CharField(max_length=20)
    note = models.TextField()


class GapAcceptance(Said):
    """An open gap of the runs, accepted by its name."""

    review = models.ForeignKey(Review, on_delete=models.PROTECT, related_name="accepted_gaps")
    what = models.TextField()
    reason = models.TextField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["review", "what"], name="accepted_once")]


class SignOff(Said):
    """A frozen statement, bound to bundles and a definition version; ``digest`` is over ``document``."""

    review = models.OneToOneField(Review, on_delete=models.PROTECT, related_name="sign_off")
    document = models.JSONField()
    digest = models.CharField(max_length=64)


class AuditEntry(Said):
    """One step that was taken, with the states before and after it."""

    review = models.ForeignKey(Review, on_delete=models.PROTECT, related_name="audit")
    step = models.CharField(max_length=20)
    before = models.CharField(max_length=20, blank=True)
    after = models.CharField(max_length=20)
    about = models.TextField(blank=True)  # the gap, the item, the person asked
    words = models.TextField(blank=True)


class Thread(Said):
    """A conversation about one place of a run, or about a review's statement."""

    id = models.UUIDField(primary_key=True)  # UUIDv7
    run = models.ForeignKey(Run, null=True, on_delete=models.PROTECT, related_name="threads")
    review = models.ForeignKey(Review, null=True, on_delete=models.PROTECT, related_name="threads")
    kind = models.CharField(max_length=20, choices=[(k.value, k.value) for k in AnchorKind])
    key = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(run__isnull=False) ^ Q(review__isnull=False), name="thread_of_one_thing"
            )
        ]

    @property
    def anchor(self) -> Anchor:
        return Anchor(kind=AnchorKind(self.kind), key=self.key)


class CommentKind(models.TextChoices):
    say = "say"
    edit = "edit"  # ``replaces`` names what it stands for now
    resolve = "resolve"
    reopen = "reopen"


class Comment(Said):
    """Words in a thread. An edit is a row of its own; the words before it stay readable."""

    thread = models.ForeignKey(Thread, on_delete=models.PROTECT, related_name="comments")
    kind = models.CharField(max_length=8, choices=CommentKind.choices, default=CommentKind.say)
    replaces = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="edits")
    text = models.TextField(blank=True)


class Note(Said):
    """A remark on a run or a study, outside any review."""

    run = models.ForeignKey(Run, null=True, on_delete=models.PROTECT, related_name="notes")
    study = models.ForeignKey(Study, null=True, on_delete=models.PROTECT, related_name="notes")
    text = models.TextField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(run__isnull=False) ^ Q(study__isnull=False), name="note_of_one_thing"
            )
        ]


class Tag(Said):
    """A word by which runs or studies are found again. The declaration's own tags stay in the study."""

    run = models.ForeignKey(Run, null=True, on_delete=models.PROTECT, related_name="tags")
    study = models.ForeignKey(Study, null=True, on_delete=models.PROTECT, related_name="added_tags")
    name = models.CharField(max_length=40, db_index=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(run__isnull=False) ^ Q(study__isnull=False), name="tag_of_one_thing"
            ),
            models.UniqueConstraint(fields=["run", "name"], name="tag_once_a_run"),
            models.UniqueConstraint(fields=["study", "name"], name="tag_once_a_study"),
        ]


class ForeignHistory(Said):
    """Reviews that an imported archive brought along: to be read, and no approval here."""

    bundle = models.ForeignKey(Bundle, on_delete=models.PROTECT, related_name="foreign_history")
    document = models.JSONField()
    digest = models.CharField(max_length=64)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["bundle", "digest"], name="brought_once")]
