"""Writes notes and tags on runs and studies. They lie beside the archive and enter no digest."""

import logging
import re
from collections.abc import Iterable
from uuid import UUID

from django.db import transaction

from assay.accounts.access import Access
from assay.accounts.models import Action
from assay.ledger.models import Run, Study
from assay.review.models import Note, Tag
from assay.review.rights import must, project_of
from experiments.errors import refuse

log = logging.getLogger("assay.review")
LONGEST_NOTE = 5_000
MOST_TAGGED = 200  # runs at once
_TAG = re.compile(r"[^\W_][\w.:-]{0,39}", re.UNICODE)


@transaction.atomic
def note(access: Access, about: Run | Study, text: str) -> Note:
    user = must(access, Action.write, _project(about))
    words = text.strip()
    if not 1 <= len(words) <= LONGEST_NOTE:
        raise refuse(
            field="note",
            seen=f"{len(words)} characters",
            allowed=f"1 to {LONGEST_NOTE}",
            remedy="Write what should be known.",
        )
    return Note.objects.create(by=user, text=words, **_about(about))


@transaction.atomic
def tag(access: Access, about: Run | Study, name: str) -> Tag:
    """Safe to call twice: a tag is there once."""
    user = must(access, Action.write, _project(about))
    wanted = name.strip().lower()
    if not _TAG.fullmatch(wanted):
        raise refuse(
            field="tag",
            seen=name.strip() or "nothing",
            allowed="1 to 40 letters, digits, dots, colons, dashes",
            remedy="Choose one word.",
        )
    made, new = Tag.objects.get_or_create(name=wanted, **_about(about), defaults={"by": user})
    if new:
        log.info("tag %s of %s added by %s", wanted, about.pk, user.get_username())
    return made


@transaction.atomic
def untag(access: Access, about: Run | Study, name: str) -> None:
    user, wanted = must(access, Action.write, _project(about)), name.strip().lower()
    gone, _ = Tag.objects.filter(name=wanted, **_about(about)).delete()
    if gone:  # the row said who added it; who took it away stands in the log
        log.info("tag %s of %s taken away by %s", wanted, about.pk, user.get_username())


@transaction.atomic
def tag_runs(access: Access, runs: Iterable[Run], name: str) -> None:
    """All of them or none: a run whose project may not be written in refuses the others too."""
    for run in _bounded(runs):
        tag(access, run, name)


@transaction.atomic
def untag_runs(access: Access, runs: Iterable[Run], name: str) -> None:
    """As above; the declaration's own tags stay."""
    for run in _bounded(runs):
        untag(access, run, name)


def _bounded(runs: Iterable[Run]) -> list[Run]:
    found = list(runs)
    if not 1 <= len(found) <= MOST_TAGGED:
        raise refuse(
            field="run",
            seen=f"{len(found)} runs",
            allowed=f"1 to {MOST_TAGGED}",
            remedy="Choose runs in the list, a part of them at a time.",
        )
    return found


def _project(about: Run | Study) -> UUID:
    return project_of(about.study if isinstance(about, Run) else about)


def _about(about: Run | Study) -> dict[str, Run | Study]:
    return {"run": about} if isinstance(about, Run) else {"study": about}
