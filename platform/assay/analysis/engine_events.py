"""``engine_events.jsonl`` (``runners.protocol.events.EngineEvent``) as generic events and iterations.

Each engine process opens its part with a ``clock`` row that names its clock domain. ``front_*`` rows are
stamped by the process that owns the sockets, the others by the model loop; a front-end estimate never stands
in for an instant of the loop.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from assay.analysis.events import EventRecord
from runners.protocol.events import EngineEvent

FRONT_LAYER = "engine_front"
LOOP_LAYER = "engine_loop"
_decode = json.JSONDecoder().decode  # json.loads looks at its options for every line
_OWN = frozenset(
    {
        "event",
        "t_ns",
        "error_ns",
        "request",
        "attempt_id",
        "process",
        "value",
        "clock_domain",
        "source",
    }
)
_ID_NAMES = ("request", "attempt_id", "request_id")


class EngineEventReader:
    """Normalises rows one by one. ``client_domain`` is the domain to which an equal one needs no mapping.

    Times count from ``origin_ns`` of that domain; those of any other domain from its first event.
    """

    def __init__(self, *, file: str, client_domain: str, origin_ns: int = 0) -> None:
        self._file = file
        self._client_domain = client_domain
        self.origins_ns = {client_domain: origin_ns}
        self._domains: dict[str, str] = {}
        self._last_domain: str | None = None
        self.unreadable: list[int] = []
        self.config: dict[str, Any] | None = None

    def records(self, lines: Iterable[bytes]) -> Iterator[EventRecord]:
        """Every readable row, in file order; the numbers of torn lines are kept in ``unreadable``."""
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                row = _decode(line.decode())
                event, t_ns = row["event"], row["t_ns"]
            except (ValueError, KeyError, TypeError):
                self.unreadable.append(number)
                continue
            value = _value_of(row)
            if event == EngineEvent.clock and isinstance(value, dict):
                self._take_clock(row, value)
            elif event == EngineEvent.config and isinstance(value, dict):
                self.config = value
            domain = self._domain_of(row, event)
            front = event.startswith("front_") or row.get("process") == "front"
            yield EventRecord(
                event=event,
                t_ns=t_ns - self.origins_ns.setdefault(domain, t_ns),
                clock_domain=domain,
                error_ns=_error_of(row) if domain == self._client_domain else None,
                layer=FRONT_LAYER if front else LOOP_LAYER,
                perspective="server",
                attempt_id=_id_of(row),
                value=value,
                evidence=f"{self._file}:{number}",
            )

    def _take_clock(self, row: dict[str, Any], value: dict[str, Any]) -> None:
        domain = row.get("clock_domain") or value.get("clock_domain")
        process = row.get("process") or value.get("process")
        if isinstance(domain, str):
            self._last_domain = domain
            if isinstance(process, str):
                self._domains[process] = domain

    def _domain_of(self, row: dict[str, Any], event: str) -> str:
        named = row.get("clock_domain")
        if isinstance(named, str):
            return named
        process = row.get("process") or ("front" if event.startswith("front_") else "loop")
        return self._domains.get(process) or self._last_domain or "undeclared"


def _value_of(row: dict[str, Any]) -> Any:
    """The row's own members beside the common ones, whether nested under ``value`` or beside them."""
    value = row.get("value")
    rest = {k: v for k, v in row.items() if k not in _OWN}
    if isinstance(value, dict):
        return {**rest, **value}
    return rest if value is None else value


def _error_of(row: dict[str, Any]) -> int:
    """The bound that the row states; a stamp taken in the client's own clock domain states none."""
    stated = row.get("error_ns")
    return stated if isinstance(stated, int) and stated >= 0 else 0


def _id_of(row: dict[str, Any]) -> str | None:
    for name in _ID_NAMES:
        found = row.get(name)
        if isinstance(found, str):
            return found
    return None
