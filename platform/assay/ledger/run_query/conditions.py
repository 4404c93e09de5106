"""A read query as a condition on runs, or on studies: all its terms have to hold."""

from datetime import datetime

from django.db.models import Q

from assay.ledger.run_query import lookups
from assay.ledger.run_query.lookups import Reader
from assay.ledger.run_query.terms import Compare, Match, RunQuery, Span, Term, Text


def on_runs(query: RunQuery, *, now: datetime, me: str) -> Q:
    """``me`` is the name that ``author:me`` stands for."""
    reader, found = Reader(now=now, me=me), Q()
    for term in query.terms:
        of_runs = _of_run(term, reader)
        found &= ~of_runs if term.negated else of_runs
    return found


def on_studies(query: RunQuery, *, now: datetime, me: str) -> Q:
    """What is said of runs has to hold for one run of the study, all of it for the same one.

    A negation has to hold for every run: ``-state:failed`` are studies without a failed run.
    """
    reader = Reader(now=now, me=me)
    of_studies, of_one_run = Q(), Q()
    for term in query.terms:
        found, is_of_run = _of_study(term, reader)
        if not is_of_run:
            of_studies &= ~found if term.negated else found
        elif term.negated:
            of_studies &= ~lookups.studies_with(found)
        else:
            of_one_run &= found
    return of_studies & lookups.studies_with(of_one_run) if of_one_run else of_studies


def _of_run(term: Term, reader: Reader) -> Q:
    match term:
        case Text():
            return lookups.run_text(term) | lookups.runs_of(lookups.study_text(term))
        case Match() if lookups.is_of_study(term):
            found = lookups.runs_of(lookups.study_match(term, reader))
            return found | lookups.run_tagged(term) if term.field == "tag" else found
        case Match():
            return lookups.run_match(term)
        case Span():
            return lookups.moment(term, reader)
        case Compare():
            return lookups.number(term)


def _of_study(term: Term, reader: Reader) -> tuple[Q, bool]:
    """The condition, and whether it is one on runs."""
    match term:
        case Text():
            found = lookups.study_text(term) | lookups.studies_with(lookups.run_text(term))
            return found, False
        case Match() if lookups.is_of_study(term):
            return lookups.study_match(term, reader), False
        case Match():
            return lookups.run_match(term), True
        case Span():
            return lookups.moment(term, reader), term.field != "created"
        case Compare():
            return lookups.number(term), True
