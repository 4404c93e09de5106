"""Writes notes and tags on runs and studies. They lie beside the archive and enter no digest."""

import re
from uuid import UUID

from django.db import transaction

from assay.accounts.access import Access
from assay.accounts.models import Action
from assay.ledger.models import Run, Study
from assay.review.models import Note, Tag
from assay.review.rights import must, project_of
from experiments.errors import refuse

LONGEST_NOTE = 5_000
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
    made, _ = Tag.objects.get_or_create(name=wanted, **_about(about), defaults={"by": user})
    return made


@transaction.atomic
def untag(access: Access, about: Run | Study, name: str) -> None:
    must(access, Action.write, _project(about))
    Tag.objects.filter(name=name.strip().lower(), **_about(about)).delete()


def _project(about: Run | Study) -> UUID:
    return project_of(about.study if isinstance(about, Run) else about)


def _about(about: Run | Study) -> dict[str, Run | Study]:
    return {"run": about} if isinstance(about, Run) else {"study": about}
