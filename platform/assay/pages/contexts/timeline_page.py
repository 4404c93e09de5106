"""The timeline's page: a figure per clock domain over the asked range, its rows, and the table behind it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.http import QueryDict

from assay.pages.charts.theme import Figure
from assay.pages.charts.timeline import timeline
from assay.pages.charts.tracks import ROW_PIXELS, Track
from assay.pages.contexts.head import RunHead
from assay.pages.contexts.timeline import (
    DomainTimeline,
    IntervalTable,
    domain_timelines,
    interval_table,
    range_of,
    view,
)
from assay.pages.contexts.timeline_rows import RowChoice, row_choices, rows_of

MARGINS_PIXELS = 110
MOST_ROWS = 40  # names of rows in one address
LANES_PIXELS = {True: 230, False: 400}  # few attempts, many
FEW_LANES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the address asks for. A range belongs to one domain; None is all of it."""

    domain: int | None = None
    from_s: float | None = None
    to_s: float | None = None
    rows: Sequence[str] = ()

    def of(self, number: int) -> "Asked":
        """The same without a range that belongs to another domain."""
        if self.domain is None or self.domain == number:
            return self
        return replace(self, from_s=None, to_s=None)


def asked_of(parameters: QueryDict) -> Asked:
    domain = parameters.get("domain", "")
    return Asked(
        domain=int(domain) if domain.isascii() and domain.isdigit() and len(domain) < 4 else None,
        from_s=_seconds(parameters.get("from", "")),
        to_s=_seconds(parameters.get("to", "")),
        rows=parameters.getlist("rows")[:MOST_ROWS],
    )


def _seconds(text: str) -> float | None:
    """A finite number of seconds that ns can hold; anything else was not asked."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and abs(value) < 1e9 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One domain as it is drawn."""

    domain: DomainTimeline
    figure: Figure
    tracks: list[Track]
    choices: list[RowChoice]
    table: IntervalTable
    from_s: float
    to_s: float
    is_zoomed: bool

    @property
    def pixels(self) -> int:
        """How much room the figure gets before it is drawn."""
        lanes = LANES_PIXELS[self.domain.attempts <= FEW_LANES]
        return MARGINS_PIXELS + lanes + ROW_PIXELS * len(self.tracks)


def timeline_page(head: RunHead, asked: Asked) -> list[Shown]:
    return [shown(domain, asked.of(domain.number)) for domain in domain_timelines(head)]


def shown(domain: DomainTimeline, asked: Asked) -> Shown:
    start, end = range_of(domain, asked.from_s, asked.to_s)
    choices = row_choices(domain, asked.rows)
    tracks = rows_of(domain, choices, start_s=start, end_s=end)
    drawn = replace(view(domain, asked.from_s, asked.to_s), tracks=tracks)
    return Shown(
        domain=domain,
        figure=timeline(drawn),
        tracks=tracks,
        choices=choices,
        table=interval_table(domain, start, end),
        from_s=start,
        to_s=end,
        is_zoomed=asked.from_s is not None or asked.to_s is not None,
    )
