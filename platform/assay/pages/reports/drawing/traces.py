"""The traces of a figure as SVG: lines, marks, words, error bars and horizontal bars."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assay.pages.reports.drawing import ink
from assay.pages.reports.drawing.marks import mark
from assay.pages.reports.drawing.scale import Scale

Trace = Mapping[str, Any]
MARK_SIZE = 8
BAR_SHARE = 0.5  # of the room between two names
_ABOVE, _BELOW = -9.0, 17.0


def drawn(trace: Trace, x: Scale, y: Scale) -> str:
    """Raises KeyError for a kind of trace that has no drawing here: none is left out in silence."""
    return _KINDS[trace["type"]](trace, x, y)


def extent(trace: Trace, name: str) -> list[Any]:
    """All values of a trace along ``x`` or ``y``, with the reach of its error bars and its bars' ends."""
    values = list(trace[name])
    error = trace.get(f"error_{name}")
    if error:
        values += [v + reach for v, reach in zip(trace[name], error["array"], strict=True)]
        values += [v - reach for v, reach in zip(trace[name], error["arrayminus"], strict=True)]
    if name == "x" and "base" in trace:
        values += [b + v for b, v in zip(trace["base"], trace["x"], strict=True)]
    return values


def _scatter(trace: Trace, x: Scale, y: Scale) -> str:
    mode = str(trace["mode"]).split("+")
    parts = []
    if "lines" in mode:
        parts.append(_line(trace, x, y))
    parts += [_errors(trace, x, y, name) for name in ("x", "y") if f"error_{name}" in trace]
    if "markers" in mode:
        parts.append(_marks(trace, x, y))
    if "text" in mode:
        parts.append(_words(trace, x, y))
    return "".join(parts)


def _points(trace: Trace, x: Scale, y: Scale) -> list[tuple[float, float] | None]:
    found = []
    for a, b in zip(trace["x"], trace["y"], strict=True):
        px, py = x.at(a), y.at(b)
        found.append(None if px is None or py is None else (px, py))
    return found


def _line(trace: Trace, x: Scale, y: Scale) -> str:
    line = trace.get("line", {})
    stepped = line.get("shape") == "hv"
    path, pen_down = [], False
    for point in _points(trace, x, y):
        if point is None:
            pen_down = False
            continue
        px, py = point
        if not pen_down:
            path.append(f"M{px:.1f} {py:.1f}")
        else:
            path.append(f"H{px:.1f}V{py:.1f}" if stepped else f"L{px:.1f} {py:.1f}")
        pen_down = True
    return ink.element("path", d="".join(path), **ink.stroke(line)) if path else ""


def _marks(trace: Trace, x: Scale, y: Scale) -> str:
    marker = trace.get("marker", {})
    points = _points(trace, x, y)
    sizes = _each(marker.get("size", MARK_SIZE), len(points))
    symbols = _each(marker.get("symbol", "circle"), len(points))
    paints = _each(marker.get("color", "$ink"), len(points))
    return "".join(
        mark(str(symbol), *point, float(size), paint)
        for point, size, symbol, paint in zip(points, sizes, symbols, paints, strict=True)
        if point is not None
    )


def _each(value: Any, count: int) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else [value] * count


def _words(trace: Trace, x: Scale, y: Scale) -> str:
    points = _points(trace, x, y)
    places = _each(trace.get("textposition", "top center"), len(points))
    font = trace.get("textfont", {})
    parts = []
    for point, text, place in zip(points, trace["text"], places, strict=True):
        if point is None:
            continue
        dy = _ABOVE if str(place).startswith("top") else _BELOW
        look = {**ink.fill(font.get("color", "$ink")), "font_size": font.get("size", 12)}
        parts.append(ink.words(point[0], point[1] + dy, str(text), text_anchor="middle", **look))
    return "".join(parts)


def _errors(trace: Trace, x: Scale, y: Scale, name: str) -> str:
    error = trace[f"error_{name}"]
    look = ink.stroke({"color": error.get("color"), "width": error.get("thickness", 2)})
    paths = []
    rows = zip(trace["x"], trace["y"], error["array"], error["arrayminus"], strict=True)
    for a, b, more, less in rows:
        if not more and not less:
            continue
        along, across = (x, y.at(b)) if name == "x" else (y, x.at(a))
        value = a if name == "x" else b
        low, high = along.at(value - less), along.at(value + more)
        if low is None or high is None or across is None:
            continue
        start = f"{low:.1f} {across:.1f}H{high:.1f}"
        upright = f"{across:.1f} {low:.1f}V{high:.1f}"
        paths.append("M" + (start if name == "x" else upright))
    return ink.element("path", d="".join(paths), **look) if paths else ""


def _bars(trace: Trace, x: Scale, y: Scale) -> str:
    """Horizontal ones, from their base. A pattern becomes a dashed outline, which needs no definition."""
    height = y.step() * BAR_SHARE
    marker = trace.get("marker", {})
    look = ink.fill(marker.get("color"))
    if "pattern" in marker:
        look |= {
            **ink.stroke({"color": marker["pattern"]["fgcolor"], "width": 1, "dash": "dot"}),
            **look,
        }
    parts = []
    for base, width, name in zip(trace["base"], trace["x"], trace["y"], strict=True):
        left, right, middle = x.at(base), x.at(base + width), y.at(name)
        if not width or left is None or right is None or middle is None:
            continue
        box = {"x": left, "y": middle - height / 2, "width": right - left, "height": height}
        parts.append(ink.element("rect", **box, **look))
    return "".join(parts)


_KINDS: dict[str, Callable[[Trace, Scale, Scale], str]] = {"scatter": _scatter, "bar": _bars}
