"""The tables of one request's page: its instants, counts, states, lanes, path, metrics and checks."""

from django.http import HttpRequest

from assay.pages.contexts.attempt import AttemptPage, attempt_page
from assay.pages.contexts.head import RunHead
from assay.pages.tables.table import Rows, Table, Tables


def _page(head: RunHead, request: HttpRequest) -> AttemptPage:
    assert request.resolver_match is not None
    return attempt_page(head, str(request.resolver_match.kwargs["attempt_id"]), None)


def instants(head: RunHead, request: HttpRequest) -> Rows:
    for stamp in _page(head, request).stamps:
        absent = stamp.absent if stamp.since_origin_s is None else None
        yield stamp.name, stamp.since_origin_s, stamp.since_sent_s, absent


def counts(head: RunHead, request: HttpRequest) -> Rows:
    for count in _page(head, request).counts:
        yield count.name, count.value, count.absent if count.value is None else None


def states(head: RunHead, request: HttpRequest) -> Rows:
    for ledger, _question, rows in _page(head, request).ledgers:
        for row in rows:
            detail, evidence = row.detail or None, row.evidence or None
            yield ledger, row.state, detail, row.from_s, row.to_s, evidence, row.level


def lanes(head: RunHead, request: HttpRequest) -> Rows:
    for lane in _page(head, request).lanes:
        for bar in lane.bars:
            of_lane = (lane.perspective, lane.clock_domain)
            yield *of_lane, bar.name, bar.start_event, bar.end_event, bar.duration_s, bar.origin


def path(head: RunHead, request: HttpRequest) -> Rows:
    found = _page(head, request).path
    for line in found.lines if found else ():
        row = line.row
        yield row.name, row.duration_s, row.on_path, row.slack_s, row.gain_limit_s


def metrics(head: RunHead, request: HttpRequest) -> Rows:
    for row in _page(head, request).metrics:
        yield row.rule, row.value, row.unit, row.absent or None


def checks(head: RunHead, request: HttpRequest) -> Rows:
    for check in _page(head, request).checks:
        yield check.check, check.result, check.value or None, check.evidence or None


ATTEMPT: Tables = {
    "instants": Table(
        columns=("instant", "since_origin_s", "since_sent_s", "absent"), rows=instants
    ),
    "counts": Table(columns=("count", "value", "absent"), rows=counts),
    "states": Table(
        columns=("ledger", "state", "detail", "from_s", "to_s", "evidence", "level"), rows=states
    ),
    "lanes": Table(
        columns=(
            *("perspective", "clock_domain", "interval", "start_event", "end_event"),
            *("duration_s", "origin"),
        ),
        rows=lanes,
    ),
    "path": Table(columns=("stage", "duration_s", "on_path", "slack_s", "gain_limit_s"), rows=path),
    "metrics": Table(columns=("rule", "value", "unit", "absent"), rows=metrics),
    "checks": Table(columns=("check", "result", "value", "evidence"), rows=checks),
}
