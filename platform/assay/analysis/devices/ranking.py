"""Devices in order of one rated figure, as of the editions of their sources.

A product page carries no edition and changes without notice, so what stands on one takes no place in a dated
order. The order is of rated figures: it says nothing about speed in operation.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.analysis.devices.figures import Device, Figure, SourceKind
from assay.analysis.perfmodel.errors import ModelRefused
from runners.protocol.errors import Finding

MEMORY, BANDWIDTH = "memory", "bandwidth"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One row; ``figure.edition`` is the year as of which it holds."""

    name: str
    figure: Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """``by`` is ``memory``, ``bandwidth`` or an element type; ``left_out`` says why a device has no place."""

    by: str
    places: tuple[Place, ...]
    left_out: dict[str, str]


def ranking(entries: Sequence[Device], *, by: str) -> Ranking:
    """Devices with a dated source in falling order of the figure; the others named with the reason."""
    places, left_out = [], {}
    for entry in entries:
        figure = _figure(entry, by)
        if figure is None:
            left_out[entry.name] = "no such figure is known"
        elif (reason := _undated(figure)) is not None:
            left_out[entry.name] = reason
        else:
            places.append(Place(name=entry.name, figure=figure))
    places.sort(key=lambda place: -place.figure.value)
    return Ranking(by=by, places=tuple(places), left_out=left_out)


def place_of(entries: Sequence[Device], *, name: str, by: str) -> int:
    """The place of one device, from 1. Refused when its figure may take none."""
    order = ranking(entries, by=by)
    for number, place in enumerate(order.places, start=1):
        if place.name == name:
            return number
    raise ModelRefused(
        Finding(
            field=f"ranking.{by}",
            seen=f"{name}: {order.left_out.get(name, 'not among the devices')}",
            allowed="a figure from a dated source",
            remedy="Give a data sheet or paper with its edition, or a measurement with its date.",
        )
    )


def _figure(entry: Device, by: str) -> Figure | None:
    if by == MEMORY:
        return entry.memory_bytes
    if by == BANDWIDTH:
        return entry.memory_bandwidth
    return entry.peaks.get(by)


def _undated(figure: Figure) -> str | None:
    if figure.kind is SourceKind.product_page:
        return f"a product page is no dated source ({figure.source})"
    return None if figure.edition else f"the source carries no date ({figure.source})"
