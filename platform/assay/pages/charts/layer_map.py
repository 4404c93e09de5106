"""A model's layers in a row: what mixes tokens in each, and what feeds forward, one strip above the other."""

from collections.abc import Callable

from assay.analysis.perfmodel.structure import Layer, Structure
from assay.pages.charts import theme
from assay.pages.charts.theme import Figure, Trace

# Told apart by tone and by hatching, so that neither print nor colour blindness loses a kind.
FILLS: tuple[dict[str, object], ...] = (
    {"color": "$accent:0.75"},
    {"color": "$accent:0.22", "pattern": {"shape": "/", "fgcolor": "$accent", "size": 6}},
    {"color": "$ink:0.55"},
    {"color": "$ink:0.14", "pattern": {"shape": ".", "fgcolor": "$ink", "size": 5}},
    {"color": "$weak:0.6"},
    {"color": "$weak:0.2", "pattern": {"shape": "x", "fgcolor": "$weak", "size": 6}},
)


def layer_map(structure: Structure) -> Figure:
    """One bar a layer in each of the two strips."""
    traces = [*_strip(structure, "mixer", _mixer), *_strip(structure, "feed-forward", _feed)]
    for index, trace in enumerate(traces):
        trace["marker"] = FILLS[index % len(FILLS)] | {"line": {"width": 0}}
    return theme.figure(
        traces,
        barmode="overlay",
        bargap=0.12,
        xaxis=theme.axis("layer", rangemode="tozero", range=[-0.6, len(structure.layers) - 0.4]),
        yaxis=theme.axis(
            "",
            type="category",
            categoryorder="array",
            categoryarray=["feed-forward", "mixer"],
            showline=False,
            ticks="",
        ),
        hovermode="closest",
    )


def _strip(structure: Structure, strip: str, name: Callable[[Layer], str | None]) -> list[Trace]:
    kinds: dict[str, list[int]] = {}
    for number, layer in enumerate(structure.layers):
        if (kind := name(layer)) is not None:
            kinds.setdefault(kind, []).append(number)
    return [
        {
            "type": "bar",
            "orientation": "h",
            "name": f"{kind} × {len(numbers)}",
            "y": [strip] * len(numbers),
            "x": [0.88] * len(numbers),
            "base": [number - 0.44 for number in numbers],
            "customdata": numbers,
            "hovertemplate": f"layer %{{customdata}}: {kind}<extra></extra>",
        }
        for kind, numbers in kinds.items()
    ]


def _mixer(layer: Layer) -> str | None:
    if layer.mixer is None:
        return None
    kinds = {part.kind for part in layer.mixer.reads()}
    bounded = next((word for word in ("sliding", "chunked") if any(word in k for k in kinds)), "")
    shared = ", reads another layer's state" if not layer.mixer.state() else ""
    return f"{layer.mixer.kind.replace('_', ' ')} {bounded}".strip() + shared


def _feed(layer: Layer) -> str | None:
    if layer.feed_forward is None:
        return None
    experts = getattr(layer.feed_forward, "experts", None)
    if experts is None:
        return layer.feed_forward.kind
    return f"{experts} experts"
