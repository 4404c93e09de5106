"""What all figures share. A figure is plain JSON; colours are names of CSS variables (``$ink``).

The page resolves the names, so that one figure serves light and dark. Only SVG traces are used.
"""

from typing import Any

Figure = dict[str, Any]
Trace = dict[str, Any]

INK = "$ink"
SOFT = "$ink-2"
ACCENT = "$accent"
RULE = "$rule"
RULE_STRONG = "$rule-strong"
WEAK = "$weak"

# Series that are no ledger: told apart by dash and label as well as by colour.
SERIES: tuple[dict[str, Any], ...] = (
    {"color": ACCENT, "dash": "solid"},
    {"color": INK, "dash": "dash"},
    {"color": SOFT, "dash": "solid"},
    {"color": ACCENT, "dash": "dot"},
    {"color": INK, "dash": "dashdot"},
)


def axis(title: str, **more: Any) -> dict[str, Any]:
    return {
        "title": {"text": title, "standoff": 8},
        "gridcolor": RULE,
        "linecolor": RULE_STRONG,
        "tickcolor": RULE_STRONG,
        "zeroline": False,
        "showline": True,
        "ticks": "outside",
        "ticklen": 4,
        "automargin": True,
        **more,
    }


def figure(traces: list[Trace], **layout: Any) -> Figure:
    """A figure with the common layout; ``layout`` entries come on top."""
    common = {
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "$sans", "size": 12, "color": SOFT},
        "margin": {"l": 60, "r": 18, "t": 30, "b": 46},
        "hoverlabel": {
            "bgcolor": "$sheet",
            "bordercolor": RULE_STRONG,
            "font": {"family": "$mono", "size": 12, "color": INK},
        },
        "legend": {
            "orientation": "h",
            "x": 0,
            "xanchor": "left",
            "y": 1.0,
            "yanchor": "bottom",
            "font": {"color": INK},
        },
        "dragmode": "zoom",
    }
    return {"data": traces, "layout": common | layout}
