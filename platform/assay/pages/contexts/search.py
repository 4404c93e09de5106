"""What the reader of a list asked for: a query, number columns and an order, all of them in the address."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import urlencode

from django.http import QueryDict

from assay.accounts.access import Access
from assay.ledger.run_query.parse import parse
from assay.ledger.run_query.rewrite import stated, with_field
from assay.ledger.run_query.terms import RunQuery
from assay.ledger.run_query.vocabulary import DATE_FIELDS, METRICS, STATES, TEXT_FIELDS
from assay.pages.contexts.columns import Columns, chosen_columns
from experiments.errors import Finding

# parameter of a drop-down filter -> the field of the query that it writes
DROP_DOWNS = {"state": "state", "study": "study", "artifact": "model", "engine": "engine"}
LONGEST = 2000  # of an address's query; what is too long is said, not silently lost


@dataclass(frozen=True, kw_only=True)  # without slots, for the cached property
class Search:
    query: RunQuery
    columns: Columns = field(default_factory=Columns)
    sort: str = ""

    @property
    def text(self) -> str:
        return self.query.text

    @property
    def problems(self) -> Sequence[Finding]:
        return [*self.query.problems, *self.columns.problems]

    @property
    def active(self) -> bool:
        return not self.query.empty

    @cached_property
    def stated(self) -> dict[str, str]:
        """What each drop-down shows: the one value that the query asks of its field."""
        return {name: stated(self.text, field) for name, field in DROP_DOWNS.items()}

    def address(self) -> str:
        """The same search as a query string, without what changes nothing."""
        given = {"q": self.text, "columns": self.columns.address, "sort": self.sort}
        return urlencode({name: value for name, value in given.items() if value})


def search(parameters: QueryDict, sorts: Mapping[str, object]) -> Search:
    """``sorts`` names the orders that the list knows; ``-`` before one turns it round."""
    text = parameters.get("q", "")[:LONGEST]
    for name, field_name in DROP_DOWNS.items():
        if value := parameters.get(name, "")[:200]:
            text = with_field(text, field_name, value)
    columns = chosen_columns(parameters)
    sort = parameters.get("sort", "")
    known = sort.removeprefix("-") in (*sorts, *columns.names)
    return Search(query=parse(text), columns=columns, sort=sort if known else "")


def me(access: Access) -> str:
    """The name under which studies of the reader are filed."""
    return str(access.user.get_username())


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """The query language in a table, for the page that takes it."""

    fields: Sequence[tuple[str, str, str]]
    metrics: Sequence[tuple[str, str, str]]


def language() -> Language:
    states = ", ".join(STATES)
    texts = [(name, meaning, example) for name, (meaning, example) in TEXT_FIELDS.items()]
    dates = [(name, meaning, example) for name, (meaning, example) in DATE_FIELDS.items()]
    return Language(
        fields=[*texts, ("state", states, "state:failed,lost"), *dates],
        metrics=[(name, rule, statistic) for name, (rule, statistic) in METRICS.items()],
    )
