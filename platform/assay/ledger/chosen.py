"""The runs that a person asks for in words: within what they may see, by the language of the run list."""

from datetime import UTC, datetime

from django.db.models import QuerySet

from assay.accounts.access import Access
from assay.ledger.models import Run, Study
from assay.ledger.run_query import conditions
from assay.ledger.run_query.parse import parse
from assay.ledger.run_query.terms import RunQuery
from assay.ledger.visibility import visible_runs, visible_studies
from experiments.errors import Refusal


def asked_runs(access: Access, text: str) -> QuerySet[Run]:
    """Raises Refusal where a word is not understood: a machine must not get other rows instead."""
    runs = visible_runs(access)
    query = _understood(text)
    return runs.filter(conditions.on_runs(query, now=datetime.now(UTC), me=_name(access)))


def asked_studies(access: Access, text: str) -> QuerySet[Study]:
    """The same of studies."""
    studies = visible_studies(access)
    query = _understood(text)
    return studies.filter(conditions.on_studies(query, now=datetime.now(UTC), me=_name(access)))


def _understood(text: str) -> RunQuery:
    query = parse(text)
    if query.problems:
        raise Refusal(query.problems)
    return query


def _name(access: Access) -> str:
    return str(access.user.get_username())
