"""Runs of a server: listed, shown, ended, their ledgers at an instant."""

import argparse
from typing import Any

from assay.analysis.errors import AnalysisError
from assay.analysis.quantities import instant_ns
from assay.cli.exits import DONE, REFUSED, complain
from assay.cli.server_client import PAGE_ROWS, Server, ServerProblem
from experiments.errors import Finding

INSTANT_ROWS = 1000


def list_runs(server: Server, arguments: argparse.Namespace) -> None:
    from assay.cli.list_ import print_rows

    rows: list[dict[str, Any]] = []
    total = 0
    size = min(PAGE_ROWS, arguments.limit)
    for page in server.pages("/runs", "runs", q=" ".join(arguments.query), size=size):
        rows, total = [*rows, *page["runs"]], page["total"]
        if len(rows) >= arguments.limit:
            break
    print_rows(rows[: arguments.limit], total=total, arguments=arguments)


def show(server: Server, arguments: argparse.Namespace) -> None:
    from assay.cli.show import print_object

    found = server.get(f"/runs/{run_named(server, arguments.run)}")
    if found["bundle"]:
        found["bundle"] = server.url + found["bundle"]
    print_object(found, arguments)


def cancel(server: Server, arguments: argparse.Namespace) -> None:
    server.post(f"/runs/{run_named(server, arguments.run)}/cancel")


def ledgers(server: Server, arguments: argparse.Namespace) -> int:
    from assay.cli.ledgers import SHOWN, print_instant

    try:
        at_ns = instant_ns(arguments.at, field="--at")
    except AnalysisError as error:
        complain(str(error))
        return REFUSED
    run_id = run_named(server, arguments.run)
    path, document = f"/runs/{run_id}/ledgers", dict[str, Any]()
    attempts: list[dict[str, Any]] = []
    for page in server.pages(path, "attempts", at=str(at_ns), size=INSTANT_ROWS):
        if page["definition_version"] is None:
            raise ServerProblem([_no_reading(run_id, page["reason"])], exit_code=3)
        names = ("run", "at_ns", "clock_domain", "definition_version")
        document = {name: page[name] for name in names}
        attempts += page["attempts"]
        if not (arguments.json or arguments.all) and len(attempts) > SHOWN:
            break
    print_instant({**document, "attempts": attempts}, arguments)
    return DONE


def run_named(server: Server, text: str) -> str:
    """The id of the one run that goes by this: an id, its beginning, or a bundle digest's. As it is here."""
    found = server.get("/runs", named=text, size=5)["runs"]
    if len(found) == 1:
        return str(found[0]["run"])
    allowed = (
        "the id of a run there, its beginning of six characters or more, or its bundle's digest"
    )
    if found:
        allowed = f"one of {', '.join(row['run'] for row in found)}"
    finding = Finding(field="run", seen=text, allowed=allowed, remedy="`assay list` prints ids.")
    raise ServerProblem([finding], exit_code=REFUSED)


def _no_reading(run_id: str, reason: str) -> Finding:
    return Finding(
        field=f"interpretation of run {run_id}",
        seen=reason,
        allowed="a run that was interpreted",
        remedy=f"`assay show {run_id}` says what became of it.",
    )
