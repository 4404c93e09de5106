"""Rows of a Chrome trace that a piece of evidence names: events by name, with calls, time and inputs."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from assay.archive.inflating import gunzip
from assay.pages.contexts.quote import Quote

COLUMNS = ("event", "calls", "total, µs", "commonest input shapes", "commonest input types")
SHOWN = 40
_NAMED = re.compile(r'"([^"]+)"|(\w+::\w+)')


def quote_trace(path: Path, name: str, query: str) -> Quote:
    """Events whose names the query holds (``step[...]`` means every step), else the commonest events."""
    try:
        events = _events(path, path.stat().st_mtime_ns)
    except (OSError, ValueError, EOFError) as error:
        return Quote(file=name, query=query, problem=_("unreadable: {e}").format(e=error))
    wanted = [quoted or plain for quoted, plain in _NAMED.findall(query)]
    chosen = [event for event in events if any(_named(event["name"], w) for w in wanted)]
    remark = ""
    if not chosen:
        chosen = list(events)
        remark = _("No event of this trace has a name of the query; its commonest events:")
    return Quote(
        file=name,
        query=query,
        columns=COLUMNS,
        rows=tuple(_grouped(chosen)[:SHOWN]),
        remark=remark,
    )


def _named(event: str, wanted: str) -> bool:
    return event.startswith(wanted[:-4]) if wanted.endswith("[...]") else event == wanted


def _grouped(events: Iterable[dict[str, Any]]) -> list[tuple[Any, ...]]:
    calls: Counter[str] = Counter()
    total: defaultdict[str, float] = defaultdict(float)
    shapes: defaultdict[str, Counter[str]] = defaultdict(Counter)
    types: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for event in events:
        name, inputs = event["name"], event.get("args") or {}
        calls[name] += 1
        total[name] += float(event.get("dur") or 0)
        shapes[name][json.dumps(inputs.get("Input Dims"))] += 1
        types[name][json.dumps(inputs.get("Input type"))] += 1
    return [
        (name, count, round(total[name], 1), _commonest(shapes[name]), _commonest(types[name]))
        for name, count in calls.most_common()
    ]


def _commonest(counted: Counter[str]) -> str:
    text = counted.most_common(1)[0][0]
    return "" if text == "null" else text


@lru_cache(maxsize=2)
def _events(path: Path, _modified_ns: int) -> tuple[dict[str, Any], ...]:
    raw = gunzip(path) if path.suffix == ".gz" else path.read_bytes()
    document = json.loads(raw)
    events = document.get("traceEvents", []) if isinstance(document, dict) else document
    return tuple(e for e in events if e.get("ph") == "X" and e.get("name"))
