"""What was asked of graphs, and which sizes were captured: of any engine, out of its own identity item."""

import ast
from collections.abc import Mapping
from typing import Any

from assay.analysis.claims.dispatch import EAGER, GraphSetting
from runners.protocol.documents import IdentityItem

_CHOSEN = "chosen"
_ASKED = ("graph_mode", "decode_graphs")
_RESOLVED = ("compilation.cudagraph_mode", "cuda_graph_backend_decode")
_SIZES = ("compilation.cudagraph_capture_sizes", "captured_sizes")
# Engines' own words for the modes of ``dispatch``.
_MODES: Mapping[str, str] = {"disabled": EAGER, "full": "FULL", "breakable": "PIECEWISE"}


def graph_setting(item: IdentityItem | None) -> GraphSetting:
    """What was asked of graphs; where nothing was, what the engine resolved."""
    declared = _values(item["declared"] if item else None)
    ran = _values(item["ran"] if item else None)
    asked = EAGER if declared.get("enforce_eager") else _first(declared, _ASKED)
    mode = asked if asked not in (None, _CHOSEN) else _first(ran, _RESOLVED)
    if ran.get("graphs_off_because"):
        mode = EAGER  # the engine itself turned them off
    return GraphSetting(
        mode=None if mode is None else _MODES.get(str(mode), str(mode)),
        buckets=_numbers(_first(ran, _SIZES)),
        capability=None,
    )


def _values(document: Any) -> Mapping[str, Any]:
    return document if isinstance(document, Mapping) else {}


def _first(values: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((values[name] for name in names if values.get(name) is not None), None)


def _numbers(sizes: Any) -> tuple[int, ...] | None:
    """A list, or a list as it was printed."""
    if isinstance(sizes, str):
        try:
            sizes = ast.literal_eval(sizes)
        except (ValueError, SyntaxError):
            return None
    return tuple(int(size) for size in sizes) if isinstance(sizes, list) else None
