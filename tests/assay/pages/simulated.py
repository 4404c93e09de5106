"""A made-up but consistent run, as documents: 28 attempts with every client state, gaps, ghost load, lanes.

Nothing here was measured. It exists so that pages can be tested and looked at without an engine.
"""

import random
from dataclasses import dataclass
from typing import Any

from assay.analysis.definition import DEFINITION_VERSION as DEFINITION_VERSION
from assay.analysis.ledgers.at import final_counts

DOMAIN = "6f1c2a3e-58b1-4f0e-9a57-0c2d8e11f7aa/4026531834/monotonic"
ORIGIN_NS = 81_234_000_000_000
MS = 1_000_000
HOSTILE = (
    '<script>document.title = "owned"</script> \x1b[31mred\x1b[0m \u202egnirts desrever\u202c '
    '<img src="https://example.invalid/x.png" onerror="alert(1)"> {{ 7|add:"1" }}'
)
NO_RECORD = "no server record of this attempt"


@dataclass(frozen=True, kw_only=True)
class Told:
    """What happens to one attempt; times in ms since the run's origin."""

    name: str
    segment: str
    case: str | None
    sent: int
    queued: int
    prefill: int
    tokens: int
    step: float
    client: str = "completed"
    server: str = "completed"
    gives_up_after: int | None = None
    text: str = "The standard assay of silver is by cupellation."
    failure: str | None = None

    @property
    def first_token(self) -> int:
        return self.sent + 2 + self.queued + self.prefill

    @property
    def last_token(self) -> float:
        return self.first_token + (self.tokens - 1) * self.step

    @property
    def gave_up(self) -> int | None:
        return None if self.gives_up_after is None else self.sent + self.gives_up_after


def told() -> list[Told]:
    """Four archive cases alone, then a load of 24 requests, four at a time."""
    cases = [
        Told(name="cases-0001", segment="cases", case="short", sent=120, queued=1, prefill=64,
             tokens=32, step=21.0),
        Told(name="cases-0002", segment="cases", case="long_input", sent=900, queued=1, prefill=890,
             tokens=32, step=24.5, text=HOSTILE),
        Told(name="cases-0003", segment="cases", case="long_output", sent=2700, queued=1, prefill=66,
             tokens=160, step=21.6),
        Told(name="cases-0004", segment="cases", case="active_cancel", sent=6400, queued=1,
             prefill=65, tokens=22, step=21.3, client="cancelled", server="cancelled",
             gives_up_after=420),
    ]  # fmt: skip
    rng = random.Random(7)
    free_at = [7200.0, 7210.0, 7220.0, 7230.0]
    load = []
    for number in range(1, 25):
        slot = free_at.index(min(free_at))
        sent = round(free_at[slot])
        unusual = _UNUSUAL.get(number, {})
        plan: dict[str, Any] = {
            "queued": rng.randint(1, 45),
            "prefill": rng.randint(70, 190),
            "tokens": rng.choice([32, 32, 48, 64]),
            "step": 30 + rng.random() * 14,
        }
        attempt = Told(
            name=f"load-{number:04d}", segment="load", case=None, sent=sent, **(plan | unusual)
        )
        load.append(attempt)
        free_at[slot] = (attempt.gave_up or attempt.last_token) + 6
    return cases + load


_UNUSUAL: dict[int, dict[str, Any]] = {
    6: {"client": "timeout", "gives_up_after": 900, "tokens": 64, "failure": "timeout_client: total"},
    11: {"client": "failed", "server": "cancelled", "gives_up_after": 640, "tokens": 20,
         "failure": "connection_lost: reset by peer after 6 events"},
    17: {"client": "rejected", "server": "rejected", "gives_up_after": 4, "tokens": 0,
         "failure": "http_503: queue full"},
    22: {"client": "unfinalised", "server": "undetermined", "gives_up_after": 1200, "tokens": 24},
}  # fmt: skip


def at(ms: float) -> int:
    """As an interpretation has it: counted from the run's origin."""
    return round(ms * MS)


def absolute(ms: float) -> int:
    """As a bundle has it: the clock's own value."""
    return ORIGIN_NS + at(ms)


def attempt_reading(t: Told) -> dict[str, Any]:
    saw_content = t.client != "rejected"
    ends = t.gave_up if t.gave_up is not None else t.last_token + 2
    arrivals = [t.first_token + 1.4 + i * t.step for i in range(t.tokens)] if saw_content else []
    seen = [ms for ms in arrivals if ms <= ends]
    completed = t.client == "completed"
    ttft = (seen[0] - t.sent) / 1000 if seen else None
    why = "no content event" if not seen else "the attempt did not complete"
    tpot = (seen[-1] - seen[0]) / 1000 / (len(seen) - 1) if completed and len(seen) > 1 else None
    server_ttft = (t.first_token - t.sent - 1) / 1000 if t.server != "undetermined" else None
    return {
        "attempt_id": f"{t.name}.A1",
        "request_id": t.name,
        "task_id": f"T-{t.name}",
        "session_id": f"S-{t.name}",
        "model_call_id": f"M-{t.name}",
        "retry_of": None,
        "segment": t.segment,
        "case": t.case,
        "client_state": t.client,
        "failure": t.failure,
        "timestamps_ns": {
            "scheduled": None,
            "sent": at(t.sent),
            "first_byte": at(seen[0] - 0.3) if seen else at(t.sent + 3),
            "first_content_event": at(seen[0]) if seen else None,
            "first_visible": at(seen[0]) if seen else None,
            "last_content": at(seen[-1]) if seen else None,
            "done": at(ends) if completed else None,
        },
        "counts": {
            "token_ids": len(seen) if seen else None,
            "usage": t.tokens if completed else None,
            "retokenized": len(seen) if completed else None,
            "content_chunks": len(seen),
            "events": len(seen) + (3 if completed else 1),
        },
        "prompt_tokens": 64 if completed else None,
        "cached_tokens": 0 if completed else None,
        "text": t.text,
        "reasoning_text": "",
        "tool_calls": [],
        "finish_reason": "length" if completed else None,
        "classes": {"answer": len(seen)},
        "choices": [],
        "refusal_text": "",
        "late": {"bytes": 412 if t.client == "timeout" else 0, "content_chunks": 0},
        "status": 503 if t.client == "rejected" else 200,
        "clock_domain": DOMAIN,
        "absent": {"timestamps_ns.scheduled": "closed loop: the request had no scheduled time"},
        "chunk_times_ns": [at(ms) for ms in seen],
        "chunk_tokens": [1] * len(seen),
        "metrics": {
            "ttft.first_content.client": _metric(ttft, why),
            "tpot.last_token": _metric(tpot, "fewer than two tokens of a completed attempt"),
            "e2e.client": _metric(
                (ends - t.sent) / 1000 if completed else None, "the attempt did not complete"
            ),
            "ttft.server": _metric(server_ttft, NO_RECORD),
            "queue.server": _metric(t.queued / 1000 if server_ttft else None, NO_RECORD),
            "prefill.server": _metric(t.prefill / 1000 if server_ttft else None, NO_RECORD),
        },
    }


def _metric(value: float | None, absent: str) -> dict[str, Any]:
    return {"value": value, "unit": "s", "absent": None if value is not None else absent}


def ledger_row(
    t: Told, state: str, start: float | None, end: float | None, evidence: str | None, **more: Any
) -> dict[str, Any]:
    return {
        "subject": f"{t.name}.A1",
        "subject_type": "attempt",
        "ids": {"task_id": f"T-{t.name}", "request_id": t.name},
        "state": state,
        "from_ns": None if start is None else at(start),
        "to_ns": None if end is None else at(end),
        "clock_domain": DOMAIN,
        "error_ns": 0,
        "evidence": evidence,
        "level": "E2",
        "detail": None,
        **more,
    }


def ledgers(attempts: list[Told]) -> dict[str, list[dict[str, Any]]]:
    rows: dict[str, list[dict[str, Any]]] = {
        "client": [],
        "server": [],
        "task": [],
        "resource": [],
    }
    for line, t in enumerate(attempts, start=4):
        end = t.gave_up if t.gave_up is not None else t.last_token + 2
        rows["client"] += [
            ledger_row(t, "created", t.sent - 0.4, t.sent, f"attempts.parquet:{line}"),
            ledger_row(t, "sent", t.sent, end, f"attempts.parquet:{line}"),
            ledger_row(t, t.client, end, None, f"attempts.parquet:{line}", detail=t.failure),
        ]
        rows["server"] += _server(t, line)
        outcome = {"completed": "success", "unfinalised": "undetermined"}.get(t.client, "failure")
        rows["task"].append(
            ledger_row(t, outcome, end, None, None, subject=f"T-{t.name}", subject_type="task")
        )
        rows["resource"] += _resource(t, line)
    return rows


def _server(t: Told, line: int) -> list[dict[str, Any]]:
    if t.server == "undetermined":
        return [ledger_row(t, "undetermined", None, None, None, detail=NO_RECORD)]
    at_line = f"engine_events.jsonl:{line}"
    if t.server == "rejected":
        return [ledger_row(t, "rejected", t.sent + 1, None, at_line, detail="queue full")]
    end = server_end(t)
    return [
        ledger_row(t, "received", t.sent + 1, t.sent + 2, at_line),
        ledger_row(t, "queued", t.sent + 2, t.sent + 2 + t.queued, at_line),
        ledger_row(t, "running", t.sent + 2 + t.queued, end, at_line),
        ledger_row(t, t.server, end, None, at_line),
    ]


def server_end(t: Told) -> float:
    """A cancel reaches the model loop within a step; a client time-out does not reach it at all."""
    return t.gave_up + 17.5 if t.server == "cancelled" and t.gave_up else t.last_token


def _resource(t: Told, line: int) -> list[dict[str, Any]]:
    if t.server in ("undetermined", "rejected"):
        return [ledger_row(t, "unknown", None, None, None, detail="no evidence of any level")]
    end, where = server_end(t), f"engine_events.jsonl:{line}"
    return [
        ledger_row(t, "held", t.sent + 2 + t.queued, end, where),
        ledger_row(t, "released", end, end + 0.2, where, detail="computing_stopped"),
        ledger_row(t, "released", end + 0.2, None, where, detail="blocks_reusable"),
    ]


def lanes(t: Told) -> list[dict[str, Any]]:
    first, end = t.first_token, server_end(t)
    left = t.gave_up if t.gave_up is not None else t.last_token + 2
    seen = min(first + 1.4, left)
    client = [("wait for first content", t.sent, seen), ("stream", seen, left)]
    server = [
        ("queue", t.sent + 2, t.sent + 2 + t.queued),
        ("prefill", t.sent + 2 + t.queued, first),
        ("decode", first, end),
    ]
    events = {
        "decode": "first_token",
        "prefill": "scheduled",
        "queue": "queued",
        "wait for first content": "sent",
        "stream": "first_content",
    }
    return [
        {
            "attempt_id": f"{t.name}.A1",
            "perspective": perspective,
            "clock_domain": DOMAIN,
            "intervals": [
                {
                    "name": name,
                    "start_event": events[name],
                    "end_event": "next",
                    "from_ns": at(start),
                    "to_ns": at(stop),
                    "on_path": True,
                    "origin": "measured",
                }
                for name, start, stop in own
            ],
            "sum_ns": at(own[-1][2]) - at(own[0][1]),
            "end_minus_start_ns": at(own[-1][2]) - at(own[0][1]),
            "cross_check": True,
            "rejected": [],
        }
        for perspective, own in (("client", client), ("server", server))
        if perspective == "client" or t.server in ("completed", "cancelled")
    ]


def ghost(t: Told) -> dict[str, Any] | None:
    if t.gave_up is None or t.client in ("rejected", "unfinalised"):
        return None
    total = round((server_end(t) - t.gave_up) * MS)
    return {
        "attempt_id": f"{t.name}.A1",
        "from_ns": at(t.gave_up),
        "to_ns": at(server_end(t)),
        "total_ns": total,
        "computing_ns": round(total * 0.93),
        "queueing_ns": 0,
        "holding_ns": round(total * 0.07),
        "kv_byte_s": total / 1e9 * 5_900_000,
        "error_ns": None,
        "absent": None,
    }


def cancel_checks(name: str) -> list[dict[str, Any]]:
    checks = (
        ("received: when and where", "held", "front end, 0.6 ms after the close"),
        ("no new work scheduled", "held", "no iteration after it carries the request"),
        ("submitted work ended safely", "held", "the shared step ended with the others intact"),
        ("output suppressed", "held", "no write after the disconnect"),
        ("resources recycled", "not evidenced", None),
    )
    return [
        {
            "attempt_id": name,
            "check": check,
            "result": result,
            "value": value,
            "evidence": "engine_events.jsonl:7" if result == "held" else None,
        }
        for check, result, value in checks
    ]


def gaps() -> list[dict[str, str]]:
    return [
        {
            "what": "process_returned: no memory reading after the engine stopped",
            "affects": "release level of every attempt above blocks_reusable",
            "needed": "a host reading after the process tree is gone",
            "state": "open",
        },
        {
            "what": "server record of load-0022.A1",
            "affects": "server and resource ledgers of one attempt",
            "needed": "the engine's event log up to its end",
            "state": "open",
        },
        {
            "what": "upstream commit of SmolLM2-135M-Instruct",
            "affects": "artifact identity; comparison with other conversions",
            "needed": "the converter's own record of the source revision",
            "state": "accepted",
        },
    ]


def interpretation(bundle_digest: str, aggregates: list[dict[str, Any]]) -> dict[str, Any]:
    attempts = told()
    by_state = [t.client for t in attempts]
    rows = ledgers(attempts)
    return {
        "definition_version": DEFINITION_VERSION,
        "bundle_digest": bundle_digest,
        "attempts": [attempt_reading(t) for t in attempts],
        "aggregates": aggregates,
        "ledgers": rows,
        "ledger_counts": {ledger: final_counts(own) for ledger, own in rows.items()},
        "reconciliation": {
            "offered": 28,
            "created": 28,
            "sent": 28,
            "received": 27,
            **{
                state: by_state.count(state)
                for state in (
                    "completed",
                    "failed",
                    "timeout",
                    "cancelled",
                    "rejected",
                    "unfinalised",
                )
            },
            "differences": [
                "unexplained: 1 sent attempt(s) without a server record (load-0022.A1)"
            ],
        },
        "lanes": [lane for t in attempts for lane in lanes(t)],
        "ghost_load": [g for t in attempts if (g := ghost(t))],
        "cancel_checks": cancel_checks("cases-0004.A1"),
        "identity": [],
        "residuals": residuals(),
        "gaps": gaps(),
    }


def residuals() -> list[dict[str, Any]]:
    rows: tuple[tuple[Any, ...], ...] = (
        ("decode_step_s", {"batch": 1}, 0.0089, 0.0196, (0.0171, 0.0224), 0.0212, "s",
         "engine_loop", None, "calibrated"),
        ("decode_step_s", {"batch": 4}, 0.0094, 0.0287, (0.0248, 0.0331), 0.0368, "s",
         "engine_loop", "model_omission", "extrapolated"),
        ("prefill_s", {"input_tokens": 512}, 0.412, 0.83, (0.71, 0.97), 0.89, "s",
         "engine_loop", None, "calibrated"),
        ("ttft_s", {"case": "short"}, None, 0.071, (0.058, 0.088), 0.0684, "s",
         "client_socket", None, "calibrated"),
        ("kv_bytes", {"context": 224}, 10_321_920, 10_321_920, (10_321_920, 11_059_200),
         10_616_832, "byte", "engine_loop", None, "calibrated"),
        ("rss_bytes", {}, 538_000_000, 760_000_000, (690_000_000, 840_000_000), None, "byte",
         "host", None, "calibrated"),
    )  # fmt: skip
    return [
        {
            "quantity": quantity,
            "conditions": conditions,
            "bound": bound,
            "predicted": predicted,
            "range": list(stated),
            "measured": measured,
            "unit": unit,
            "layer": layer,
            "relative": None if measured is None else (measured - predicted) / predicted,
            "class": klass,
            "validity": validity,
            "reason": "the sampler missed the measured window" if measured is None else None,
            "overturned_by": "a repeat with three fresh starts",
        }
        for quantity, conditions, bound, predicted, stated, measured, unit, layer, klass, validity
        in rows
    ]  # fmt: skip


def aggregates(scale: float = 1.0) -> list[dict[str, Any]]:
    """Numbers of the load segment; ``scale`` slows every time of a sweep's run."""
    timed = {
        "ttft.first_content.client": (0.142, 0.148, 0.231, 24),
        "tpot.last_token": (0.0361, 0.0366, 0.0432, 20),
        "e2e.client": (1.62, 1.71, 2.71, 20),
        "ttft.server": (0.139, 0.145, 0.227, 20),
        "queue.server": (0.0231, 0.0242, 0.0441, 20),
    }
    rows = []
    for rule, (median, mean, p95, n) in timed.items():
        for statistic, value in (("mean", mean), ("p50", median), ("p95", p95), ("p99", None)):
            stated = None if value is None else value * scale
            rows.append(_aggregate(rule, statistic, stated, n))
    rows += [
        _rate("throughput.output_tokens", "rate", 98.4 / scale, "token/s", 22),
        _rate("throughput.requests", "rate", 2.31 / scale, "request/s", 20),
        _rate("goodput.ratio", "ratio", 18 / 24, "1", 18),
        _rate("completion_rate", "ratio", 20 / 24, "1", 20),
    ]
    return rows


def _aggregate(rule: str, statistic: str, value: float | None, n: int) -> dict[str, Any]:
    return {
        "rule": rule,
        "statistic": statistic,
        "value": value,
        "unit": "s",
        "interval": [value * 0.94, value * 1.07] if value else None,
        "interval_kind": "within this start, 95 %" if value else None,
        "percentile_rule": "nearest rank",
        "n": n,
        "of": 24,
        "population": "completed attempts, load",
        "denominator": "attempts",
        "perspective": "server" if rule.endswith("server") else "client",
        "clock_domain": DOMAIN,
        "limited_by": "E2" if rule.endswith("server") else "E1",
        "absent": None
        if value
        else f"too few samples for {statistic}: {n}, at least 100 are needed",
    }


def _rate(rule: str, statistic: str, value: float, unit: str, n: int) -> dict[str, Any]:
    return {
        **_aggregate(rule, statistic, value, n),
        "unit": unit,
        "interval": None,
        "interval_kind": None,
        "population": "offered requests, load",
        "limited_by": "E1",
    }
