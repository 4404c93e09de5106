"""Which rows stand below the lanes of a timeline: of those that the run can give, the ones asked for."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from assay.pages.charts.tracks import Shown, Track
from assay.pages.contexts.gauge_tracks import PREFIX, gauge_tracks, gauges
from assay.pages.contexts.step_tracks import step_tracks
from assay.pages.contexts.telemetry_tracks import (
    telemetry_keys,
    telemetry_title,
    telemetry_tracks,
)
from assay.pages.contexts.timeline import DomainTimeline

MOST_GAUGES = 12  # drawn at once
DEFAULT_GAUGES = 3
NONE = "none"  # asked for: lanes alone


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChoice:
    """A row that may be shown. ``source`` groups the choices."""

    key: str
    label: str
    source: str
    shown: bool


def _steps() -> dict[str, str]:
    return {
        "step_tokens": _("step composition: tokens of prefill and decode"),
        "step_requests": _("requests in the step, running and waiting"),
        "kv_blocks": _("KV blocks in use"),
    }


def row_choices(timeline: DomainTimeline, asked: Sequence[str]) -> list[RowChoice]:
    """Every row this domain can have, in the order in which they are drawn."""
    found: list[tuple[str, str, str, bool]] = []
    if timeline.steps is not None:
        found += [(key, label, _("iterations"), True) for key, label in _steps().items()]
    if timeline.bundle is not None:
        scraped = gauges(timeline.bundle)
        # One of each kind: an engine may have several that are waiting by one word.
        telling = {g.place: g.key for g in reversed(scraped) if g.place is not None}
        drawn = [telling[place] for place in sorted(telling)[:DEFAULT_GAUGES]]
        found += [(g.key, g.name, _("scraped gauges"), g.key in drawn) for g in scraped]
        found += [
            (key, telemetry_title(key), _("host readings"), True)
            for key in telemetry_keys(timeline.bundle)
        ]
    return [
        RowChoice(key=key, label=label, source=source, shown=key in asked if asked else by_default)
        for key, label, source, by_default in found
    ]


def rows_of(
    timeline: DomainTimeline, choices: Sequence[RowChoice], *, start_s: float, end_s: float
) -> list[Track]:
    """The shown rows over the range."""
    keys = [choice.key for choice in choices if choice.shown]
    tracks: list[Track] = []
    if timeline.steps is not None:
        drawn = step_tracks(
            timeline.folder,
            timeline.steps,
            origin_ns=timeline.origin_ns,
            start_s=start_s,
            end_s=end_s,
        )
        tracks += [track for track in drawn if track.key in keys]
    if timeline.bundle is not None:
        names = [key.removeprefix(PREFIX) for key in keys if key.startswith(PREFIX)]
        own = Shown(
            domain=timeline.domain,
            origin_ns=timeline.client_origin_ns,
            start_s=start_s,
            end_s=end_s,
        )
        tracks += gauge_tracks(timeline.bundle, names[:MOST_GAUGES], own)
        tracks += telemetry_tracks(timeline.bundle, keys_of_host(keys), own)
    return tracks


def keys_of_host(keys: Sequence[str]) -> list[str]:
    return [key for key in keys if key in ("cpu", "memory", "power")]
