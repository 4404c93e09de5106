"""Symbols of data points, as paths around a centre; an ``-open`` one is an outline."""

import math
from typing import Any

from assay.pages.reports.drawing.ink import colour, element

_CROSS = (
    (-0.35, -1), (0.35, -1), (0.35, -0.35), (1, -0.35), (1, 0.35), (0.35, 0.35),
    (0.35, 1), (-0.35, 1), (-0.35, 0.35), (-1, 0.35), (-1, -0.35), (-0.35, -0.35),
)  # fmt: skip
_STAR = tuple(
    (r * math.sin(i * math.pi / 5), -r * math.cos(i * math.pi / 5))
    for i, r in ((i, 1.25 if i % 2 == 0 else 0.5) for i in range(10))
)
_TURN = math.sqrt(0.5)
# corners in units of half the size
_CORNERS: dict[str, tuple[tuple[float, float], ...]] = {
    "square": ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    "diamond": ((0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)),
    "diamond-tall": ((0, -1.4), (0.75, 0), (0, 1.4), (-0.75, 0)),
    "triangle-up": ((0, -1.15), (1.1, 0.8), (-1.1, 0.8)),
    "triangle-down": ((0, 1.15), (1.1, -0.8), (-1.1, -0.8)),
    "cross": _CROSS,
    "x": tuple(((x - y) * _TURN, (x + y) * _TURN) for x, y in _CROSS),
    "star": _STAR,
}
OPEN = "-open"


def mark(symbol: str, x: float, y: float, size: float, paint: Any) -> str:
    """``size`` is a diameter in pixels. A symbol that is not known raises KeyError: none is left undrawn."""
    look = _look(paint, outlined=symbol.endswith(OPEN))
    name, half = symbol.removesuffix(OPEN), size / 2
    if name == "circle":
        return element("circle", cx=x, cy=y, r=half, **look)
    if name == "line-ns":
        return element("path", d=f"M{x:.1f} {y - half:.1f}V{y + half:.1f}", **look)
    corners = "L".join(f"{x + dx * half:.1f} {y + dy * half:.1f}" for dx, dy in _CORNERS[name])
    return element("path", d=f"M{corners}Z", **look)


def _look(paint: Any, *, outlined: bool) -> dict[str, Any]:
    found, alpha = colour(paint)
    opacity = None if alpha is None else f"{alpha:g}"
    if outlined:
        return {"fill": "none", "stroke": found, "stroke_width": 2, "stroke_opacity": opacity}
    return {"fill": found, "fill_opacity": opacity}
