"""Declarations that tests start from: the shipped example, changed where a test says so."""

import copy
from functools import cache
from typing import Any

from experiments.compose import compose

STUDY = "study=smollm2_torch"


def example(*overrides: str) -> dict[str, Any]:
    """The composed example study as a plain document, a copy for each caller."""
    return copy.deepcopy(_composed(overrides))


@cache
def _composed(overrides: tuple[str, ...]) -> dict[str, Any]:
    return dict(compose([STUDY, *overrides]).document)


def changed(document: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy of the document with one field set, by dotted path."""
    result = copy.deepcopy(document)
    *parents, last = path.split(".")
    node: Any = result
    for part in parents:
        node = node[int(part)] if isinstance(node, list) else node[part]
    node[last] = value
    return result
