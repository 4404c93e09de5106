"""``assay load``: the load client on its own, a quick look at any OpenAI-style endpoint.

Imports little before the load starts, so that the client disturbs neither itself nor a small machine.
"""

import argparse
import json
import os
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from assay.analysis.errors import AnalysisError
from assay.archive.paths import home_from_environment
from assay.cli.exits import REFUSED, complain, print_json, refuse
from assay.cli.interrupts import stop_on_signals
from assay.execution.quick_looks import Looked, look
from experiments.checks.policy import Policy
from experiments.errors import Finding
from experiments.plan import check
from experiments.quick_look import QuickLook, declaration
from experiments.schema.contract import ServiceLevel
from experiments.schema.load import LoadKind
from experiments.schema.workload import Endpoint
from runners.protocol import layout
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


def add_target(parser: argparse.ArgumentParser, *, is_required: bool = True) -> None:
    """What is asked of which endpoint, apart from how much: shared with ``assay search``."""
    parser.add_argument("--url", required=is_required, help="http://HOST:PORT, with or without /v1")
    parser.add_argument("--model", required=is_required, help="the name that requests ask for")
    parser.add_argument(
        "--tokens", type=int, default=64, help="output tokens of a request, at most"
    )
    parser.add_argument(
        "--input-tokens", type=int, default=32, help="words of a prompt, each about a token"
    )
    parser.add_argument("--endpoint", choices=[e.value for e in Endpoint], default="chat")
    parser.add_argument(
        "--arrivals",
        choices=(LoadKind.constant.value, LoadKind.poisson.value),
        default=LoadKind.poisson.value,
        help="of an open loop",
    )
    parser.add_argument("--warmup", type=int, default=0, metavar="N", help="requests before, apart")
    parser.add_argument("--timeout", type=float, default=120.0, metavar="S", help="of a request")
    parser.add_argument("--processes", type=int, default=1, help="client processes on one plan")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--respect-eos", action="store_true", help="send no ignore_eos, which some refuse"
    )
    parser.add_argument(
        "--authorization-env", metavar="NAME", help="environment variable that holds the key"
    )
    parser.add_argument(
        "--calibrate", action="store_true", help="measure the client's own error first (seconds)"
    )


def run(arguments: argparse.Namespace) -> int:
    try:
        document = declared(
            arguments,
            concurrency=arguments.concurrency,
            rate=arguments.rate,
            requests=arguments.requests,
            seed=arguments.seed,
            slo=_slo(arguments.slo),
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


def declared(
    arguments: argparse.Namespace,
    *,
    concurrency: int | None,
    rate: float | None,
    requests: int,
    seed: int,
    slo: ServiceLevel,
) -> dict[str, Any]:
    """The run document of these arguments; a closed loop of one where neither is given."""
    is_open = rate is not None
    return declaration(
        QuickLook(
            url=arguments.url,
            model=arguments.model,
            kind=LoadKind(arguments.arrivals) if is_open else LoadKind.closed,
            concurrency=None if is_open else (concurrency or 1),
            rate_per_s=rate,
            requests=requests,
            input_tokens=arguments.input_tokens,
            output_tokens=arguments.tokens,
            endpoint=Endpoint(arguments.endpoint),
            warmup_requests=arguments.warmup,
            ignore_eos=not arguments.respect_eos,
            timeout_s=arguments.timeout,
            processes=arguments.processes,
            seed=seed,
            authorization_env=arguments.authorization_env,
            calibrate=arguments.calibrate,
            slo=slo,
        )
    )


def policy_for(url: str) -> Policy:
    """The installation's rules, and beside them the host that a person typed at this terminal.

    The allowlist guards against addresses in other people's studies; whoever types one here could reach it
    without us. Link-local addresses are refused all the same, see runners.evidence.addresses.
    """
    policy = Policy.from_environment(os.environ)
    host = (urlsplit(url).hostname or "").lower()
    hosts = (*policy.url_hosts, host) if host else policy.url_hosts
    return Policy(artifact_roots=policy.artifact_roots, url_hosts=tuple(dict.fromkeys(hosts)))


def _slo(text: str | None) -> ServiceLevel:
    if text is None:
        return ServiceLevel()
    from assay.analysis.asked import service_levels

    asked = service_levels(text)
    known = {f.name for f in fields(ServiceLevel)}
    limits = {f.name: getattr(asked, f.name) for f in fields(asked)}
    if strange := [n for n, limit in limits.items() if limit is not None and n not in known]:
        raise ValueError(
            f"--slo: {', '.join(strange)} (allowed: {', '.join(sorted(known))}). "
            "Leave it out; the contract has no such limit"
        )
    return ServiceLevel(**{n: limit for n, limit in limits.items() if n in known})


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


def print_found(found: Mapping[str, Any]) -> None:
    """The object of ``assay load`` for people: figures if there are any, what limits them, where they lie."""
    from rich.console import Console

    from assay.cli.headlines import print_headlines

    console = Console()
    if found["definition_version"] is not None:
        print_headlines(found, console)
    lines = [f"client limited: {line}" for line in found["client_limits"]]
    lines += [f"state   {found['state']}" + (f": {found['reason']}" if found["reason"] else "")]
    lines += [f"bundle  {found['bundle']}"]
    lines += [f"show    assay show {found.get('registered_run') or found['bundle_digest']}"]
    for line in lines:
        console.print(line, soft_wrap=True, markup=False, highlight=False)


def result(looked: Looked, document: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON object of ``assay load``: short keys in ms, rules, and where the bundle lies."""
    from assay.cli.headlines import headlines

    reading, client_error = looked.reading or {}, own_error(looked.bundle)
    return {
        **headlines(looked.reading),
        "unit": "ms",
        "level": "E1",
        "run": looked.run_id,
        "state": looked.state,
        "reason": looked.reason or None,
        "bundle": str(looked.bundle) if looked.bundle else None,
        "bundle_digest": looked.digest,
        "definition_version": reading.get("definition_version"),
        "load": document["load"],
        "reconciliation": reading.get("reconciliation"),
        "windows": reading.get("windows"),
        "client_limited": client_error.get("client_limited"),
        "client_limits": client_error.get("client_limits") or [],
        "client_error": client_error,
        "gaps": reading.get("gaps"),
    }


def own_error(bundle: Path | None) -> dict[str, Any]:
    """The client's own error as the bundle states it."""
    path = bundle / layout.CLOCKS if bundle is not None else None
    document = json.loads(path.read_bytes()) if path is not None and path.is_file() else {}
    return dict(document.get("client_error", {}))


def client_limits(bundle: Path | None) -> list[str]:
    """Why the client limited the run, one sentence each."""
    return list(own_error(bundle).get("client_limits") or [])


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
