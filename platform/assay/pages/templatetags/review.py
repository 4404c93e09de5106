"""Small things that other pages show of reviews: a discuss link at a place, notes and tags of a study."""

from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from assay.accounts.models import Action
from assay.ledger.models import Study
from assay.pages.contexts.review_places import discuss_url, place_words
from assay.review.anchors import Anchor, AnchorKind
from assay.review.models import Tag
from assay.review.places import measure_key, residual_key
from assay.review.queries import notes_of
from assay.review.rights import project_of

register = template.Library()


@register.simple_tag(takes_context=True)
def discuss(context: dict[str, Any], kind: str, key: str) -> SafeString:
    """A link that begins a thread about this place, or leads to those there are; the place's own id."""
    head, said = context["head"], context["said"]
    anchor = Anchor(kind=AnchorKind(kind), key=key)
    count = said.threads.get((kind, key), 0)
    words = ngettext("{n} thread", "{n} threads", count).format(n=count) if count else _("discuss")
    return format_html(
        '<a class="discuss" id="{}" href="{}" aria-label="{}"{}>{}</a>',
        anchor.fragment,
        discuss_url(head.run.pk, anchor),
        f"{words}: {place_words(anchor)}",
        SafeString(" data-said") if count else "",
        words,
    )


@register.simple_tag(takes_context=True)
def discuss_measure(
    context: dict[str, Any], rule: str, statistic: str, population: str
) -> SafeString:
    return discuss(context, AnchorKind.measure, measure_key(rule, statistic, population))


@register.simple_tag(takes_context=True)
def discuss_residual(
    context: dict[str, Any], quantity: str, conditions: dict[str, Any]
) -> SafeString:
    return discuss(context, AnchorKind.residual, residual_key(quantity, conditions))


@register.inclusion_tag("pages/review/_notes.html", takes_context=True)
def study_notes(context: dict[str, Any], study: Study) -> dict[str, Any]:
    """Notes and tags of a study: two queries, wherever the page puts them."""
    return {
        "request": context["request"],
        "csrf_token": context.get("csrf_token"),
        "action": "study-notes",
        "about": study.pk,
        "notes": notes_of(study=study.pk),
        "tags": list(
            Tag.objects.filter(study=study).order_by("name").values_list("name", flat=True)
        ),
        "may_write": context["request"].access.may(Action.write, project_of(study)),
    }
