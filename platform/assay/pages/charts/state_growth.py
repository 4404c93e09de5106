"""What one sequence keeps as it grows: bytes resident by class of state over stored tokens."""

from collections.abc import Sequence

from assay.analysis.perfmodel.state import StateClass
from assay.pages.charts import theme
from assay.pages.charts.theme import Figure, Trace

GIB = 1024**3


def state_growth(classes: Sequence[StateClass], tokens: Sequence[int]) -> Figure:
    """One line a class, M(S); a dashed one of what a decode step reads, Q(S), where that is less."""
    traces: list[Trace] = []
    for index, each in enumerate(classes):
        style = theme.SERIES[index % len(theme.SERIES)]
        resident = [each.resident_bytes(count) / GIB for count in tokens]
        if not any(resident):
            continue
        traces.append(_line(f"{_words(each)}, resident", tokens, resident, style))
        read = [each.read_bytes(count) / GIB for count in tokens]
        if read != resident:
            traces.append(
                _line(f"{_words(each)}, read per step", tokens, read, style | {"dash": "dot"})
            )
    return theme.figure(
        traces,
        xaxis=theme.axis("stored tokens", type="log"),
        yaxis=theme.axis("GiB per sequence", type="log", exponentformat="none"),
        hovermode="x unified",
    )


def _words(each: StateClass) -> str:
    return each.kind.replace("_", " ")


def _line(
    name: str, tokens: Sequence[int], values: Sequence[float], style: dict[str, object]
) -> Trace:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": list(tokens),
        "y": [value or None for value in values],
        "line": style | {"width": 2},
        "marker": {"size": 5},
        "hovertemplate": "%{y:.4~g} GiB",
    }
