"""What a bundle and its reading hold for a comparison: what ran, and over which attempts its numbers are.

Both are sealed, so what was read once is kept: a page that compares eight runs reads each of them once.
"""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.analysis.comparability.record import Observed, Population
from assay.archive.derived_schemas import ATTEMPTS
from assay.archive.stored_reading import INTERPRETATION
from runners.protocol import layout
from runners.protocol.events import ClientState, Segment

CURVE_RULES = ("ttft.first_content.client", "tpot.last_token", "e2e.client")
Floats = NDArray[np.float64]
_KEPT = 256  # a few kilobytes each
_KEPT_CURVES = 24  # eight bytes an attempt: three rules of eight runs
_OUTPUT_TOKENS = pl.coalesce("token_ids", "usage")
_IS_LOAD = pl.col("segment") == Segment.load.value
_IS_COMPLETED = pl.col("client_state") == ClientState.completed.value
_AT_CAP = "length"  # the finish reason of an output that its cap ended


def observed(bundle: Path) -> Observed:
    """The documents of a sealed bundle folder that say what ran; none of a folder that is not here."""
    return _observed(bundle) if (bundle / layout.MANIFEST).is_file() else Observed()


def population(reading: Path, spec: Mapping[str, Any]) -> Population | None:
    """Null where the attempts of the reading are not on this machine."""
    if not (reading / ATTEMPTS).is_file():
        return None
    cases = (spec.get("workload") or {}).get("cases") or ()
    return _population(reading, tuple(str(case["name"]) for case in cases))


def grade(reading: Path) -> tuple[str, tuple[str, ...]]:
    """The grade of the client's figures with its reasons; empty in a reading that has none yet."""
    return _grade(reading) if (reading / INTERPRETATION).is_file() else ("", ())


def curve(reading: Path, rule: str) -> tuple[Floats, int]:
    """Values of one rule, ascending, and how many attempts were offered: of the load, else of all."""
    if rule not in CURVE_RULES or not (reading / ATTEMPTS).is_file():
        return np.empty(0), 0
    return _curve(reading, rule)


@lru_cache(maxsize=_KEPT_CURVES)
def _curve(reading: Path, rule: str) -> tuple[Floats, int]:
    rows = pl.read_parquet(reading / ATTEMPTS, columns=["segment", "client_state", rule])
    own = _of_load(rows)
    values = own.filter(_IS_COMPLETED)[rule].drop_nulls().sort().to_numpy()
    values.flags.writeable = False  # it is handed out again
    return values, own.height


@lru_cache(maxsize=_KEPT)
def _observed(bundle: Path) -> Observed:
    error = (_document(bundle / layout.CLOCKS) or {}).get("client_error") or {}
    return Observed(
        identity=_document(bundle / layout.IDENTITY),
        host=_document(bundle / layout.HOST),
        packages=_document(bundle / layout.PACKAGES),
        client_source=(error.get("self_calibration") or {}).get("client_version"),
    )


def _document(path: Path) -> dict[str, Any] | None:
    if not path.is_file():
        return None
    found = json.loads(path.read_bytes())
    return found if isinstance(found, dict) else None


@lru_cache(maxsize=_KEPT)
def _grade(reading: Path) -> tuple[str, tuple[str, ...]]:
    found = (_document(reading / INTERPRETATION) or {}).get("grade") or {}
    return str(found.get("letter") or ""), tuple(found.get("reasons") or ())


@lru_cache(maxsize=_KEPT)
def _population(reading: Path, cases: tuple[str, ...]) -> Population:
    columns = ["segment", "case", "client_state", "finish_reason", "prompt_tokens", "cached_tokens"]
    rows = pl.read_parquet(reading / ATTEMPTS, columns=[*columns, "token_ids", "usage"])
    own = _of_load(rows)
    done = own.filter(_IS_COMPLETED)
    is_told = pl.col("cached_tokens").is_not_null() & pl.col("prompt_tokens").is_not_null()
    told = done.filter(is_told)
    return Population(
        group="all attempts" if own is rows else "segment load",
        states=_counts(own["client_state"]),
        input_lengths=_counts(done["prompt_tokens"]),
        output_lengths=_counts(done.select(_OUTPUT_TOKENS).to_series()),
        prompt_tokens=int(told["prompt_tokens"].sum()),
        cached_tokens=int(told["cached_tokens"].sum()) if told.height == done.height else None,
        at_cap=_at_caps(rows, own, cases),
    )


def _of_load(rows: pl.DataFrame) -> pl.DataFrame:
    """What aggregates are over: the load where there is one, else every attempt."""
    load = rows.filter(_IS_LOAD)
    return load if load.height else rows


def _counts(column: pl.Series) -> dict[Any, int]:
    return dict(column.drop_nulls().value_counts().iter_rows())


def _at_caps(rows: pl.DataFrame, own: pl.DataFrame, cases: Sequence[str]) -> dict[str, int | None]:
    found = {"workload.output_tokens": _at_cap(own)}
    for number, name in enumerate(cases):
        one = rows.filter(pl.col("case") == name)
        found[f"workload.cases.{number}.output_tokens"] = _at_cap(one) if one.height else None
    return found


def _at_cap(rows: pl.DataFrame) -> int | None:
    """Null where a completed answer does not say why it ended."""
    done = rows.filter(_IS_COMPLETED)
    if done["finish_reason"].null_count():
        return None
    return int((done["finish_reason"] == _AT_CAP).sum())
