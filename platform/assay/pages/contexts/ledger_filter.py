"""What a reader of the ledgers asks for: an instant, kinds of attempts, a state in each ledger, an order."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

import polars as pl
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from assay.analysis.documents import LEDGERS
from assay.pages.at_instant import NOW, UNCLEAR
from assay.pages.joined import DISAGREES, HAS_GHOST, UNFINALISED, UNKNOWN

Choices = Mapping[str, tuple[object, pl.Expr]]
NOTHING_YET = "none"  # asked of a ledger that has no record at the instant, or none at all
_CLIENT, _SERVER = pl.col("client_end_state"), pl.col("server_end_state")
_GAVE_UP = ("timeout", "cancelled", "failed")
_OVER = ("completed", "failed", "timeout", "cancelled", "rejected")
_WORKING = ("received", "queued", "running")
_CLIENT_NOW, _SERVER_NOW = pl.col(f"client{NOW}"), pl.col(f"server{NOW}")

# How attempts ended.
ENDS: Choices = {
    "all": (_("all attempts"), pl.lit(value=True)),
    "disagree": (_("client and server disagree"), DISAGREES),
    "completed_otherwise": (
        _("completed for the client, not for the server"),
        (_CLIENT == "completed") & DISAGREES,
    ),
    "left_then_completed": (
        _("client gave up, server completed"),
        _CLIENT.is_in(_GAVE_UP) & (_SERVER == "completed").fill_null(value=False),
    ),
    "ghost": (_("ghost load"), HAS_GHOST),
    "held": (
        _("resources still held"),
        (pl.col("resource_end_state") == "held").fill_null(value=False),
    ),
    "unfinalised": (_("unfinalised"), UNFINALISED),
    "unknown": (_("some ledger unknown"), UNKNOWN),
}
# Where attempts stood at an instant; ``at`` is a column of that instant.
STANDS: Choices = {
    "all": (_("all attempts"), pl.lit(value=True)),
    "begun": (_("begun and not over"), (_CLIENT_NOW.is_in(["created", "sent"])).fill_null(value=False)),
    "over_and_working": (
        _("over for the client, not for the server"),
        (_CLIENT_NOW.is_in(_OVER) & _SERVER_NOW.is_in(_WORKING)).fill_null(value=False),
    ),
    "ghost": (
        _("ghost load at this instant"),
        (
            pl.col("ghost")
            & (pl.col("ghost_from_ns") <= pl.col("at"))
            & (pl.col("ghost_to_ns") > pl.col("at"))
        ).fill_null(value=False),
    ),
    "held": (_("resources held"), (pl.col(f"resource{NOW}") == "held").fill_null(value=False)),
    "unclear": (
        _("some state unclear"),
        pl.any_horizontal((pl.col(f"{n}{NOW}") == UNCLEAR).fill_null(value=False) for n in LEDGERS),
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerFilter:
    """An empty string filters nothing; ``at_s`` None asks for the ends."""

    show: str = "all"
    states: Mapping[str, str]
    text: str = ""
    sort: str = ""
    at_s: float | None = None

    @classmethod
    def parse(cls, parameters: QueryDict) -> "LedgerFilter":
        at_s = _seconds(parameters.get("at", ""))
        show = parameters.get("show", "all")
        return cls(
            show=show if show in (ENDS if at_s is None else STANDS) else "all",
            states={
                ledger: value[:40] for ledger in LEDGERS if (value := parameters.get(ledger, ""))
            },
            text=parameters.get("q", "").strip()[:200],
            sort=parameters.get("sort", ""),
            at_s=at_s,
        )

    @property
    def choices(self) -> Choices:
        return ENDS if self.at_s is None else STANDS

    @property
    def suffix(self) -> str:
        """After a ledger's name: the column that holds its state."""
        return "_end_state" if self.at_s is None else NOW

    @property
    def table(self) -> str:
        """The name of the table that an export takes."""
        return "attempts" if self.at_s is None else "at"

    @property
    def active(self) -> bool:
        return bool(self.show != "all" or self.states or self.text)

    def query(self) -> str:
        """The same as a query string, without what filters nothing."""
        given = {
            "at": "" if self.at_s is None else f"{self.at_s:g}",
            "show": self.show if self.show != "all" else "",
            **self.states,
            "q": self.text,
            "sort": self.sort,
        }
        return urlencode({name: value for name, value in given.items() if value != ""})

    def narrowed(self) -> pl.Expr:
        """States and text; which kind of attempts is left to ``show``."""
        found = pl.lit(value=True)
        for ledger, state in self.states.items():
            column = pl.col(ledger + self.suffix)
            found &= column.is_null() if state == NOTHING_YET else column.eq_missing(pl.lit(state))
        for word in self.text.split():
            found &= pl.col("attempt_id").str.contains(word, literal=True)
        return found


def _seconds(text: str) -> float | None:
    """``12.5`` or ``12.5 s``; anything else asks for no instant."""
    try:
        value = float(text.strip().removesuffix("s").strip().replace(",", "."))
    except ValueError:
        return None
    return value if math.isfinite(value) and abs(value) < 1e9 else None
