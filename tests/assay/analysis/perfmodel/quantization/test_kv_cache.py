"""K and V have a type of their own: where it is declared, and what it says nothing of."""

from typing import Any

import pytest

from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.quantization.declaration import Fields
from assay.analysis.perfmodel.quantization.kv_cache import kv_cache_dtype

EIGHT_BIT_FLOAT = {"num_bits": 8, "type": "float", "dynamic": False}


def fields(where: str, **values: Any) -> Fields:
    return Fields(values=values, where=where)


@pytest.mark.req("5.07")
@pytest.mark.parametrize(
    ("declared", "companion", "given", "found"),
    [
        (None, None, None, ("bfloat16", "config")),
        ({"kv_cache_scheme": None}, None, None, ("bfloat16", "config")),
        ({"kv_cache_scheme": EIGHT_BIT_FLOAT}, None, None, ("float8_e4m3fn", "kv_cache_scheme")),
        (
            {"kv_cache_scheme": {"num_bits": 8, "type": "int"}},
            None,
            None,
            ("int8", "kv_cache_scheme"),
        ),
        ({"kv_cache_scheme": "FP8"}, None, None, ("float8_e4m3fn", "kv_cache_scheme")),
        ({"kv_cache_quant_algo": "INT8"}, None, None, ("int8", "kv_cache_scheme")),
        (
            {"quantization": {"kv_cache_quant_algo": "FP8"}},
            None,
            None,
            ("float8_e4m3fn", "kv_cache_scheme"),
        ),
        (
            None,
            {"quantization": {"kv_cache_quant_algo": "FP8"}},
            None,
            ("float8_e4m3fn", "companion"),
        ),
        (None, {"quantization": {"kv_cache_quant_algo": None}}, None, ("bfloat16", "config")),
        ({"kv_cache_scheme": EIGHT_BIT_FLOAT}, None, "fp16", ("float16", "command line")),
    ],
)
def test_the_nearest_declaration_decides(
    declared: dict[str, Any] | None,
    companion: dict[str, Any] | None,
    given: str | None,
    found: tuple[str, str],
) -> None:
    assert (
        kv_cache_dtype(
            None if declared is None else fields("quantization_config", **declared),
            None if companion is None else fields("quant-config", **companion),
            given=given,
            base="bfloat16",
        )
        == found
    )


@pytest.mark.forbids
@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"kv_cache_scheme": {"num_bits": 4, "type": "float"}}, "kv_cache_scheme"),
        ({"kv_cache_scheme": 8}, "kv_cache_scheme"),
        ({"kv_cache_quant_algo": "NVFP4"}, "kv_cache_quant_algo"),
    ],
)
def test_a_cache_that_no_plain_type_expresses_is_refused(
    values: dict[str, Any], field: str
) -> None:
    with pytest.raises(ModelRefused) as caught:
        kv_cache_dtype(fields("quantization_config", **values), None, given=None, base="bfloat16")

    assert caught.value.finding.field == f"quantization_config.{field}"
