"""Costs on the host's side, each with its own evidence."""

from dataclasses import replace

import pytest

from assay.analysis.events import Fact
from assay.analysis.observed import ObservedStep, StepPhase
from assay.analysis.resources.documents import HostCost
from assay.analysis.resources.host_costs import RequestCosts, host_costs
from assay.analysis.resources.readings import Reading, Window
from assay.analysis.server_record import Mark, ServerRecord

WINDOW = Window(name="steady", from_ns=0, to_ns=10_000)
STEP = ObservedStep(
    number=0, start_ns=0, duration_ns=100, phase=StepPhase.decode, batch=1, tokens_in=1, tokens_out=1,
    prefill_tokens=0, decode_tokens=1, context_tokens=10, decode_context_tokens=10,
    recomputed_tokens=0, segment="load", running=1, waiting=0, kv_used_blocks=1, kv_total_blocks=8,
)  # fmt: skip


def record(**times_ns: int) -> ServerRecord:
    found = ServerRecord(attempt_id="a", clock_domain="c", error_ns=0)
    found.marks = {Fact(name): Mark(t_ns, None) for name, t_ns in times_ns.items()}
    return found


def engine(metric: str, pid: int, *values: tuple[int, float]) -> list[Reading]:
    return [
        Reading(t_ns=t_ns, subject="engine", pid=pid, metric=metric, value=value)
        for t_ns, value in values
    ]


def costs(
    requests: RequestCosts | None = None,
    steps: list[ObservedStep] | None = None,
    readings: list[Reading] | None = None,
    nodes: int = 2,
) -> dict[str, HostCost]:
    found = host_costs(
        requests or RequestCosts(),
        steps or [],
        readings or [],
        {"numa_nodes": {"value": nodes}},
        WINDOW,
    )
    return {row["cost"]: row for row in found}


@pytest.mark.req("12.11")
def test_preprocessing_assembly_and_output_are_three_costs() -> None:
    requests = RequestCosts()
    requests.take(record(received=0, queued=3_000_000, first_token=9_000_000, written=9_500_000))
    requests.take(record(received=0, queued=1_000_000))
    requests.take(None)
    # steps of 100 ns; the second starts 20 ns after the first, the third after a wait for a new request
    starting = replace(STEP, start_ns=5_000, decode_tokens=0, prefill_tokens=4)
    steps = [STEP, replace(STEP, start_ns=120), starting]

    found = costs(requests, steps)

    preprocessing = found["preprocessing"]
    assert (preprocessing["n"], preprocessing["median"]) == (2, pytest.approx(2e-3))
    assert found["output serialisation"]["total"] == pytest.approx(0.5e-3)
    assembly = found["batch assembly and scheduling"]
    assert (assembly["n"], assembly["median"]) == (1, pytest.approx(20e-9))


@pytest.mark.req("12.11")
def test_faults_are_counted_and_held_against_step_times_by_interval() -> None:
    # six intervals of 1000 ns; faults and step times grow together: rank correlation 1
    totals = [0.0, 1.0, 3.0, 7.0, 15.0, 31.0, 63.0]
    readings = engine("page_faults", 7, *((n * 1000, total) for n, total in enumerate(totals)))
    steps = [replace(STEP, start_ns=n * 1000 + 1, duration_ns=100 + n) for n in range(6)]

    found = costs(steps=steps, readings=readings)["page faults of the engine"]

    assert (found["total"], found["n"]) == (63.0, 6)
    assert found["coincides"] is not None
    assert found["coincides"]["spearman"] == pytest.approx(1.0)
    assert found["coincides"]["n"] == 6


@pytest.mark.req("12.11")
def test_a_busy_host_is_no_judgement_without_variation_in_time() -> None:
    # many faults, always as many: nothing coincides, and no verdict is drawn from the amount
    readings = engine("page_faults", 7, *((n * 1000, 1e6 * n) for n in range(7)))
    steps = [replace(STEP, start_ns=n * 1000 + 1, duration_ns=100 + n) for n in range(6)]

    found = costs(steps=steps, readings=readings)["page faults of the engine"]

    assert (found["total"], found["coincides"]) == (6e6, None)


def test_what_no_evidence_shows_is_null_with_its_reason() -> None:
    found = costs(nodes=1)

    assert all(row["total"] is None and row["reason"] for row in found.values())
    assert found["NUMA access"]["reason"] == "one NUMA node: no access crosses sockets here"
    assert "counters" in str(costs(nodes=2)["NUMA access"]["reason"])


def test_processes_that_come_and_go_add_what_they_grew() -> None:
    readings = [
        *engine("major_faults", 1, (0, 5.0), (1000, 6.0), (2000, 8.0)),
        *engine("major_faults", 2, (1001, 100.0), (2001, 110.0)),
    ]

    found = costs(readings=readings)["major page faults of the engine"]

    # 1 + 2 of the first process, 10 of the second; its 100 at the start are none of this window
    assert found["total"] == 13.0
