"""Turn composed declarations into frozen run specifications, checked and put in their run order.

A specification is its canonical JSON text: reading ``document`` parses it anew, so nothing can change it.
The order of a sweep is drawn from ``study.seed`` within each repetition, so that slow drift of the machine
does not fall on one cell alone, and it depends on nothing but the declaration.
"""

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from experiments import image_pin
from experiments.checks import (
    artifact,
    boundary,
    contract,
    endpoints,
    engine,
    load,
    parallel,
    precision,
    price,
    processes,
    prompts,
    workload,
)
from experiments.checks.policy import Policy
from experiments.composed import Composed
from experiments.errors import Finding, Refusal, refuse
from experiments.identity import canonical, spec_digest
from experiments.key_findings import missing_field
from experiments.migrations import migrate
from experiments.schema.fields import leaves, missing_keys, unknown_keys
from experiments.schema.roles import Role

MAX_REPETITIONS = 1000
DEFAULT_POLICY = Policy()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
    """One declared run. ``variables`` is what this study moves; ``position`` its place in the run order."""

    text: bytes = field(repr=False)  # canonical JSON of the whole document
    digest: str
    variables: Mapping[str, Any]
    overrides: tuple[str, ...]
    choices: Mapping[str, str]
    cell: int
    repetition: int
    position: int

    @property
    def document(self) -> dict[str, Any]:
        """The whole declaration, context included, as plain values; a fresh copy each time."""
        return dict(json.loads(self.text))


def plan(composed: Sequence[Composed], *, policy: Policy = DEFAULT_POLICY) -> list[RunSpec]:
    """Every run of a study, in run order. Raises Refusal with all findings of all cells."""
    documents = [image_pin.taken_apart(migrate(c.document)) for c in composed]
    findings = [f for d in documents for f in check(d, policy=policy)]
    if findings:
        raise Refusal(list(dict.fromkeys(findings)))
    _check_study(documents)
    digests = [spec_digest(d) for d in documents]
    if twins := {d for d in digests if digests.count(d) > 1}:
        first = digests.index(twins.pop())
        raise refuse(
            field="sweep",
            seen=f"the same declaration twice ({', '.join(composed[first].moved)})",
            allowed="different cells",
            remedy="Use study.repetitions to run a cell more than once.",
        )
    moved = _moved(documents)
    study = documents[0]["study"]
    order = run_order(
        len(documents), int(study["repetitions"]), str(study["order"]), seed=int(study["seed"])
    )
    return [
        RunSpec(
            text=canonical(documents[cell]),
            digest=digests[cell],
            variables=moved[cell],
            overrides=composed[cell].overrides,
            choices=dict(composed[cell].choices),
            cell=cell,
            repetition=repetition,
            position=position,
        )
        for position, (cell, repetition) in enumerate(order)
    ]


def check(document: Mapping[str, Any], *, policy: Policy = DEFAULT_POLICY) -> list[Finding]:
    """Everything that keeps one declaration from being run as written, at the present schema version."""
    strangers = [
        Finding(
            field=path,
            seen="unknown key",
            allowed="keys of the schema",
            remedy="Remove it, or read it with the version of Assay that wrote it.",
        )
        for path in unknown_keys(document)
    ]
    absent = [missing_field(path) for path in missing_keys(document)]
    if strangers or absent:
        return [*strangers, *absent]
    return [
        *artifact.check(document["artifact"], policy),
        *precision.check(document["artifact"]["precision"]),
        *engine.check(document, policy),
        *parallel.check(document),
        *price.check(document),
        *workload.check(document),
        *prompts.check(document, policy),
        *endpoints.check(document),
        *load.check(document, policy),
        *processes.check(document["load"]),
        *processes.check_workers(document["load"], document["workload"]),
        *boundary.check(document),
        *contract.check(document),
    ]


def run_order(cells: int, repetitions: int, order: str, *, seed: int) -> list[tuple[int, int]]:
    """(cell, repetition) pairs: each repetition runs all cells, seeded or in the order declared.

    The shuffle is Fisher-Yates over ``random.Random(seed).random()``, which is stable across versions.
    """
    draw = random.Random(seed).random
    pairs: list[tuple[int, int]] = []
    for repetition in range(repetitions):
        block = list(range(cells))
        if order == "seeded":
            for last in range(cells - 1, 0, -1):
                pick = int(draw() * (last + 1))
                block[last], block[pick] = block[pick], block[last]
        pairs.extend((cell, repetition) for cell in block)
    return pairs


def _check_study(documents: Sequence[Mapping[str, Any]]) -> None:
    studies = [canonical(d["study"]) for d in documents]
    if len(set(studies)) > 1:
        raise refuse(
            field="study",
            seen="a sweep over the study itself",
            allowed="one study",
            remedy="Sweep groups or fields; submit each study by itself.",
        )
    repetitions = documents[0]["study"]["repetitions"]
    if not 1 <= repetitions <= MAX_REPETITIONS:
        raise refuse(
            field="study.repetitions",
            seen=repetitions,
            allowed=f"1 to {MAX_REPETITIONS}",
            remedy="Every repetition starts its engine afresh.",
        )


def _moved(documents: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """For each cell, the identifying fields that are not the same in all cells."""
    by_path = [
        {leaf.path: leaf.value for leaf in leaves(d) if leaf.role is not Role.context}
        for d in documents
    ]
    paths = dict.fromkeys(path for values in by_path for path in values)
    differing = [p for p in paths if len({canonical(v.get(p)) for v in by_path}) > 1]
    return [{p: values[p] for p in differing if p in values} for values in by_path]
