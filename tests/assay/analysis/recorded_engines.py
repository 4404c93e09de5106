"""Exchanges recorded with real engines (``tests/data/fixtures``), as rows of the interchange form."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FIXTURES = Path(__file__).parents[2] / "data" / "fixtures"


def exchanges() -> list[tuple[str, str]]:
    """(engine, exchange) of every recorded exchange, as ``ground_truth.json`` names them."""
    return [
        (engine.name, name) for engine in sorted(FIXTURES.glob("*-cpu")) for name in _truth(engine)
    ]


def truth(engine: str, exchange: str) -> dict[str, Any]:
    return dict(_truth(FIXTURES / engine)[exchange])


def rows(engine: str, exchange: str) -> list[dict[str, Any]]:
    """The exchange as raw HTTP reads: request becomes sent, eof closed, client_abort cancel."""
    return list(_rows(FIXTURES / engine / f"{exchange}.jsonl", exchange))


def _truth(engine: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((engine / "ground_truth.json").read_bytes())
    return found


def _rows(path: Path, name: str) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        recorded = json.loads(line)
        kind = recorded["ev"]
        base = {"attempt_id": name, "request_id": name, "clock_domain": "capture"}
        if kind == "request":
            yield {**base, "t_ns": recorded["t_sent_ns"], "kind": "sent"}
        elif kind == "read":
            payload = {k: recorded[k] for k in ("text", "b64") if k in recorded}
            yield {**base, "t_ns": recorded["t_ns"], "kind": "read", "raw_http": True, **payload}
        elif kind == "eof":
            yield {**base, "t_ns": recorded["t_ns"], "kind": "closed"}
        elif kind == "client_abort":
            yield {**base, "t_ns": recorded["t_ns"], "kind": "cancel"}
        else:
            raise AssertionError(f"{path}: unknown row {kind}")
