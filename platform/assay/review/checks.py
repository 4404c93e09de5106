"""What an archive itself answers of a requirement: pure functions from facts to what was seen.

None means that the archive does not say, and a person must. Each cites what it looked at.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.analysis.boundary import FIELDS, mocked
from assay.analysis.record_completeness import missing, record_items
from assay.review.facts import Facts

ARCHIVE_CASES = ("short", "long_input", "long_output", "active_cancel")
PRECISIONS = ("weights", "activations", "accumulation", "kv")
FIVE_PARTS = ("boundary", "artifact", "run identity", "observation points", "clock convention")
_IMMUTABLE = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64}|sha256:[0-9a-f]{64})$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    holds: bool
    evidence: str


def _all_there(names: Mapping[str, Any], *, of: str) -> Seen:
    lacking = [name for name, value in names.items() if not value]
    if lacking:
        return Seen(holds=False, evidence=f"{of}: lacks {', '.join(lacking)}")
    return Seen(holds=True, evidence=f"{of}: {', '.join(names)}")


def contract_declared(facts: Facts) -> Seen:
    contract = facts.spec.get("contract") or {}
    if not contract:
        return Seen(holds=False, evidence="spec.json: no contract; the reading implied one")
    return Seen(holds=True, evidence=f"spec.json: contract {contract.get('name')}, before the run")


def rates_name_their_denominator(facts: Facts) -> Seen | None:
    rates = [a for a in facts.aggregates if a.get("statistic") in ("rate", "ratio")]
    if not rates:
        return None
    bare = sorted({a["rule"] for a in rates if not a.get("denominator")})
    if bare:
        return Seen(holds=False, evidence=f"interpretation: no denominator of {', '.join(bare)}")
    return Seen(
        holds=True, evidence=f"interpretation: {len(rates)} rates, each with its denominator"
    )


def times_carry_their_perspective(facts: Facts) -> Seen | None:
    found = [a for a in facts.aggregates if a.get("unit") == "s"]
    if not found:
        return None
    bare = sorted({a["rule"] for a in found if not a.get("perspective")})
    if bare:
        return Seen(holds=False, evidence=f"interpretation: no perspective of {', '.join(bare)}")
    return Seen(holds=True, evidence=f"interpretation: {len(found)} times, each client or server")


def boundary_declared(facts: Facts) -> Seen:
    declared = facts.spec.get("boundary") or {}
    lacking = [label for key, label in FIELDS if key not in declared]
    if lacking:
        return Seen(holds=False, evidence=f"spec.json: boundary lacks {', '.join(lacking)}")
    return Seen(holds=True, evidence=f"spec.json: boundary of {declared['sut']}")


def connection_reuse_declared(facts: Facts) -> Seen:
    reuse = (facts.spec.get("load") or {}).get("connection_reuse")
    if reuse is None:
        return Seen(holds=False, evidence="spec.json: load.connection_reuse is not declared")
    return Seen(holds=True, evidence=f"spec.json: load.connection_reuse {str(reuse).lower()}")


def rejections_counted(facts: Facts) -> Seen | None:
    counted = facts.reading.get("reconciliation")
    if not counted:
        return None
    said = f"interpretation: {counted['rejected']} rejected of {counted['offered']} offered"
    return Seen(holds=True, evidence=said)


def clocks_described(facts: Facts) -> Seen:
    if facts.clocks is None:
        return Seen(holds=False, evidence="no clocks.json in the bundle")
    wanted = ("host", "time_namespace", "clock", "calibration", "error_ns")
    domains = facts.clocks.get("domains") or ()
    lacking = sorted({name for d in domains for name in wanted if name not in d})
    if lacking or not domains:
        said = ", ".join(lacking) or "any domain"
        return Seen(holds=False, evidence=f"clocks.json: lacks {said}")
    return Seen(holds=True, evidence=f"clocks.json: {len(domains)} domain(s), each with its bound")


def revision_immutable(facts: Facts) -> Seen | None:
    if not facts.artifact:
        return None
    revision = str(facts.artifact.get("revision") or "")
    holds = bool(_IMMUTABLE.search(revision))
    return Seen(holds=holds, evidence=f"identity.json: revision {revision or 'missing'}")


def files_hashed(facts: Facts) -> Seen:
    files = facts.artifact.get("files") or ()
    hashed = [f for f in files if f.get("sha256")]
    said = f"identity.json: {len(hashed)} of {len(files)} weight file(s) hashed on disk"
    return Seen(holds=bool(files) and len(hashed) == len(files), evidence=said)


def kv_heads_known(facts: Facts) -> Seen:
    config = facts.artifact.get("config") or {}
    value = config.get("h_kv")
    return Seen(holds=value is not None, evidence=f"identity.json: config.h_kv {value}")


def precisions_apart(facts: Facts) -> Seen:
    found = facts.artifact.get("precision") or {}
    return _all_there({n: found.get(n) for n in PRECISIONS}, of="identity.json: precision")


def tokenizer_and_template_apart(facts: Facts) -> Seen:
    parts = {
        "tokenizer": (facts.artifact.get("tokenizer") or {}).get("sha256"),
        "chat template": (facts.artifact.get("chat_template") or {}).get("sha256"),
    }
    return _all_there(parts, of="identity.json: hashes of")


def eight_items_evidenced(facts: Facts) -> Seen:
    if facts.identity is None:
        return Seen(holds=False, evidence="no identity.json in the bundle")
    lacking = facts.identity.get("missing") or ()
    if lacking:
        return Seen(holds=False, evidence=f"identity.json: without evidence: {', '.join(lacking)}")
    return Seen(holds=True, evidence="identity.json: eight items, each with its evidence strength")


def counts_reconcile(facts: Facts) -> Seen | None:
    counted = facts.reading.get("reconciliation")
    if not counted:
        return None
    open_ones = [d for d in counted["differences"] if d.startswith("unexplained")]
    said = "; ".join(open_ones) or "every difference between the counts is explained"
    return Seen(holds=not open_ones, evidence=f"interpretation: {said}")


def timeouts_have_server_states(facts: Facts) -> Seen | None:
    server = (facts.reading.get("ledger_counts") or {}).get("server")
    if server is None:
        return None
    said = ", ".join(f"{count} {state}" for state, count in sorted(server.items()))
    return Seen(holds=True, evidence=f"interpretation: server ledger of its own: {said}")


def cancels_checked(facts: Facts) -> Seen:
    by_attempt: dict[str, int] = {}
    for check in facts.cancel_checks:
        if check.get("result"):
            by_attempt[check["attempt_id"]] = by_attempt.get(check["attempt_id"], 0) + 1
    cancelled = facts.ended("cancelled")
    full = sum(count >= 5 for count in by_attempt.values())
    said = (
        f"interpretation: five checks with a result for {full} of {cancelled} cancelled attempt(s)"
    )
    return Seen(holds=full >= cancelled, evidence=said)


def five_parts_there(facts: Facts) -> Seen:
    found = (
        facts.spec.get("boundary"),
        facts.artifact,
        (facts.identity or {}).get("run"),
        facts.points,
        facts.clocks,
    )
    return _all_there(dict(zip(FIVE_PARTS, found, strict=True)), of="bundle")


def four_cases_there(facts: Facts) -> Seen:
    cases = (facts.spec.get("workload") or {}).get("cases") or ()
    named = {str(case.get("name")) for case in cases}
    return _all_there({name: name in named for name in ARCHIVE_CASES}, of="spec.json: cases")


def conclusions_state_their_level(facts: Facts) -> Seen | None:
    if not facts.aggregates:
        return None
    bare = sorted({a["rule"] for a in facts.aggregates if not a.get("limited_by")})
    if bare:
        return Seen(holds=False, evidence=f"interpretation: no level of {', '.join(bare)}")
    levels = sorted({a["limited_by"] for a in facts.aggregates})
    return Seen(holds=True, evidence=f"interpretation: each measure by {', '.join(levels)}")


def predicted_before_launch(facts: Facts) -> Seen | None:
    if facts.predictions is None or facts.predictions_first is None:
        return None
    said = f"session.jsonl: predictions of {facts.predictions.get('registered_at')}"
    order = "before" if facts.predictions_first else "not before"
    return Seen(holds=facts.predictions_first, evidence=f"{said} {order} the launch")


def parameters_have_sources(facts: Facts) -> Seen:
    parameters = (facts.predictions or {}).get("parameters") or ()
    bare = sorted(p["name"] for p in parameters if not p.get("source"))
    if bare:
        return Seen(holds=False, evidence=f"predictions.json: no source of {', '.join(bare)}")
    sources = sorted({p["source"] for p in parameters})
    return Seen(holds=True, evidence=f"predictions.json: sources {', '.join(sources) or 'none'}")


def residuals_classed(facts: Facts) -> Seen | None:
    off = [r for r in facts.residuals if _outside(r)]
    bare = sorted({r["quantity"] for r in off if not r.get("class")})
    if bare:
        return Seen(holds=False, evidence=f"interpretation: no class of {', '.join(bare)}")
    return Seen(
        holds=True, evidence=f"interpretation: {len(off)} outside their range, each classed"
    )


def ranges_marked(facts: Facts) -> Seen:
    bare = sorted({r["quantity"] for r in facts.residuals if not r.get("validity")})
    if bare:
        return Seen(holds=False, evidence=f"interpretation: no validity of {', '.join(bare)}")
    marks = sorted({r["validity"] for r in facts.residuals})
    return Seen(holds=True, evidence=f"interpretation: marked {', '.join(marks)}")


def record_complete(facts: Facts) -> Seen | None:
    try:
        lacking = missing(record_items(facts.spec, facts.measured))
    except (KeyError, TypeError):
        return None  # a declaration of another schema: its fields are not where these stand
    if lacking:
        return Seen(holds=False, evidence=f"record lacks {', '.join(lacking)}")
    return Seen(holds=True, evidence="record: all nine items")


def reported_together(facts: Facts) -> Seen | None:
    if not facts.aggregates:
        return None
    known = {(a["rule"], a["statistic"]) for a in facts.aggregates if a.get("value") is not None}
    tail = {statistic for rule, statistic in known if rule.startswith(("ttft.", "e2e."))}
    parts = {
        "throughput": any(rule.startswith("throughput.") for rule, _ in known),
        "p50": "p50" in tail,
        "p95": "p95" in tail,
        "p99": "p99" in tail,
        "error rate": any(rule == "completion_rate" for rule, _ in known),
    }
    return _all_there(parts, of="interpretation")


def one_boundary(runs: Sequence[Facts]) -> Seen:
    names = sorted({str((f.spec.get("boundary") or {}).get("sut")) for f in runs})
    return Seen(holds=len(names) == 1, evidence=f"spec.json: {' | '.join(names)}")


def one_definition(runs: Sequence[Facts]) -> Seen:
    versions = sorted({str(f.reading.get("definition_version")) for f in runs})
    return Seen(holds=len(versions) == 1, evidence=f"read by {', '.join(versions)}")


def mocked_names(facts: Facts) -> tuple[str, ...]:
    return mocked(facts.spec.get("boundary") or {})


def _outside(row: Mapping[str, Any]) -> bool:
    stated, measured = row.get("range"), row.get("measured")
    if measured is None or not stated:
        return False
    return not stated[0] <= measured <= stated[1]


def missed_predictions(facts: Facts) -> bool:
    return any(_outside(row) for row in facts.residuals)
