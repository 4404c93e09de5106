"""Every rule of the catalogue has a value worked by hand. A rule that is added without one fails here."""

from collections.abc import Mapping

import pytest

from assay.analysis.metrics.catalogue import ALL_RULES
from assay.analysis.metrics.compat_rules import COMPAT_RULES
from assay.analysis.metrics.energy_rules import ENERGY_RULES
from assay.analysis.metrics.registry import ATTEMPT_RULES
from assay.analysis.rates import ServiceLevels
from assay.analysis.window import Window
from tests.assay.analysis.compat import test_hand_worked as compat
from tests.assay.analysis.streams import DONE, MS, delta, interpretation, read, row, usage

# The client, in ms of its clock: scheduled 0, created 1, sent 10, a first byte 30 (role only),
# reasoning 50, answer 60 and 90 (three tokens, one id each), usage (7 prompt, 3 output) and [DONE] 100.
# The server, in ms of its own: enqueued 1000, scheduled 1004, tokens 1030, 1041 and 1070, ended 1085.
ROWS = [
    row("scheduled", 0),
    row("created", 1),
    row("sent", 10),
    row("headers", 30, status=200),
    read(30, delta(role="assistant")),
    read(50, delta(reasoning_content="hm", ids=[1])),
    read(60, delta("a", ids=[2])),
    read(90, delta("b", ids=[3], finish="stop")),
    read(100, usage(3, 7) + DONE),
    row("closed", 100),
]
# Beside it one rejected, one cancelled, one failed attempt, each 5 ms long.
OTHERS = [
    row("sent", 0, "r"),
    row("headers", 5, "r", status=503),
    row("closed", 5, "r"),
    row("sent", 0, "k"),
    row("cancel", 5, "k"),
    row("sent", 0, "f"),
    row("error", 5, "f", detail="connection_lost: gone"),
]


def server(event: str, t_ms: float, **more: object) -> dict[str, object]:
    return {
        "event": f"engine.{event}",
        "t_ns": round(t_ms * MS),
        "clock_domain": "server",
        "error_ns": 0,
        "layer": "engine_loop",
        "perspective": "server",
        "attempt_id": "a",
        **more,
    }


EVENTS = [
    server("enqueued", 1000),
    server("scheduled", 1004),
    server("first_token", 1030),
    server("token", 1041),
    server("last_token", 1070),
    server("finished", 1085),
]

OF_ONE_ATTEMPT_S = {
    "ttft.first_byte.client": 0.020,  # 30 - 10
    "ttft.first_content.client": 0.040,  # 50 - 10, reasoning counts
    "ttft.first_visible.client": 0.050,  # 60 - 10
    "ttft.from_scheduled": 0.050,  # 50 - 0
    "ttft.server": 0.030,  # 1030 - 1000
    "boundary.ttft": 0.010,  # 40 - 30
    "e2e.client": 0.090,  # 100 - 10
    "e2e.server": 0.085,  # 1085 - 1000
    "latency.from_scheduled": 0.100,  # 100 - 0
    "tpot.last_token": 0.020,  # (90 - 50) / 2
    "tpot.done": 0.025,  # (90 - 40) / 2
    "itl.chunk_gap": 0.020,  # mean of 10 and 30
    "itl.token_gap": 0.020,  # the same: one id each
    "send_lag": 0.010,  # 10 - 0, no handshake was recorded
    "queue.server": 0.004,  # 1004 - 1000
    "prefill.server": 0.026,  # 1030 - 1004
    "decode.server": 0.040,  # 1070 - 1030
}
# Over all four attempts and the window [0, 200) ms: three output, seven prompt tokens, one completed.
OF_THE_GROUP = {
    ("throughput.output_tokens", "rate"): 15.0,  # 3 / 0.2
    ("throughput.output_tokens.completed", "rate"): 15.0,
    ("throughput.input_tokens", "rate"): 35.0,  # 7 / 0.2
    ("throughput.requests", "rate"): 5.0,  # 1 / 0.2
    ("in_flight", "mean"): 0.525,  # (90 + 5 + 5 + 5) / 200
    # rate times latency: 4 ended in 200 ms, 105 / 4 ms each, is 0.525 too: nothing crosses an edge
    ("littles_law.difference", "ratio"): 0.0,
    ("goodput.ratio", "ratio"): 0.25,  # TTFT 40 ms holds 45 ms; of four offered
    ("goodput.rate", "rate"): 5.0,  # 1 / 0.2
    ("completion_rate", "ratio"): 0.25,
    ("error_rate", "ratio"): 0.25,
    ("rejection_rate", "ratio"): 0.25,
    ("cancel_rate", "ratio"): 0.25,
}
# Rules whose worked example needs another scene: rule id -> where it stands.
ELSEWHERE = {
    "handshake.client": "tests/assay/analysis/metrics/test_client.py",
    "step.server.prefill": "tests/assay/analysis/test_step_aggregates.py",
    "step.server.decode": "tests/assay/analysis/test_step_aggregates.py",
    "step.server.mixed": "tests/assay/analysis/test_step_aggregates.py",
    "batch.server": "tests/assay/analysis/test_step_aggregates.py",
    "latency.scoring.client": "tests/assay/analysis/test_call_types.py",
    "latency.scoring.from_scheduled": "tests/assay/analysis/test_call_types.py",
    "latency.scoring.per_item": "tests/assay/analysis/test_call_types.py",
    "queue.scoring.server": "tests/assay/analysis/test_call_types.py",
    "compute.scoring.server": "tests/assay/analysis/test_call_types.py",
    "throughput.scoring.items": "tests/assay/analysis/test_call_types.py",
    "throughput.scoring.input_tokens": "tests/assay/analysis/test_call_types.py",
    "throughput.scoring.requests": "tests/assay/analysis/test_call_types.py",
    "prompt.cached_share": "tests/assay/analysis/test_call_types.py",
    **dict.fromkeys(ENERGY_RULES, "tests/assay/analysis/energy/test_figures.py"),
}


def group() -> Mapping[tuple[str, str], float | None]:
    document = interpretation(
        [*ROWS, *OTHERS],
        slo=ServiceLevels(ttft_s=0.045),
        window=Window(from_ns=0, to_ns=200 * MS, chosen="asked for"),
    )
    return {(a["rule"], a["statistic"]): a["value"] for a in document["aggregates"]}


@pytest.mark.parametrize("rule", OF_ONE_ATTEMPT_S)
def test_a_rule_of_an_attempt_by_hand(rule: str) -> None:
    document = interpretation(ROWS, EVENTS)

    found = document["attempts"][0]["metrics"][rule]
    assert found["value"] == pytest.approx(OF_ONE_ATTEMPT_S[rule]), found
    assert found["unit"] == ATTEMPT_RULES[rule].unit


@pytest.mark.parametrize(("rule", "statistic"), OF_THE_GROUP)
def test_a_rule_of_a_group_by_hand(rule: str, statistic: str) -> None:
    assert group()[rule, statistic] == pytest.approx(OF_THE_GROUP[rule, statistic])


def test_every_rule_of_the_catalogue_was_worked_by_hand(request: pytest.FixtureRequest) -> None:
    worked = {
        *OF_ONE_ATTEMPT_S,
        *(rule for rule, _ in OF_THE_GROUP),
        *(rule for rule, _ in (*compat.HAND_WORKED, *compat.ABSENT)),
        *(rule for rule in COMPAT_RULES if rule.endswith(".as_mlperf_loadgen")),  # as reported
    }

    assert sorted(set(ALL_RULES) - worked - set(ELSEWHERE)) == []
    for rule, file in ELSEWHERE.items():
        text = (request.config.rootpath / file).read_text(encoding="utf-8")
        assert f'"{rule}"' in text or rule.split(".")[0] in text, rule


@pytest.mark.parametrize(
    ("rule", "low", "high"),
    # Wilson, 1 of 4: (0.25 + 0.48018) / 1.960365 -+ 1.95996 / 1.960365 sqrt(0.046875 + 0.060023).
    [("goodput.ratio", 0.0456, 0.6994), ("error_rate", 0.0456, 0.6994)],
)
def test_a_share_has_wilson_s_interval(rule: str, low: float, high: float) -> None:
    document = interpretation(
        [*ROWS, *OTHERS],
        slo=ServiceLevels(ttft_s=0.045),
        window=Window(from_ns=0, to_ns=200 * MS, chosen="asked for"),
    )

    (entry,) = [a for a in document["aggregates"] if a["rule"] == rule]
    assert entry["interval"] == pytest.approx([low, high], abs=1e-3)
    assert entry["interval_kind"] == "95% Wilson, within this start"


@pytest.mark.parametrize(
    ("slo", "held"),
    [
        (ServiceLevels(ttft_s=0.040), 1),
        (ServiceLevels(ttft_s=0.039), 0),
        (ServiceLevels(tpot_s=0.020), 1),
        (ServiceLevels(tpot_s=0.019), 0),
        (ServiceLevels(e2e_s=0.090), 1),
        (ServiceLevels(e2e_s=0.089), 0),
        (ServiceLevels(ttft_s=0.040, tpot_s=0.020, e2e_s=0.090), 1),
        (ServiceLevels(ttft_s=0.040, tpot_s=0.020, e2e_s=0.089), 0),
    ],
    ids=lambda v: v.words() if isinstance(v, ServiceLevels) else str(v),
)
def test_goodput_judges_each_declared_service_level(slo: ServiceLevels, held: int) -> None:
    document = interpretation([*ROWS, *OTHERS], slo=slo)

    (entry,) = [a for a in document["aggregates"] if a["rule"] == "goodput.ratio"]
    assert (entry["n"], entry["of"], entry["value"]) == (held, 4, held / 4)
