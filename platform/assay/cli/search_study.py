"""Probes of a search over a study: each a run of the ledger, with an engine started afresh."""

import argparse
from pathlib import Path

from assay.analysis.capacity_search import Over
from assay.cli import declaration
from assay.cli.load_found import client_limits
from assay.cli.search_probe import Probed, Prober, Stopped, interrupted, probe_of
from assay.cli.search_words import Words
from experiments.errors import Finding, Refusal
from experiments.plan import RunSpec


def study_prober(arguments: argparse.Namespace, words: Words) -> Prober:
    """Raises Refusal for a declaration that could not be run at the first value."""
    if not words.overrides:
        raise Refusal(
            [
                Finding(
                    field="search",
                    seen="no study",
                    allowed="study=NAME and overrides, or --url",
                    remedy="Say what is to be loaded.",
                )
            ]
        )
    first = _specs(arguments, words, words.rule.start, requests=1, number=0)

    def probe(value: float, requests: int, number: int) -> Probed:
        specs = _specs(arguments, words, value, requests=requests, number=number)
        return _carry_out(value, words, specs, is_first=number == 0)

    assert first
    return probe


def overrides_of(words: Words, value: float, *, requests: int, number: int) -> list[str]:
    """The study's own words, then the probe's: pace, size, limits, and other prompts in every probe."""
    if words.rule.over is Over.rate:
        paced = [f"load.rate_per_s={value!r}", "load.concurrency=null"]
    else:
        paced = [f"load.concurrency={int(value)}", "load.rate_per_s=null"]
    limits = [f"contract.slo.{name}={limit!r}" for name, limit in words.slo.items()]
    seeds = [f"workload.seed={number + 1}", f"load.seed={number + 1}"]
    return [*words.overrides, *paced, f"workload.requests={requests}", *limits, *seeds]


def _specs(
    arguments: argparse.Namespace, words: Words, value: float, *, requests: int, number: int
) -> list[RunSpec]:
    own = argparse.Namespace(
        overrides=overrides_of(words, value, requests=requests, number=number),
        sweep=False,
        studies=arguments.studies,
    )
    return declaration.planned_runs(own)


def _carry_out(value: float, words: Words, specs: list[RunSpec], *, is_first: bool) -> Probed:
    from assay.cli.database import open_or_complain
    from assay.cli.display import Display
    from assay.cli.interrupts import stop_on_signals
    from assay.cli.result import run_object
    from assay.cli.run import check_pins, run_all
    from assay.ledger.models import Run

    with stop_on_signals() as stopped, Display() as display:
        if is_first and (code := check_pins(specs, stopped, display, as_json=False)) is not None:
            raise Stopped(code)
        if (code := open_or_complain()) is not None:
            raise Stopped(code)
        [(run_id, _)] = run_all(list(words.overrides), specs, stopped, display)
        if stopped.is_set():
            raise interrupted()
    found = run_object(Run.objects.select_related("study").get(id=run_id))
    bundle = found["bundle"]
    return Probed(
        probe=probe_of(
            value,
            words,
            reading=_reading(found),
            state=found["state"],
            reason=found["reason"] or "",
            client_limits=client_limits(Path(bundle) if bundle else None),
        ),
        run=found["run"],
        state=found["state"],
        bundle=bundle,
        bundle_digest=found["bundle_digest"],
    )


def _reading(found: dict[str, object]) -> dict[str, object] | None:
    """What of a reading the verdict needs; none was stated where the run has no definition version."""
    return found if found["definition_version"] is not None else None
