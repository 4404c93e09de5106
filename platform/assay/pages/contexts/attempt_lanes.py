"""A lane of one attempt as a bar and a table, with its cross-check."""

from dataclasses import dataclass

from assay.analysis.documents import Lane

NS = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneBar:
    name: str
    x: str
    width: str
    duration_s: float
    start_event: str
    end_event: str
    origin: str
    on_path: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneView:
    perspective: str
    clock_domain: str
    bars: list[LaneBar]
    sum_s: float | None
    span_s: float | None
    cross_check: bool | None
    rejected: list[str]


def lane_view(lane: Lane) -> LaneView:
    intervals = lane["intervals"]
    start = min((i["from_ns"] for i in intervals), default=0)
    span = max((i["to_ns"] for i in intervals), default=1) - start or 1
    return LaneView(
        perspective=lane["perspective"],
        clock_domain=lane["clock_domain"],
        bars=[
            LaneBar(
                name=i["name"],
                x=f"{1000 * (i['from_ns'] - start) / span:.2f}",
                width=f"{max(1.0, 1000 * (i['to_ns'] - i['from_ns']) / span):.2f}",
                duration_s=(i["to_ns"] - i["from_ns"]) / 1e9,
                start_event=i["start_event"],
                end_event=i["end_event"],
                origin=i["origin"],
                on_path=i["on_path"],
            )
            for i in intervals
        ],
        sum_s=_seconds(lane["sum_ns"]),
        span_s=_seconds(lane["end_minus_start_ns"]),
        cross_check=lane["cross_check"],
        rejected=lane["rejected"],
    )


def _seconds(value_ns: int | None) -> float | None:
    return None if value_ns is None else value_ns / NS
