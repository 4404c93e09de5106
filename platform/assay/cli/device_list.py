"""How ``assay device list`` shows the catalogue: every figure with its column and source, or one order."""

from typing import Any

from assay.analysis.devices.figures import Device, Figure, SustainedBandwidth
from assay.analysis.devices.ranking import MEMORY, Place, Ranking


def row(entry: Device) -> dict[str, Any]:
    """One device as JSON, in base units."""
    return {
        "name": entry.name,
        "aliases": list(entry.aliases),
        "maker": entry.maker,
        "kind": entry.kind,
        "maturity": entry.maturity,
        "memory_bytes": entry.memory_bytes.value,
        "bandwidth_bytes_per_s": entry.memory_bandwidth.value,
        "memory_level": entry.memory_level,
        "peaks_flops_per_s": {name: _figure(figure) for name, figure in entry.peaks.items()},
        "sustained": [_sustained(found) for found in entry.sustained],
        "links": [
            {
                "kind": link.kind,
                "generation": link.generation,
                "both_ways_bytes_per_s": link.both_ways.value,
                "one_way_bytes_per_s": link.one_way_bytes_per_s,
                "source": link.both_ways.source,
            }
            for link in entry.links
        ],
        "power_w": None if entry.power_w is None else entry.power_w.value,
        "observed": [_figure(figure) for figure in entry.observed],
        "remarks": list(entry.remarks),
        "source": entry.memory_bandwidth.source,
        "source_kind": entry.memory_bandwidth.kind,
        "edition": entry.memory_bandwidth.edition,
        "date": entry.memory_bandwidth.date,
    }


def line(entry: Device) -> str:
    gb, bandwidth = entry.memory_bytes.value / 1e9, entry.memory_bandwidth.value / 1e9
    peak = entry.peaks.get("bfloat16")
    dense = (
        f"{peak.value / 1e12:>7.1f} TFLOP/s bfloat16" if peak else "      - no bfloat16 peak known"
    )
    return (
        f"{entry.name:<30} {gb:>6.0f} GB {bandwidth:>7.1f} GB/s {entry.memory_level:<7} "
        f"{dense}, {entry.maturity}; {entry.memory_bandwidth.source}"
    )


def order_row(order: Ranking) -> dict[str, Any]:
    return {
        "by": order.by,
        "places": [
            {"place": number, "name": place.name} | _figure(place.figure)
            for number, place in enumerate(order.places, start=1)
        ],
        "left_out": order.left_out,
    }


def order_lines(order: Ranking) -> list[str]:
    """The order for people; who has no place is named below it."""
    places = [
        f"{number:>3}. {place.name:<30} {_amount(order.by, place)}, as of {place.figure.edition}"
        for number, place in enumerate(order.places, start=1)
    ]
    out = [f"no place: {name}: {reason}" for name, reason in order.left_out.items()]
    return [f"rated {order.by}, by the sources' editions:", *places, *out]


def _amount(by: str, place: Place) -> str:
    if place.figure.unit == "FLOP/s":
        return f"{place.figure.value / 1e12:,.1f} TFLOP/s"
    return f"{place.figure.value / 1e9:,.1f} {'GB' if by == MEMORY else 'GB/s'}"


def _figure(figure: Figure) -> dict[str, Any]:
    return {
        "value": figure.value,
        "unit": figure.unit,
        "column": figure.column,
        "source": figure.source,
        "source_kind": figure.kind,
        "edition": figure.edition,
        "date": figure.date,
    }


def _sustained(found: SustainedBandwidth) -> dict[str, Any]:
    return {
        "pattern": found.pattern,
        "read_share": found.read_share,
        "conditions": found.conditions,
    } | _figure(found.figure)
