"""Measurements published by others beside our bounds and estimates: writes docs/published-measurements.md

    PYTHONPATH=platform:. python benchmarks/published_measurements.py

The rows are data (``tests/data/published/measurements.yaml``); everything else is computed here. The
same comparison for programs lies beside the code (``assay.archive.published``).
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from assay.analysis.published.comparison import compare
from assay.analysis.published.documents import Comparison
from assay.analysis.published.rows import Published, read_published
from assay.archive.model_configs import SHIPPED
from assay.archive.published import COMPARISON
from benchmarks.published_page import page

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "tests/data/published/measurements.yaml"
PAGE = ROOT / "docs/published-measurements.md"
DIGITS = 5  # of a figure in the JSON: what a solver on another machine reproduces


def main() -> None:
    PAGE.write_text(page(published(), comparison()), encoding="utf-8")
    COMPARISON.write_text(json_text(comparison()), encoding="utf-8")


@cache
def published() -> Published:
    """The rows as they stand in the data."""
    return read_published(yaml.safe_load(DATA.read_text(encoding="utf-8")))


@cache
def comparison() -> Comparison:
    """The rows beside what is computed of them now."""
    return compare(published(), configuration)


def configuration(name: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads((SHIPPED / f"{name}.json").read_text(encoding="utf-8"))
    return found


def json_text(comparison: Comparison) -> str:
    return json.dumps(_rounded(comparison), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, Mapping):
        return {name: _rounded(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(each) for each in value]
    return value


if __name__ == "__main__":
    main()
