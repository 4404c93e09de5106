"""How lines, areas and words of a drawing look: attributes from what Plotly names.

Colours stay names of CSS variables, so that one drawing serves light, dark and paper.
"""

from collections.abc import Mapping
from typing import Any

from django.utils.html import escape

DASHES = {
    "dash": "7 4",
    "dot": "2 3",
    "dashdot": "7 3 2 3",
    "longdash": "12 5",
    "longdashdot": "12 4 2 4",
}


def element(tag: str, inner: str = "", /, **attributes: Any) -> str:
    """``inner`` is markup already; every attribute is escaped. A None leaves its attribute out."""
    written = "".join(
        f' {name.strip("_").replace("_", "-")}="{escape(_short(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    return f"<{tag}{written}>{inner}</{tag}>" if inner else f"<{tag}{written}/>"


def _short(value: Any) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)


def colour(name: Any, fallback: str = "$ink") -> tuple[str, float | None]:
    """A colour and its opacity: ``$accent:0.35`` is the accent at 35 per cent."""
    text = name if isinstance(name, str) else fallback
    if not text.startswith("$"):
        return text, None
    variable, _, alpha = text[1:].partition(":")
    return f"var(--{variable})", float(alpha) if alpha else None


def stroke(line: Mapping[str, Any], fallback: Any = "$ink") -> dict[str, Any]:
    paint, alpha = colour(line.get("color", fallback))
    return {
        "fill": "none",
        "stroke": paint,
        "stroke_opacity": None if alpha is None else f"{alpha:g}",
        "stroke_width": f"{line.get('width', 2):g}",
        "stroke_dasharray": DASHES.get(str(line.get("dash", "solid"))),
        "stroke_linejoin": "round",
    }


def fill(name: Any) -> dict[str, Any]:
    paint, alpha = colour(name)
    return {"fill": paint, "fill_opacity": None if alpha is None else f"{alpha:g}"}


def words(x: float, y: float, text: str, **attributes: Any) -> str:
    return element("text", escape(text), x=x, y=y, **attributes)


def width_of(text: str, size: float = 12) -> float:
    """About how wide a text is: sans letters are a little over half as wide as high."""
    return len(text) * size * 0.56
