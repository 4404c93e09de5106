"""Which layers attend to a window or a chunk, and how configurations say so.

A window counts only where the class applies it: it may be declared and switched off, hold for some layers by
a list of layer types, or by a rule of the class that no field states.
"""

from dataclasses import dataclass

from assay.analysis.perfmodel.mixers.span import Span
from assay.analysis.perfmodel.reading.fields import Fields

_FULL, _SLIDING = "full_attention", "sliding_attention"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """The span of one layer and its size in tokens, None where it is unbounded."""

    span: Span = Span.FULL
    window: int | None = None


EVERYTHING = Reach()


def layer_kinds(fields: Fields, layers: int, *, allowed: tuple[str, ...]) -> list[str] | None:
    """``layer_types``, one of ``allowed`` for each layer; None when the configuration lists none."""
    kinds = fields.words("layer_types")
    if kinds is None:
        return None
    others = sorted(set(kinds) - set(allowed))
    if others:
        raise fields.refused("layer_types", others[0], " or ".join(allowed))
    if len(kinds) != layers:
        raise fields.refused("layer_types", f"{len(kinds)} entries", f"{layers}, one a layer")
    return list(kinds)


def full_everywhere(fields: Fields, layers: int) -> list[Reach]:
    """No window: a class that has none. A declared one is left over and refused by name."""
    layer_kinds(fields, layers, allowed=(_FULL,))
    return [EVERYTHING] * layers


def declared_everywhere(fields: Fields, layers: int) -> list[Reach]:
    """``sliding_window`` holds for every layer when it is not null (Mistral, Phi-3, Mixtral)."""
    window = fields.optional_count("sliding_window")
    kinds = layer_kinds(fields, layers, allowed=(_FULL, _SLIDING))
    if kinds is not None:
        return [_reach(fields, kind, window) for kind in kinds]
    return [EVERYTHING if window is None else Reach(span=Span.SLIDING, window=window)] * layers


def switched(fields: Fields, layers: int) -> list[Reach]:
    """``use_sliding_window`` must be on, and only layers from ``max_window_layers`` on slide (Qwen)."""
    on = fields.flag("use_sliding_window")
    window, first = fields.optional_count("sliding_window"), fields.amount("max_window_layers")
    kinds = layer_kinds(fields, layers, allowed=(_FULL, _SLIDING))
    if not on or window is None:
        if kinds is not None and _SLIDING in kinds:
            raise fields.refused("layer_types", _SLIDING, f"{_FULL}: the window is switched off")
        return [EVERYTHING] * layers
    kinds = kinds or [_FULL if i < first else _SLIDING for i in range(layers)]
    return [_reach(fields, kind, window) for kind in kinds]


def alternating(fields: Fields, layers: int, *, period: int) -> list[Reach]:
    """Listed by ``layer_types``, else every ``period``-th layer is global and the others slide (Gemma)."""
    window = fields.optional_count("sliding_window", "sliding_window_size")
    kinds = layer_kinds(fields, layers, allowed=(_FULL, _SLIDING))
    kinds = kinds or [_SLIDING if (i + 1) % period else _FULL for i in range(layers)]
    return [_reach(fields, kind, window) for kind in kinds]


def _reach(fields: Fields, kind: str, window: int | None) -> Reach:
    if kind == _FULL:
        return EVERYTHING
    if window is None:
        raise fields.refused("sliding_window", "absent", "a number of tokens: some layers slide")
    return Reach(span=Span.SLIDING, window=window)
