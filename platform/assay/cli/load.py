"""``assay load``: the load client on its own, a quick look at any OpenAI-style endpoint.

Imports little before the load starts, so that the client disturbs neither itself nor a small machine.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from assay.analysis.errors import AnalysisError
from assay.archive.paths import home_from_environment
from assay.cli.exits import REFUSED, complain, print_json, refuse
from assay.cli.interrupts import stop_on_signals
from assay.cli.load_declared import add_target, declared, policy_for, service_level
from assay.cli.load_found import print_found, result
from assay.execution.quick_looks import Looked, look
from experiments.checks.policy import Policy
from experiments.errors import Finding
from experiments.plan import check
from runners.protocol.documents import Progress

HELP = (
    "A quick look at any endpoint: load it, seal what came back, say what the client saw (level E1). "
    "Needs no database; --register puts the run into the ledger, where `assay show` and the pages find it."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_target(parser)
    pace = parser.add_mutually_exclusive_group()
    pace.add_argument(
        "--concurrency", type=int, metavar="C", help="closed loop: requests in flight"
    )
    pace.add_argument("--rate", type=float, metavar="R", help="open loop: requests a second")
    parser.add_argument("--requests", type=int, default=100, metavar="N")
    parser.add_argument("--slo", metavar="ttft=500ms,tpot=50ms", help="limits for goodput")
    parser.add_argument("--register", action="store_true", help="put the run into the ledger")
    parser.add_argument(
        "--json",
        nargs="?",
        const="-",
        metavar="OUT",
        help="the figures as one JSON object: to a file, or to stdout without a name",
    )


def run(arguments: argparse.Namespace) -> int:
    try:
        document = declared(
            arguments,
            concurrency=arguments.concurrency,
            rate=arguments.rate,
            requests=arguments.requests,
            seed=arguments.seed,
            slo=service_level(arguments.slo),
        )
    except (ValueError, AnalysisError) as error:  # a misspelt SLO, or one that no contract has
        complain(str(error))
        return REFUSED
    policy = policy_for(arguments.url)
    if findings := check(document, policy=policy):
        return refuse(findings, as_json=arguments.json == "-")
    looked = carry_out(document, policy)
    if looked.bundle is None:
        return refuse(
            looked.findings or [_broken(looked)],
            exit_code=looked.exit_code,
            as_json=arguments.json == "-",
        )
    registered = _register(looked) if arguments.register else None
    _say(arguments, looked, document, registered)
    return looked.exit_code


def carry_out(document: dict[str, Any], policy: Policy, *, title: str = "") -> Looked:
    """Run the declaration with a progress display; Ctrl-C seals what was captured."""
    with stop_on_signals() as stopped:
        display = _LateDisplay(title)
        try:
            return look(
                document,
                home=home_from_environment(),
                policy=policy,
                show=display.show,
                should_stop=stopped.is_set,
            )
        finally:
            display.close()


def _broken(looked: Looked) -> Finding:
    return Finding(
        field="runner",
        seen=looked.reason or looked.state,
        allowed="a run that ends sealed",
        remedy="Nothing was kept. Run it again; if it stays, report it.",
    )


def _register(looked: Looked) -> str | None:
    """The id of the run in the ledger; None, and a complaint, where the database cannot be used."""
    from assay.cli.database import open_or_complain, owner

    if open_or_complain() is not None or looked.bundle is None:
        return None
    from assay.execution.importing import import_bundle

    found = import_bundle(looked.bundle, home_from_environment(), owner=owner())
    return str(found.run.id)


def _say(
    arguments: argparse.Namespace, looked: Looked, document: dict[str, Any], registered: str | None
) -> None:
    found = result(looked, document) | {"registered_run": registered}
    if looked.exit_code:
        complain(f"{looked.state}: {looked.reason}")
    if arguments.json == "-":
        print_json(found)
        return
    if arguments.json is not None:
        Path(arguments.json).write_text(
            json.dumps(found, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8"
        )
    print_found(found)


class _LateDisplay:
    """The progress display, made when there is something to show: its library loads beside the run."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._display: Any = None

    def show(self, line: Progress) -> None:
        if self._display is None:
            from assay.cli.display import Display

            self._display = Display()
        message = f"{self._title} {line['message']}" if self._title else line["message"]
        self._display.show({**line, "message": message})

    def close(self) -> None:
        if self._display is not None:
            self._display.close()
