"""One term about a study, or about a run, as a condition of the database."""

import json
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from assay.ledger.models import Run, ShownMeasure, Study
from assay.ledger.queries import SHORTEST_PREFIX, find_runs
from assay.ledger.run_query.terms import Compare, Match, Span, Text, Value
from assay.ledger.run_query.vocabulary import STATE, STATES

ME = "me"
# Of a study; everything else is of a run.
STUDY_FIELDS: dict[str, tuple[str, ...]] = {
    "author": ("owner",),
    "project": ("project__slug", "project__name"),
    "study": ("name",),
}
_RUN_FIELDS = {
    "model": "artifact_name",
    "engine": "engine_key",
    "version": "engine_version",
    "device": "device_name",
}
_SIGNS = {"<": "lt", "<=": "lte", ">": "gt", ">=": "gte"}
_NAMES_OF_A_RUN = ("artifact_name", "engine_key", "engine_version", "device_name")
_NAMES_OF_A_STUDY = ("name", "title")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Who asks, and when."""

    now: datetime
    me: str  # the name that author:me stands for


def is_of_study(term: Match) -> bool:
    return term.field == "tag" or term.field in STUDY_FIELDS


def study_match(term: Match, reader: Reader) -> Q:
    """Studies that one of the values fits."""
    found = Q()
    for value in term.values:
        if term.field == "tag":
            found |= _tagged(value.text)
            found |= Q(id__in=Study.objects.filter(**_added(value, "added_tags")).values("id"))
            continue
        if term.field == "author" and value.text == ME and not value.whole:
            value = Value(text=reader.me, whole=True)
        for path in STUDY_FIELDS[term.field]:
            found |= _fits(path, value)
    return found


def run_match(term: Match) -> Q:
    """Runs that one of the values fits."""
    if term.field == STATE:
        states = [state for value in term.values for state in STATES[value.text.lower()]]
        return Q(state__in=sorted(set(states)))
    found = Q()
    for value in term.values:
        found |= _fits(_RUN_FIELDS[term.field], value)
    return found


def study_text(term: Text) -> Q:
    found = Q(tags__icontains=_in_json(term.text))
    for name in _NAMES_OF_A_STUDY:
        found |= Q(**{f"{name}__icontains": term.text})
    return found


def run_tagged(term: Match) -> Q:
    """Runs that bear one of the tags themselves."""
    found = Q()
    for value in term.values:
        found |= Q(id__in=Run.objects.filter(**_added(value, "tags")).values("id"))
    return found


def run_text(term: Text) -> Q:
    """What a run itself is named by: its artifact, engine, device, id and digests."""
    found = Q()
    for name in _NAMES_OF_A_RUN:
        found |= Q(**{f"{name}__icontains": term.text})
    digits = term.text.lower().replace("-", "")
    if len(digits) >= SHORTEST_PREFIX and not set(digits) - set("0123456789abcdef"):
        found |= Q(spec_digest__startswith=digits)
        found |= Q(id__in=find_runs(term.text).order_by().values("id"))
    return found


def moment(term: Span, reader: Reader) -> Q:
    """Rows whose time lies in the span; one that has none lies in no span."""
    column = f"{term.field}_at"
    found = Q()
    if term.within is not None:
        found &= Q(**{f"{column}__gte": reader.now - term.within})
    if term.since is not None:
        found &= Q(**{f"{column}__gte": term.since})
    if term.until is not None:
        found &= Q(**{f"{column}__lt": term.until})
    return found


def number(term: Compare) -> Q:
    """Runs whose shown number compares so; a run without that number never does."""
    shown = ShownMeasure.objects.filter(
        rule=term.rule, statistic=term.statistic, **{f"value__{_SIGNS[term.sign]}": term.value}
    )
    return Q(id__in=shown.values("run_id"))


def runs_of(studies: Q) -> Q:
    return Q(study__in=Study.objects.filter(studies).values("id"))


def studies_with(runs: Q) -> Q:
    return Q(id__in=Run.objects.filter(runs).values("study_id"))


def _fits(path: str, value: Value) -> Q:
    return Q(**{f"{path}__{'iexact' if value.whole else 'icontains'}": value.text})


def _added(value: Value, relation: str) -> dict[str, str]:
    """Tags that people added later lie in the review app, above this one; only its relation is named here."""
    return {f"{relation}__name__iexact": value.text}


def _tagged(tag: str) -> Q:
    """A whole tag stands in quotes in the JSON list: on SQLite with escapes, on PostgreSQL without."""
    escaped, plain = json.dumps(tag), json.dumps(tag, ensure_ascii=False)
    return Q(tags__icontains=escaped) | Q(tags__icontains=plain)


def _in_json(text: str) -> str:
    return json.dumps(text)[1:-1]
