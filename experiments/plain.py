"""Declarations are plain data: nothing in them is looked up elsewhere or made into an object."""

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any

INTERPOLATION = "${"
INSTANTIATION = ("_target_", "_args_", "_partial_", "_recursive_", "_convert_")


def plain(value: Any) -> Any:
    """The same tree with text keys, and each choice as its own text."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [plain(v) for v in value]
    return value


def forbidden(tree: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Places of an unresolved tree that hold an interpolation or name something to be made."""
    if isinstance(tree, Mapping):
        for key, value in tree.items():
            here = f"{path}.{key}" if path else str(key)
            if key in INSTANTIATION or INTERPOLATION in str(key):
                yield here, str(key)
            yield from forbidden(value, here)
    elif isinstance(tree, list | tuple):
        for index, value in enumerate(tree):
            yield from forbidden(value, f"{path}.{index}")
    elif isinstance(tree, str) and INTERPOLATION in tree:
        yield path, tree
