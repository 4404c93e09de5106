"""Tables whose rows are those of the page itself: what stands there is exported, with exact values."""

from django.http import HttpRequest

from assay.archive.derived_schemas import LEDGER_ROWS
from assay.pages.contexts.evidence import evidence_page
from assay.pages.contexts.files import files_page
from assay.pages.contexts.head import RunHead
from assay.pages.contexts.identity import identity_page
from assay.pages.contexts.ledger_filter import LedgerFilter
from assay.pages.contexts.ledgers import LedgersPage, ledgers_page
from assay.pages.contexts.reach import trace_reach
from assay.pages.contexts.record import record_part
from assay.pages.contexts.residuals import residuals_page
from assay.pages.contexts.session_log import log_page
from assay.pages.tables.attempts import LEDGERS_TABLES, SEGMENT
from assay.pages.tables.indexed import COUNT_TABLE, GAP_TABLE, MEASURE_TABLE, RESIDUAL_TABLE
from assay.pages.tables.table import Rows, Table, Tables


def _ledgers(head: RunHead, request: HttpRequest) -> LedgersPage | None:
    return ledgers_page(head, LedgerFilter.parse(request.GET), page=None)


def reconciliation(head: RunHead, request: HttpRequest) -> Rows:
    page = _ledgers(head, request)
    for station in page.stations if page else ():
        causes = "; ".join(f"{cause.change:+d}: {cause.words}" for cause in station.causes)
        yield (
            station.name,
            station.count,
            station.before or None,
            station.difference,
            causes or None,
            station.unexplained,
        )


def matrix(head: RunHead, request: HttpRequest) -> Rows:
    page = _ledgers(head, request)
    for _client, cells in page.matrix.rows if page else ():
        for cell in cells:
            yield cell.client, cell.server, cell.count, cell.agrees


def release(head: RunHead, request: HttpRequest) -> Rows:
    page = _ledgers(head, request)
    for row in page.release if page else ():
        yield row.level, row.meaning, row.count, row.unknown


def checks(head: RunHead, _request: HttpRequest) -> Rows:
    for check in head.reading.stored.checks() if head.reading else ():
        named = (check["attempt_id"], check["check"].replace("_", " "))
        yield *named, check["result"], check["value"], check["evidence"]


def ledger_rows(head: RunHead, _request: HttpRequest) -> Rows:
    """Every state of every ledger, as it was read."""
    rows = head.reading.stored.table(LEDGER_ROWS) if head.reading else None
    if rows is not None:
        yield from rows.select(ROW_COLUMNS).collect().iter_rows()


def parameters(head: RunHead, _request: HttpRequest) -> Rows:
    for p in residuals_page(head).parameters:
        low, high = p["spread"] or (None, None)
        yield p["name"], p["value"], p["unit"], low, high, p["source"], p["reference"], p["date"]


def state(head: RunHead, _request: HttpRequest) -> Rows:
    for row in residuals_page(head).state:
        yield (
            row["what"],
            row["tokens"],
            row["logical_bytes"],
            row["layout_bytes"],
            row["measured_bytes"],
            "; ".join(row["differences"]) or None,
        )


def points(head: RunHead, _request: HttpRequest) -> Rows:
    for p in evidence_page(head).points:
        yield tuple(p[name] for name in POINT_COLUMNS)  # type: ignore[literal-required]


def clocks(head: RunHead, _request: HttpRequest) -> Rows:
    found = evidence_page(head).clocks
    for domain in found["domains"] if found else ():
        yield (
            domain["id"],
            domain["host"],
            domain["clock"],
            domain["calibration"],
            domain["error_ns"],
        )


def client_error(head: RunHead, _request: HttpRequest) -> Rows:
    for row in evidence_page(head).client_error:
        yield row.segment, row.what, *row.quantiles, row.n, row.reason or None


def identity(head: RunHead, _request: HttpRequest) -> Rows:
    document = head.folder.identity() if head.folder else None
    for item in document["run"] if document else ():
        yield (
            item["item"],
            item["declared"],
            item["ran"],
            item["strength"],
            list(item["evidence"]),
            item["reason"],
        )


def paths(head: RunHead, _request: HttpRequest) -> Rows:
    engine = identity_page(head).engine
    for path in engine.paths if engine else ():
        yield path.path, path.state, path.asked, path.seen, path.strength, path.reason


def cold_start(head: RunHead, _request: HttpRequest) -> Rows:
    engine = identity_page(head).engine
    for part in engine.start.parts if engine else ():
        yield part.name, part.source, part.duration_s, part.own_s, part.evidence


def shapes(head: RunHead, _request: HttpRequest) -> Rows:
    engine = identity_page(head).engine
    for shape in engine.shapes if engine else ():
        outcomes = ", ".join(sorted(shape.outcomes)) or None
        yield (
            shape.tokens,
            shape.padded_tokens,
            shape.mode,
            outcomes,
            shape.count,
            shape.reason or None,
        )


def record(head: RunHead, _request: HttpRequest) -> Rows:
    for item in record_part(head).items:
        yield item.name, item.value, item.lacking or None


def reach(head: RunHead, _request: HttpRequest) -> Rows:
    document = head.folder.identity() if head.folder else None
    for trace in trace_reach(head, document["run"] if document else []):
        lacking = "; ".join(f"{words} x{count}" for words, count in trace.lacking) or None
        refused = trace.refused or None
        yield trace.subject, trace.statement, trace.covered, trace.steps, lacking, refused


def files(head: RunHead, _request: HttpRequest) -> Rows:
    page = files_page(head)
    for file in page.files if page else ():
        yield file.path, file.file_class, file.bytes, file.sha256, file.withheld or None


def session(head: RunHead, _request: HttpRequest) -> Rows:
    for row in log_page(head).rows:
        yield row.line, row.since_s, row.event, row.fields


ROW_COLUMNS = (
    *("ledger", "subject", "subject_type", "state", "detail", "from_ns", "to_ns"),
    *("clock_domain", "error_ns", "evidence", "level"),
)
POINT_COLUMNS = (
    *("point", "sees", "layer", "perspective", "level", "rate_hz", "dropped", "clock_domain"),
)
LEDGERS: Tables = {
    **LEDGERS_TABLES,
    "reconciliation": Table(
        columns=("station", "count", "compared_with", "difference", "explained", "unexplained"),
        rows=reconciliation,
    ),
    "matrix": Table(columns=("client", "server", "attempts", "agrees"), rows=matrix),
    "release": Table(columns=("level", "meaning", "attempts", "unknown"), rows=release),
    "checks": Table(columns=("attempt_id", "check", "result", "value", "evidence"), rows=checks),
    "counts": COUNT_TABLE,
    "rows": Table(columns=ROW_COLUMNS, rows=ledger_rows),
}
LATENCY: Tables = {"measures": MEASURE_TABLE, "requests": SEGMENT}
RESIDUALS: Tables = {
    "residuals": RESIDUAL_TABLE,
    "parameters": Table(
        columns=("name", "value", "unit", "lowest", "highest", "source", "reference", "date"),
        rows=parameters,
    ),
    "state": Table(
        columns=(
            "what",
            "tokens",
            "logical_bytes",
            "layout_bytes",
            "measured_bytes",
            "differences",
        ),
        rows=state,
    ),
}
EVIDENCE: Tables = {
    "gaps": GAP_TABLE,
    "points": Table(columns=POINT_COLUMNS, rows=points),
    "record": Table(columns=("item", "value", "lacking"), rows=record),
    "clocks": Table(columns=("domain", "host", "clock", "calibration", "error_ns"), rows=clocks),
    "client_error": Table(
        columns=("segment", "what", "p50_ns", "p90_ns", "p99_ns", "max_ns", "n", "reason"),
        rows=client_error,
    ),
}
IDENTITY: Tables = {
    "items": Table(
        columns=("item", "declared", "ran", "strength", "evidence", "reason"), rows=identity
    ),
    "reach": Table(
        columns=("item", "statement", "steps_covered", "steps", "not_covered", "refused"),
        rows=reach,
    ),
    "paths": Table(columns=("path", "state", "asked", "seen", "strength", "reason"), rows=paths),
    "cold_start": Table(
        columns=("part", "source", "duration_s", "own_s", "evidence"), rows=cold_start
    ),
    "shapes": Table(
        columns=("tokens", "padded_tokens", "mode", "outcomes", "steps", "reason"), rows=shapes
    ),
}
FILES: Tables = {
    "files": Table(columns=("path", "class", "bytes", "sha256", "withheld"), rows=files)
}
LOG: Tables = {"session": Table(columns=("line", "since_s", "event", "details"), rows=session)}
