"""The element type of K and V, which is declared apart from the weights' and holds for attention alone.

Recurrent and convolution state keep their own types: an FP8 cache scheme says nothing of them.
"""

from collections.abc import Mapping
from typing import Any

from assay.analysis.perfmodel.precision import dtype
from assay.analysis.perfmodel.quantization.declaration import Fields

# Named algorithms and (type, bits) of schemes that store plain elements.
_ALGORITHMS = {"fp8": "float8_e4m3fn", "int8": "int8"}
_SCHEMES = {("float", 8): "float8_e4m3fn", ("int", 8): "int8"}
_NONE = (None, "", "none", "NO_QUANT")


def kv_cache_dtype(
    declared: Fields | None, companion: Fields | None, *, given: str | None, base: str
) -> tuple[str, str]:
    """Element type of K and V, and where it was found.

    The command line goes first, then the companion file, the configuration's scheme, and the model's own.
    """
    if given is not None:
        return dtype(given, field="kv-dtype"), "command line"
    for fields, source in ((companion, "companion"), (declared, "kv_cache_scheme")):
        found = None if fields is None else _declared(fields)
        if found is not None:
            return found, source
    return base, "config"


def _declared(fields: Fields) -> str | None:
    if isinstance(fields.get("quantization"), Mapping):
        return _declared(fields.part("quantization"))
    algorithm = fields.get("kv_cache_quant_algo")
    if algorithm not in _NONE:
        return _of_algorithm(fields, "kv_cache_quant_algo", algorithm)
    scheme = fields.get("kv_cache_scheme")
    if scheme in _NONE:
        return None
    if isinstance(scheme, str):
        return _of_algorithm(fields, "kv_cache_scheme", scheme)
    if not isinstance(scheme, Mapping):
        raise fields.refused("kv_cache_scheme", "an object, or null")
    element = _SCHEMES.get((scheme.get("type", "int"), scheme.get("num_bits", 8)))
    if element is None:
        raise fields.refused("kv_cache_scheme", "8-bit float, 8-bit int")
    return element


def _of_algorithm(fields: Fields, name: str, value: Any) -> str:
    element = _ALGORITHMS.get(str(value).lower())
    if element is None:
        # FP4 caches carry block scales that no plain element type can express.
        raise fields.refused(name, "FP8, INT8, or null")
    return element
