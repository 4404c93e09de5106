"""What is known without any run: rules of metrics, engines, and what was read of their versions."""

from typing import Any

from django.http import Http404, HttpRequest
from ninja import Router, Schema

from assay.analysis.definition import DEFINITION_VERSION
from assay.analysis.metrics.catalogue import families
from assay.api.doors import access_of
from assay.api.errors import answers
from assay.api.texts import Words
from assay.ledger.visibility import visible_runs
from experiments.changes import catalogue
from experiments.changes.record_document import record_document
from runners.catalogue import ENGINES

router = Router(tags=["catalogue"])


class RuleOut(Schema):
    rule: str
    version: int
    family: str
    title: str
    formula: str
    unit: str
    population: str
    needs: str
    perspective: str
    layer: str
    source: str


class RulesOut(Schema):
    definition_version: str
    rules: list[RuleOut]


class EngineOut(Schema):
    """``versions_run``: those of the runs that whoever asks may see."""

    engine: str
    label: str
    computes: bool
    versions_read: list[str]
    versions_run: list[str]


class EnginesOut(Schema):
    engines: list[EngineOut]


class VersionsOut(Schema):
    """What ``assay versions ENGINE --json`` prints."""

    engine: str
    versions: list[dict[str, Any]]


@router.get("/rules", response=answers(RulesOut))
def list_rules(request: HttpRequest) -> dict[str, Any]:
    """Every metric: what it is computed from, over whom, and what it needs."""
    rows = [
        {
            "rule": rule.id,
            "version": rule.version,
            "family": family,
            **{name: getattr(rule, name) for name in DESCRIBED},
        }
        for family, rules in families()
        for rule in rules
    ]
    return {"definition_version": DEFINITION_VERSION, "rules": rows}


DESCRIBED = ("title", "formula", "unit", "population", "needs", "perspective", "layer", "source")


@router.get("/engines", response=answers(EnginesOut))
def list_engines(request: HttpRequest) -> dict[str, Any]:
    """Engines that Assay drives."""
    runs = visible_runs(access_of(request)).order_by()
    ran: dict[str, set[str]] = {key: set() for key in ENGINES}
    for key, version in runs.values_list("engine_key", "engine_version").distinct():
        ran.setdefault(key, set()).add(version)
    rows = [
        {
            "engine": key,
            "label": entry.label,
            "computes": entry.computes,
            "versions_read": [record.version for record in catalogue.records(key)],
            "versions_run": sorted(ran[key]),
        }
        for key, entry in ENGINES.items()
    ]
    return {"engines": rows}


@router.get("/engines/{engine}/versions", response=answers(VersionsOut))
def list_versions(
    request: HttpRequest, engine: str, older: Words = "", newer: Words = ""
) -> dict[str, Any]:
    """Releases as they were read; with ``older`` and ``newer`` those after the first, up to the second."""
    if engine not in ENGINES:
        raise Http404
    records = catalogue.records(engine)
    if older or newer:
        records = catalogue.between(engine, older, newer)
    return {"engine": engine, "versions": [record_document(record) for record in records]}
