"""``assay search``: the highest rate or concurrency that meets an SLO, each probe a run with its bundle."""

import argparse
import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from assay.analysis.capacity_search import Ask, Found, Over, Probe, Rule, next_step
from assay.analysis.errors import AnalysisError
from assay.archive.paths import home_from_environment
from assay.cli import declaration, search_words
from assay.cli.exits import DONE, FAILED, REFUSED, complain, print_json, refuse
from assay.cli.search_probe import Probed, Prober, Stopped
from assay.cli.search_words import Effort, Words
from assay.ledger.ids import uuid7
from experiments.errors import Refusal
from runners.protocol import clocks
from runners.protocol.workspace import write_json

HELP = (
    "The highest load that meets an SLO: doubled until it does not, then bisected in log space. Every "
    "probe is a run with a bundle; the interval is shown, not a point. A study, or --url as in `assay load`. "
    f"Words of the rule: {', '.join(search_words.names())}."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from assay.cli.load_declared import add_target

    parser.add_argument(
        "words",
        nargs="*",
        metavar="WORD",
        help="study=NAME and overrides, search.over=rate, search.slo.ttft=500ms",
    )
    declaration.add_studies(parser)
    parser.add_argument("--json", action="store_true", help="the whole record on stdout")
    add_target(parser, is_required=False)


def run(arguments: argparse.Namespace) -> int:
    try:
        words = search_words.read(arguments.words)
        probe = _prober(arguments, words)
    except Refusal as refusal:
        return refuse(refusal.findings, as_json=arguments.json)
    except AnalysisError as error:
        complain(str(error))
        return REFUSED
    started, rows, code = clocks.utc(), [], DONE
    path = home_from_environment().searches / f"{uuid7()}.json"
    probes: list[Probe] = []
    step = next_step(probes, words.rule)
    try:
        while isinstance(step, Ask):
            requests = requests_of(step.value, words.rule, words.effort)
            probed = probe(step.value, requests, len(probes))
            probes.append(probed.probe)
            rows.append(_row(probed, step, requests))
            _tell(rows[-1], len(rows))
            step = next_step(probes, words.rule)
            write_json(path, _record(arguments, words, started, rows, step))
    except Refusal as refusal:
        return refuse(refusal.findings, as_json=arguments.json)
    except Stopped as stop:
        code = stop.exit_code
    if not rows:
        return code
    record = _record(arguments, words, started, rows, step)
    write_json(path, record)
    if arguments.json:
        print_json({**record, "record": str(path)})
    else:
        _say(record, path)
    return code or (DONE if isinstance(step, Found) and step.highest_met is not None else FAILED)


def requests_of(value: float, rule: Rule, effort: Effort) -> int:
    """A rate is offered for a time, a concurrency for so many rounds; never fewer than the declared least."""
    wanted = value * (effort.seconds if rule.over is Over.rate else effort.rounds)
    return max(effort.requests, math.ceil(wanted))


def _prober(arguments: argparse.Namespace, words: Words) -> Prober:
    if arguments.url is not None:
        from assay.cli.search_url import url_prober

        return url_prober(arguments, words)
    from assay.cli.search_study import study_prober

    return study_prober(arguments, words)


def _row(probed: Probed, step: Ask, requests: int) -> dict[str, Any]:
    probe = probed.probe
    return {
        "value": probe.value,
        "why": step.why,
        "requests": requests,
        "verdict": probe.verdict.value,
        "reason": probe.reason,
        "goodput_ratio": probe.goodput,
        "run": probed.run,
        "state": probed.state,
        "bundle": probed.bundle,
        "bundle_digest": probed.bundle_digest,
    }


def _record(
    arguments: argparse.Namespace,
    words: Words,
    started: str,
    rows: list[dict[str, Any]],
    step: Ask | Found,
) -> dict[str, Any]:
    return {
        "started": started,
        "ended": clocks.utc(),
        "url": arguments.url,
        "model": arguments.model if arguments.url else None,
        "overrides": list(words.overrides),
        "rule": {**asdict(words.rule), "over": words.rule.over.value},
        "effort": asdict(words.effort),
        "slo": dict(words.slo),
        "probes": rows,
        "result": step.as_document() if isinstance(step, Found) else None,
    }


def _tell(row: Mapping[str, Any], number: int) -> None:
    from rich.console import Console

    said = f"probe {number}: {row['value']:g} ({row['why']}): {row['verdict']}, {row['reason']}"
    Console(stderr=True).print(said, markup=False, highlight=False, soft_wrap=True)


def _say(record: Mapping[str, Any], path: Path) -> None:
    from rich.console import Console

    console = Console()
    result, over = record["result"], record["rule"]["over"]
    unit = "requests/s" if over == Over.rate else "requests in flight"
    if result is None:
        console.print("ended early: no result; the probes so far are in the record", markup=False)
    else:
        met, missed = (_number(result[k]) for k in ("highest_met", "lowest_not_met"))
        lines = [f"highest met     {met} {unit}", f"lowest not met  {missed} {unit}"]
        lines += [f"ended           {result['why']}"]
        lines += [f"remark          {remark}" for remark in result["remarks"]]
        for line in lines:
            console.print(line, markup=False, highlight=False, soft_wrap=True)
    console.print(f"record          {path}", markup=False, highlight=False, soft_wrap=True)


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:g}"
