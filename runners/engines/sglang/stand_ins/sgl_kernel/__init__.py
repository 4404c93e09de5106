"""An empty stand-in: sgl_kernel has no CPU build on the package index. Layers take their plain torch path."""

from typing import Any, NoReturn

from assay_stand_in import WARNING, say

say(__name__)


def copy_all_layer_kv_cache_cpu(*arguments: Any, **named: Any) -> NoReturn:
    """The one name that a CPU start imports from it without asking; a text model on its own never calls it."""
    raise RuntimeError(f"copy_all_layer_kv_cache_cpu of {__name__} {WARNING}")
