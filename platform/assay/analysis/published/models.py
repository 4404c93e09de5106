"""From a row to its model in its layout: configuration, replaced fields, formats, and the device's roofs."""

from collections.abc import Callable, Mapping
from typing import Any

from assay.analysis.devices.device_roofs import rated_roofs
from assay.analysis.perfmodel.parallel.laid_out import LaidOut, lay_out
from assay.analysis.perfmodel.quantization.declared import declared_formats
from assay.analysis.perfmodel.reading.reader import read_structure
from assay.analysis.perfmodel.roofs import DeviceRoofs
from assay.analysis.published.rows import Row

Configs = Callable[[str], Mapping[str, Any]]

NARROW_KV, WIDE_KV = "float8_e4m3fn", "bfloat16"


def config_of(row: Row, configs: Configs) -> dict[str, Any]:
    """The configuration with the fields that the row replaces."""
    return {**configs(row.config), **row.config_changes}


def laid_out(row: Row, configs: Configs, *, kv_dtype: str | None) -> LaidOut:
    """The row's model cut to one rank, its K/V in the row's type or else in ``kv_dtype``."""
    config = config_of(row, configs)
    companion = configs(row.config_companion) if row.config_companion else None
    structure = read_structure(config)
    declared = declared_formats(
        structure,
        config,
        companion=companion,
        weight_dtype=row.weight_dtype,
        kv_dtype=row.kv_dtype or kv_dtype,
    )
    return lay_out(structure, declared, row.layout)


def bound_model(row: Row, configs: Configs) -> tuple[LaidOut, DeviceRoofs]:
    """The model with the smallest K/V that the row leaves open: what can only make a bound lower."""
    model = laid_out(row, configs, kv_dtype=NARROW_KV)
    return model, rated_roofs(row.device, model.declared)


def estimate_model(row: Row, configs: Configs) -> tuple[LaidOut, DeviceRoofs]:
    """The model with K/V as engines keep them unless told otherwise."""
    model = laid_out(row, configs, kv_dtype=WIDE_KV)
    return model, rated_roofs(row.device, model.declared)
