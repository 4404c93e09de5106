"""What a measured time is made of: the bound, what named parameters add to it, and the residual."""

from collections.abc import Sequence

from assay.pages.charts import theme
from assay.pages.charts.theme import Figure, Trace
from assay.pages.residual_line import ResidualLine

ROW_PIXELS = 30
FRAME_PIXELS = 120


def explained(lines: Sequence[ResidualLine]) -> list[ResidualLine]:
    """The times with all three of bound, estimate and measurement."""
    return [
        line for line in lines if line.is_time and line.bound and line.predicted and line.measured
    ]


def residual_waterfall(lines: Sequence[ResidualLine]) -> Figure:
    """One row a time, as shares of the measurement; a residual below zero lies beyond it, hatched."""
    shown = explained(lines)
    names = [line.name for line in shown]
    bound = [(line.bound or 0) / (line.measured or 1) for line in shown]
    predicted = [(line.predicted or 0) / (line.measured or 1) for line in shown]
    missing = [max(0.0, 1 - p) for p in predicted]
    beyond = [max(0.0, p - 1) for p in predicted]
    named = [max(0.0, min(p, 1.0) - b) for p, b in zip(predicted, bound, strict=True)]
    return theme.figure(
        [
            _bars("bound", names, [0.0] * len(shown), bound, {"color": "$ink:0.7"}),
            _bars("named parameters", names, bound, named, {"color": "$accent:0.6"}),
            _bars(
                "residual: longer than estimated",
                names,
                [min(p, 1.0) for p in predicted],
                missing,
                {"color": theme.WEAK},
            ),
            _bars(
                "residual: shorter than estimated",
                names,
                [1.0] * len(shown),
                beyond,
                {
                    "color": "$weak:0.15",
                    "pattern": {"shape": "/", "fgcolor": theme.WEAK, "size": 6},
                },
            ),
        ],
        height=FRAME_PIXELS + ROW_PIXELS * max(1, len(shown)),
        barmode="overlay",
        xaxis=theme.axis("share of the measured time (1 = as measured)", rangemode="tozero"),
        yaxis=theme.axis(
            "",
            type="category",
            categoryorder="array",
            categoryarray=list(reversed(names)),
            showline=False,
            ticks="",
        ),
        hovermode="closest",
    )


def _bars(
    name: str,
    names: Sequence[str],
    base: Sequence[float],
    width: Sequence[float],
    marker: dict[str, object],
) -> Trace:
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "y": list(names),
        "base": list(base),
        "x": list(width),
        "marker": marker,
        "hovertemplate": "%{y}: %{x:.1%} " + name + "<extra></extra>",
    }
