"""``assay finding``: what regressions found, what people say of it, and which version brought it."""

import argparse
from typing import TYPE_CHECKING, Any
from uuid import UUID

from assay.cli.database import open_or_complain, owner
from assay.cli.exits import DONE, FAILED, print_json, refuse
from assay.cli.regress import work_off_here
from experiments.errors import Refusal
from experiments.errors import refuse as refusal_of

if TYPE_CHECKING:
    from assay.regressions.models import Bisection, Finding

HELP = (
    "Findings of scheduled runs: list, show, acknowledge, expect, fix, reopen, bisect. "
    "bisect runs installed versions here, three fresh starts each; exit 0 only if one version is named."
)
STATES = {
    "acknowledge": "acknowledged",
    "expect": "expected",
    "fix": "fixed",
    "reopen": "open",
}
MOST_LOOKS = 200  # five starts of each of forty versions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("list", "show", "bisect", *STATES))
    parser.add_argument("finding", nargs="?", help="its id or the beginning of it")
    parser.add_argument("--comment", default="", help="expect, fix: why, in a sentence")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


def run(arguments: argparse.Namespace) -> int:
    if (code := open_or_complain()) is not None:
        return code
    try:
        document = _done(arguments)
    except Refusal as refusal:
        return refuse(refusal.findings, as_json=arguments.json)
    if arguments.json:
        print_json(document)
    else:
        for row in document["findings"]:
            _say(row)
    if arguments.action != "bisect":
        return DONE
    return DONE if document["findings"][0]["bisection"]["state"] == "found" else FAILED


def _done(arguments: argparse.Namespace) -> dict[str, Any]:
    from assay.regressions import findings
    from assay.regressions.models import Finding

    if arguments.action == "list":
        found = Finding.objects.select_related("schedule", "run").order_by("-opened_at")
        return {"findings": [_row(f) for f in found]}
    finding = named(arguments.finding)
    if arguments.action == "bisect":
        return {"findings": [{**_row(finding), "bisection": _answer(_bisect(finding))}]}
    if arguments.action in STATES:
        state = STATES[arguments.action]
        finding = findings.move(finding.pk, state, by=owner(), comment=arguments.comment)
    asked = finding.bisections.order_by("pk").last()
    return {"findings": [{**_row(finding), **({"bisection": _answer(asked)} if asked else {})}]}


def named(text: str | None) -> "Finding":
    """Raises Refusal with the findings there are."""
    from assay.regressions.models import Finding

    known = {
        str(pk): pk for pk in Finding.objects.order_by("-opened_at").values_list("pk", flat=True)
    }
    matching: list[UUID] = [pk for key, pk in known.items() if text and key.startswith(text)]
    if len(matching) != 1:
        raise refusal_of(
            field="finding",
            seen=text or "none",
            allowed=", ".join(list(known)[:8]) or "none was opened yet",
            remedy="Name one by its id or a beginning that no other has: assay finding list",
        )
    return Finding.objects.select_related("schedule", "run").get(pk=matching[0])


def _bisect(finding: "Finding") -> "Bisection":
    """Ask, and work off here what is asked for, until there is an answer."""
    from django.conf import settings

    from assay.archive.installed_engines import installed_versions
    from assay.archive.paths import Home
    from assay.execution.scheduled import start_version
    from assay.regressions import bisecting

    home = Home(settings.HOME)
    installed = installed_versions(home, finding.run.spec["engine"])
    bisection = bisecting.ask(finding, installed, by=owner())
    for _ in range(MOST_LOOKS):
        bisecting.look(bisection, home, start_version)
        if bisection.state != "running":
            break
        for start in bisection.starts.select_related("study"):
            if start.study is not None:
                work_off_here(start.study, home)
    return bisection


def _row(finding: "Finding") -> dict[str, Any]:
    return {
        "finding": str(finding.pk),
        "schedule": finding.schedule.name,
        "state": finding.state,
        "owner": finding.owner or None,
        "run": str(finding.run_id),
        "opened_at": finding.opened_at.isoformat(),
        "metrics": finding.metrics,
        "identity": [f for f in finding.identity if f["verdict"] != "unknown"],
        "records": finding.records,
        "residuals": finding.residuals,
    }


def _answer(bisection: "Bisection") -> dict[str, Any]:
    starts = [
        {"version": s.version, "number": s.number, "study": str(s.study_id), "note": s.note}
        for s in bisection.starts.order_by("pk")
    ]
    return {
        "state": bisection.state,
        "metric": bisection.metric,
        "versions": bisection.versions,
        "starts": starts,
        **(bisection.answer or {}),
    }


def _say(row: dict[str, Any]) -> None:
    print(f"{row['finding']}  {row['state']}  {row['schedule']}  {row['opened_at']}")  # noqa: T201
    for metric in row["metrics"]:
        print(f"  {metric['metric']}  {metric['reason']}")  # noqa: T201
    for field in row["identity"]:
        print(f"  {field['field']}  {field['before']} -> {field['after']}")  # noqa: T201
    if found := row.get("bisection"):
        for start in found["starts"]:
            print(f"  {start['version']} #{start['number']}  {start['note'] or start['study']}")  # noqa: T201
        if found["state"] != "running":
            words = f"after {found['last_good']}, with {found['first_bad']}"
            print(f"  {found['state']}: {words}  {found['reason']}")  # noqa: T201
