"""A stand-in: sgl_kernel has no CPU build on the package index. Layers take their plain torch path.

A CPU start imports operators of it by name without asking if they are there; all of them end in ``_cpu``.
"""

from collections.abc import Callable
from typing import Any, NoReturn

from assay_stand_in import WARNING, say  # type: ignore[import-not-found]

say(__name__)


def __getattr__(name: str) -> Callable[..., NoReturn]:
    if not name.endswith("_cpu"):
        raise AttributeError(name)

    def absent(*arguments: Any, **named: Any) -> NoReturn:
        raise RuntimeError(f"{name} of {__name__} {WARNING}")

    return absent
