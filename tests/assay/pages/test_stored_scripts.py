"""Words that people leave here come back as words, on every page that shows them."""

import pytest
from django.test import Client
from django.urls import reverse

from assay.accounts.models import Team
from assay.accounts.services import local_user
from assay.ledger.ids import uuid7
from assay.ledger.models import GapEntry, Run, Study
from assay.regressions.models import Finding, Schedule
from assay.review.models import Note, Review, Tag
from tests.assay.pages.addresses import every_page
from tests.assay.pages.factory import Laboratory

SCRIPT = "<script>stored()</script>"
HANDLER = '"><img src=x onerror=stored()>'
EVIL = f"{SCRIPT}{HANDLER}"


def poison(lab: Laboratory) -> None:
    """Everything that a person, an engine or an imported file can name."""
    Study.objects.update(title=EVIL, question=EVIL, owner=EVIL[:150], tags=[EVIL], overrides=[EVIL])
    Run.objects.filter(accepted_execution=None).update(
        state_reason=EVIL, engine_version=EVIL[:60], device_name=EVIL[:120], artifact_name=EVIL
    )
    Schedule.objects.update(name=EVIL[:120], owner=EVIL[:150], overrides=[EVIL], zone="UTC")
    Finding.objects.update(
        owner=EVIL[:150],
        metrics=[{"metric": "tpot.last_token p50", "change": 0.08, "reason": EVIL}],
    )
    Team.objects.update(name=EVIL[:100])
    Note.objects.create(run=lab.run, text=EVIL, by=local_user())
    Tag.objects.create(run=lab.run, name=SCRIPT, by=local_user())
    reading = lab.bundle.interpretations.get()
    GapEntry.objects.create(
        interpretation=reading, what=EVIL, affects=EVIL, needed=EVIL, state="open"
    )


@pytest.mark.forbids
def test_stored_words_never_become_markup(lab: Laboratory, somebody: Client) -> None:
    poison(lab)
    review = Review.objects.create(
        id=uuid7(), project=lab.study.project, title=EVIL, statement=EVIL, author=local_user()
    )
    pages = [*every_page(lab), ("poisoned review", reverse("review", args=[review.pk]))]
    shown = 0
    for name, url in pages:
        response = somebody.get(url)
        content = b"".join(response) if response.streaming else response.content
        if "text/html" not in response.headers.get("Content-Type", ""):
            continue
        text = content.decode()
        assert SCRIPT not in text, name
        assert "<img src=x" not in text, name
        shown += "stored()" in text

    # Many pages show some of it; a test in which none does would show nothing.
    assert shown >= 12
