"""A calibration for people and scripts: parameters, the scan by real token counts, errors on both sides."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from assay.analysis.calibration import Calibration
from assay.archive.scan_runs import ScanRow


def document_of(calibration: Calibration, path: Path, rows: Sequence[ScanRow]) -> dict[str, Any]:
    """The object of ``assay calibrate --json``."""
    return {
        "file": str(path.resolve()),
        "digest": calibration.digest,
        "calibration": calibration.document,
        "scan": [asdict(row) for row in rows],
    }


def show(calibration: Calibration, path: Path, rows: Sequence[ScanRow]) -> None:
    console = Console()
    document = calibration.document
    console.print(_scan(rows))
    console.print(_parameters(calibration))
    console.print(_cells(document["cells"]))
    console.print(_errors(document["errors"]))
    for pair in document["inseparable"]:
        console.print(f"known only together at these points: {pair}")
    for doubt in document["to_verify"]:
        console.print(f"to be verified: {doubt}")
    if calibration.disturbed:
        console.print(calibration.disturbed)
    console.print(f"split: {document['split']['rule']}")
    console.print(f"{document['formula']}")
    console.print(f"calibration {calibration.digest} in {path}", soft_wrap=True)


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _scan(rows: Sequence[ScanRow]) -> Table:
    table = _table(
        "scan (tokens as counted; medians)",
        *(
            "cell",
            "requests",
            "in",
            "out",
            "TTFT",
            "decode step",
            "end to end",
            "KV peak",
            "others",
        ),
    )
    for row in sorted(rows, key=lambda r: (r.input_tokens or 0, r.cell)):
        out = row.output_tokens
        table.add_row(
            row.cell,
            str(row.requests),
            _count(row.input_tokens),
            "unknown"
            if out is None
            else (f"{out[1]}" if out[0] == out[2] else f"{out[0]}-{out[2]}"),
            _ms(row.ttft_s),
            _ms(row.step_s),
            _ms(row.end_to_end_s),
            "unknown" if row.kv_peak_bytes is None else f"{row.kv_peak_bytes / 2**20:.1f} MiB",
            "unknown" if row.others_cores is None else f"{row.others_cores:.2f} cores",
        )
    return table


def _parameters(calibration: Calibration) -> Table:
    table = _table("parameters", "name", "value", "spread", "unit", "source")
    for p in calibration.parameters:
        low, high = p["spread"] or [p["value"]] * 2
        table.add_row(
            p["name"], f"{p['value']:.3g}", f"{low:.3g} to {high:.3g}", p["unit"], p["source"]
        )
    return table


def _cells(cells: Sequence[dict[str, Any]]) -> Table:
    table = _table(
        "cells (medians)", "cell", "side", "phase", "n", "predicted", "measured", "relative"
    )
    for cell in sorted(cells, key=lambda c: (c["side"], c["phase"], c["predicted_s"])):
        table.add_row(
            cell["cell"],
            cell["side"],
            cell["phase"],
            str(cell["n"]),
            _ms(cell["predicted_s"]),
            _ms(cell["measured_s"]),
            f"{cell['relative']:+.1%}",
        )
    return table


def _errors(errors: Any) -> Table:
    table = _table(
        "errors of single steps",
        *("side", "phase", "n", "median", "p90", "worst", "where", "in the 90% range"),
    )
    for side, phases in errors.items():
        for phase, found in phases.items():
            low, high = found["interval"]
            table.add_row(
                side,
                phase,
                str(found["n"]),
                f"{found['median']:.1%}",
                f"{found['p90']:.1%}",
                f"{found['worst']:.0%}",
                found["worst_step"],
                f"{found['share_inside']:.0%} [{low:.0%}, {high:.0%}]",
            )
    return table


def _ms(value: float | None) -> str:
    return "unknown" if value is None else f"{value * 1e3:.1f} ms"


def _count(value: int | None) -> str:
    return "unknown" if value is None else str(value)
