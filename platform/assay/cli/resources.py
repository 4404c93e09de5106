"""``assay resources RUN``: what a run had to run on, who else used it, memory by phase, costs of the host."""

import argparse
from collections.abc import Iterator, Sequence
from typing import Any

from assay.analysis.perfmodel.units import capacity_text
from assay.analysis.resources.documents import (
    CostRow,
    EnergyRow,
    HostCost,
    PhaseMemory,
    ResourceEntry,
    ResourceReading,
)
from assay.cli.exits import DONE, LACKING, complain, print_json
from assay.cli.interpreted_run import interpreted_run

HELP = "The resources of a run: rated, observed and assumed; sharing; memory by phase; costs of the host."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", help="run id or its beginning, or the digest of its bundle")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


def run(arguments: argparse.Namespace) -> int:
    found = interpreted_run(arguments.run)
    if isinstance(found, int):
        return found
    resources = found.reading.run().get("resources")
    if resources is None:
        complain(
            f"resources of run {found.run_id}: none were kept (allowed: a run that Assay drove, read by this "
            "version). A stream that was recorded elsewhere has no description of its host"
        )
        return LACKING
    if arguments.json:
        print_json({"run": found.run_id, **resources})
    else:
        _show(resources)
    return DONE


def _show(resources: ResourceReading) -> None:
    from rich.console import Console

    console = Console()
    for title, entries in (
        ("resources", resources["entries"]),
        ("shared use", resources["sharing"]),
    ):
        rows = [(e["resource"], e["item"], *_columns(e)) for e in entries]
        console.print(_table(title, ("resource", "item", "rated", "observed", "assumed"), rows))
    for title, columns, body in _tables(resources):
        console.print(_table(title, columns, body))


def _tables(
    resources: ResourceReading,
) -> Iterator[tuple[str, Sequence[str], Sequence[Sequence[str]]]]:
    yield (
        "memory by phase: one calibre never explains another",
        ("phase", "calibre", "samples", "median", "most"),
        [
            (row["phase"], row["calibre"], str(row["samples"]), *_sizes(row))
            for row in resources["memory_by_phase"]
        ],
    )
    yield (
        "energy over the load window, each meter by itself",
        ("meter", "energy", "by request", "by output token", "idle share"),
        [(row["meter"], *_energy(row)) for row in resources["energy"]],
    )
    if (cost := resources["cost"]) is not None:
        columns = ("price", "whole window", "by request", "by output token")
        yield "cost by the declared price", columns, [_price(cost)]
    yield (
        "costs of the host, each by its own evidence",
        ("cost", "n", "median", "total", "coincides with step times"),
        [(row["cost"], str(row["n"]), *_cost(row)) for row in resources["host_costs"]],
    )


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Any:
    from rich.table import Table

    table = Table(title=title)
    for column in columns:
        table.add_column(column)
    for row in rows:
        table.add_row(*row)
    return table


def _columns(entry: ResourceEntry) -> tuple[str, str, str]:
    if entry["reason"]:
        return f"- ({entry['reason']})", "-", "-"
    rated, observed, assumed = (
        "-" if value is None else _amount(value, entry["unit"])
        for value in (entry["rated"], entry["observed"], entry["assumed"])
    )
    return rated, observed, assumed


def _amount(value: Any, unit: str | None) -> str:
    if unit == "byte" and isinstance(value, int | float):
        return capacity_text(int(value))
    if isinstance(value, float):
        return f"{value:.4g} {unit or ''}".strip()
    return f"{value} {unit}" if unit not in (None, "1") else str(value)


def _sizes(row: PhaseMemory) -> tuple[str, str]:
    if row["reason"]:
        return f"- ({row['reason']})", "-"
    return capacity_text(int(row["median_bytes"] or 0)), capacity_text(int(row["max_bytes"] or 0))


def _cost(row: HostCost) -> tuple[str, str, str]:
    if row["reason"]:
        return f"- ({row['reason']})", "-", "-"
    found = row["coincides"]
    together = "-" if found is None else f"rho {found['spearman']:+.2f}, p {found['p_value']:.2g}"
    return _amount(row["median"], row["unit"]), _amount(row["total"], row["unit"]), together


def _energy(row: EnergyRow) -> tuple[str, str, str, str]:
    reasons = row["reasons"]
    if row["total_j"] is None:
        return f"- ({reasons['total_j']})", "-", "-", "-"
    request, token = (
        f"- ({reasons[name]})" if value is None else _amount(value, "J")
        for name, value in (
            ("per_request_j", row["per_request_j"]),
            ("per_output_token_j", row["per_output_token_j"]),
        )
    )
    share = row["idle_share"]
    return _amount(row["total_j"], "J"), request, token, "-" if share is None else f"{share:.1%}"


def _price(row: CostRow) -> tuple[str, str, str, str]:
    price, unit, reasons = row["price"], row["currency"], row["reasons"]
    if price is None:
        return f"- ({reasons['total']})", "-", "-", "-"
    said = f"{price['amount']:g} {unit} per {price['per']}, {price['as_of']}, {price['source']}"
    whole, request, token = (
        f"- ({reasons[name]})" if value is None else _amount(value, unit)
        for name, value in (
            ("total", row["total"]),
            ("per_request", row["per_request"]),
            ("per_output_token", row["per_output_token"]),
        )
    )
    return said, whole, request, token
