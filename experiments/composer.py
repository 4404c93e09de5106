"""``python -m experiments.composer``: compose and plan on request, a JSON line in, a JSON line out.

Hydra keeps one state for a whole process and holds it busy while it composes, so a server gives that work to
this process of its own: it can be ended when it takes too long, and it ends when its input does.
"""

import json
import resource
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from experiments.checks.policy import Policy
from experiments.compose import choices, compose, compose_sweep
from experiments.errors import Refusal, refuse
from experiments.overrides import cells
from experiments.plan import RunSpec, plan

MEMORY_BYTES = 2 * 2**30


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """``cells`` and their run ``order``, or ``findings``.

    ``request``: overrides, sweep, studies (a folder or null), artifact_roots, url_hosts, max_cells, max_runs.
    """
    try:
        return _planned(request)
    except Refusal as refusal:
        return {"findings": [asdict(f) for f in refusal.findings]}


def _planned(request: Mapping[str, Any]) -> dict[str, Any]:
    studies = Path(request["studies"]) if request["studies"] else None
    overrides: Sequence[str] = request["overrides"]
    sweep = bool(request["sweep"])
    wanted = len(cells(overrides, groups=choices(studies=studies), sweep=sweep))
    if wanted > int(request["max_cells"]):
        raise _too_many("sweep", wanted, "cells", int(request["max_cells"]))
    composed = (
        compose_sweep(overrides, studies=studies)
        if sweep
        else [compose(overrides, studies=studies)]
    )
    repetitions = int(composed[0].document["study"]["repetitions"])
    if len(composed) * repetitions > int(request["max_runs"]):
        runs = len(composed) * repetitions
        raise _too_many("study.repetitions", runs, "runs", int(request["max_runs"]))
    policy = Policy(
        artifact_roots=tuple(request["artifact_roots"]), url_hosts=tuple(request["url_hosts"])
    )
    return _document(plan(composed, policy=policy))


def _document(specs: Sequence[RunSpec]) -> dict[str, Any]:
    """Each cell once; ``order`` lists (cell, repetition) as they are carried out."""
    by_cell = {spec.cell: spec for spec in specs}
    return {
        "cells": [
            {
                "text": by_cell[number].text.decode(),
                "digest": by_cell[number].digest,
                "variables": dict(by_cell[number].variables),
                "overrides": list(by_cell[number].overrides),
                "choices": dict(by_cell[number].choices),
            }
            for number in sorted(by_cell)
        ],
        "order": [[spec.cell, spec.repetition] for spec in specs],
    }


def _too_many(field: str, seen: int, what: str, most: int) -> Refusal:
    return refuse(
        field=field,
        seen=f"{seen} {what}",
        allowed=f"at most {most} {what} from a page",
        remedy="Split it into several studies, or use the command line.",
    )


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    for line in sys.stdin:
        try:
            found = answer(json.loads(line))
        except Exception as error:  # noqa: BLE001 - the boundary: one bad request must not end the process
            found = {"broke": f"{type(error).__name__}: {error}"}
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
