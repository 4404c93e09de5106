"""The runs of a scan as measured: real token counts, steps, times, state, and who else used the cores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl

from assay.analysis.fitting.identity import cell_of, identity_of
from assay.analysis.observed import ObservedStep, StepPhase
from assay.analysis.perfmodel.scan import ScanPoint
from assay.analysis.quantities import NS_PER_S
from assay.archive import bundle_inputs
from assay.archive.derived_schemas import ATTEMPTS, ITERATIONS
from assay.archive.errors import ArchiveError
from assay.archive.readers import Bundle
from assay.archive.stored_reading import StoredReading
from runners.protocol import layout
from runners.protocol.events import ClientState, Segment

_STEP_FIELDS = tuple(field.name for field in fields(ObservedStep))


class NotAScanRun(ArchiveError):
    """A run without what a calibration reads; the message says which part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanRow:
    """One run of a scan: the tokens that really went in and came out, and what was observed beside them.

    Times are medians in seconds over the load's completed requests; None where nothing was measured.
    """

    cell: str
    bundle: str
    requests: int
    input_tokens: int | None
    output_tokens: tuple[int, int, int] | None  # lowest, median, highest
    ttft_s: float | None
    step_s: float | None
    end_to_end_s: float | None
    kv_peak_bytes: int | None
    others_cores: float | None


class ScanRun:
    """One sealed and interpreted run. Raises NotAScanRun where a part is missing."""

    def __init__(self, bundle: Bundle, reading: StoredReading) -> None:
        spec = bundle.document(layout.SPEC)
        facts = bundle.document(layout.HOST)
        if spec is None or facts is None:
            raise NotAScanRun(f"bundle {bundle.digest[:12]}: no declaration or no host description")
        if not reading.present:
            raise NotAScanRun(f"bundle {bundle.digest[:12]}: it was not interpreted here")
        self.spec: Mapping[str, Any] = spec
        self.bundle = bundle.digest
        self.cell = cell_of(spec)
        self.identity = identity_of(spec, fingerprint=str(facts.get("fingerprint")))
        self._bundle, self._reading = bundle, reading

    @cached_property
    def steps(self) -> list[ObservedStep]:
        """Steps of the load in the engine's own record, in its order."""
        table = self._reading.table(ITERATIONS)
        if table is None:
            return []
        rows = table.filter(pl.col("segment") == Segment.load.value).select(_STEP_FIELDS).collect()
        return [
            ObservedStep(**{**row, "phase": StepPhase(row["phase"])})
            for row in rows.iter_rows(named=True)
        ]

    @property
    def disturbance(self) -> Mapping[str, Any]:
        """What others took of the cores in the measured phase; empty where nobody looked."""
        return dict(bundle_inputs.client_error(self._bundle).get("disturbance") or {})

    def row(self) -> ScanRow:
        rows = self._requests()
        outputs = sorted(n for r in rows if (n := _first(r, "token_ids", "usage")) is not None)
        inputs = {r["prompt_tokens"] for r in rows}
        decode = [s.duration_ns / NS_PER_S for s in self.steps if s.phase is StepPhase.decode]
        return ScanRow(
            cell=self.cell.name,
            bundle=self.bundle,
            requests=len(rows),
            input_tokens=inputs.pop() if len(inputs) == 1 else None,
            output_tokens=(outputs[0], int(median(outputs)), outputs[-1]) if outputs else None,
            ttft_s=_median(rows, "ttft.first_content.client"),
            step_s=median(decode) if decode else None,
            end_to_end_s=_median(rows, "e2e.client"),
            kv_peak_bytes=self._kv_peak_bytes(),
            others_cores=self.disturbance.get("others_cores_mean"),
        )

    def point(self) -> ScanPoint:
        """Its place on an axis of real counts; an output that differs from request to request has none."""
        row = self.row()
        outputs = row.output_tokens
        same = outputs is not None and outputs[0] == outputs[2]
        return ScanPoint(
            input_tokens=row.input_tokens,
            output_tokens=outputs[1] if same and outputs else None,
            cap=int(self.spec["workload"]["output_tokens"]),
        )

    def _requests(self) -> list[dict[str, Any]]:
        table = self._reading.table(ATTEMPTS)
        if table is None:
            return []
        chosen = table.filter(
            (pl.col("segment") == Segment.load.value)
            & (pl.col("client_state") == ClientState.completed.value)
        )
        names = ["prompt_tokens", "token_ids", "usage", "ttft.first_content.client", "e2e.client"]
        return chosen.select(names).collect().to_dicts()

    def _kv_peak_bytes(self) -> int | None:
        """Blocks in use at the busiest step, at the bytes of a block that the engine allocated."""
        measured = {row["quantity"]: row["measured"] for row in self._reading.run()["residuals"]}
        pool, total = measured.get("kv_bytes_allocated"), measured.get("kv_total_blocks")
        used = [s.kv_used_blocks for s in self.steps if s.kv_used_blocks is not None]
        return round(max(used) * pool / total) if used and pool and total else None


def scan_run(bundle: Path, reading: Path) -> ScanRun:
    return ScanRun(Bundle(bundle), StoredReading(reading))


def _median(rows: Sequence[Mapping[str, Any]], column: str) -> float | None:
    values = [row[column] for row in rows if row[column] is not None]
    return median(values) if values else None


def _first(row: Mapping[str, Any], *columns: str) -> int | None:
    return next((row[c] for c in columns if row[c] is not None), None)
