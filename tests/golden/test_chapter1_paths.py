"""Chapter 1 of the source: critical path, what-if, lanes, clocks."""

import pytest

from assay.analysis.absence import Absent
from assay.analysis.clocks import (
    SPLIT_NEEDS,
    BoundaryResidual,
    Difference,
    Instant,
    difference,
    elapsed_ns,
    named_network,
    split_residual,
)
from assay.analysis.critical_path import (
    Stage,
    critical_path,
    gain_limit_s,
    reachable_alone,
    what_if,
)
from assay.analysis.errors import ClaimRefused
from assay.analysis.lanes import Interval, check_sum, require_checked
from tests.golden.book import Example

NS_PER_MS = 1_000_000
NS_PER_US = 1_000


def lane(starts_and_ends: list[tuple[float, float]], domain: str = "c") -> list[Interval]:
    return [
        Interval(
            name=f"interval {i}",
            start_event=f"{i}",
            end_event=f"{i + 1}",
            from_ns=round(start * NS_PER_MS),
            to_ns=round(end * NS_PER_MS),
            clock_domain=domain,
            perspective="client",
        )
        for i, (start, end) in enumerate(starts_and_ends)
    ]


def consecutive(start: float, durations: list[float]) -> list[tuple[float, float]]:
    spans = []
    for duration in durations:
        spans.append((start, start + duration))
        start += duration
    return spans


@pytest.mark.req("4.05", "4.06", "4.07")
def test_decode_what_if() -> None:
    book = Example("ch1.1.1-decode-what-if")
    stages = {
        "others": Stage(duration_s=book["e2e"] - book["decode"]),
        "decode": Stage(duration_s=book["decode"], after=("others",)),
    }

    cut = what_if(stages, "decode", book["decode"] * (1 - book["cut"]))
    floor = what_if(stages, "decode", 0.0)

    book.expect(
        saved=cut.gain_s,
        e2e_after_cut=cut.total_s,
        floor_decode_zero=floor.total_s,
        goal_reachable_by_decode_alone=reachable_alone(stages, "decode", book["goal"]),
    )
    assert gain_limit_s(stages, "decode") == pytest.approx(book["decode"])
    assert "optimistic conditional lower bound" in floor.sentence
    book.all_checked()


@pytest.mark.req("4.01", "4.09", "4.10", "4.11")
def test_critical_path_of_the_contract_review() -> None:
    book = Example("ch1.8.1-critical-path")
    stages = {
        name: Stage(duration_s=s["duration_s"], after=tuple(s["pred"]))
        for name, s in book.raw["stages"].items()
    }

    baseline = critical_path(stages)
    cut = what_if(stages, "S6", book["decode_cut"])
    zero = {**stages, "S6": Stage(duration_s=book["decode_zero"], after=stages["S6"].after)}
    at_zero = critical_path(zero)

    book.expect(
        finish_S2=baseline.finish_s["S2"],
        finish_tool=baseline.finish_s["TOOL"],
        finish_prefill=baseline.finish_s["S5"],
        e2e_baseline=baseline.total_s,
        e2e_decode_minus_30pct=cut.total_s,
        e2e_decode_zero=at_zero.total_s,
        tool_slack_min=at_zero.slack_s["TOOL"],
        tool_slack_baseline=baseline.slack_s["TOOL"],
        tool_on_critical_path_any_scenario="TOOL" in {*baseline.path, *cut.path, *at_zero.path},
        critical_path=list(baseline.path),
        blind_sum_all_rows=sum(s.duration_s for s in stages.values()),
    )
    # The blind sum of all rows is the wrong method: end to end is not it.
    assert baseline.total_s != pytest.approx(7.15)
    book.all_checked()


@pytest.mark.req("4.01", "4.09")
def test_parallel_branches_switch_the_longest_path() -> None:
    book = Example("ch1.8.1-parallel-branches")
    stages = {
        "a": Stage(duration_s=book["a"]),
        "b": Stage(duration_s=book["b"]),
        "join": Stage(duration_s=0.0, after=("a", "b")),
    }

    short = what_if(stages, "a", book["a_short"])
    long = what_if(stages, "b", book["b_short"])

    book.expect(
        join_baseline=critical_path(stages).total_s,
        join_short_branch_improved=short.total_s,
        join_long_branch_improved=long.total_s,
        gain_short=short.gain_s,
        gain_long=long.gain_s,
    )
    assert long.path_switched
    assert not short.path_switched
    book.all_checked()


@pytest.mark.req("3.06")
def test_a_sum_of_logs_may_lie_below_end_to_end() -> None:
    book = Example("ch1.2.3-log-sum-undercount")
    kernel, queue = book["kernel"], book["queue_unlogged"]

    logged = check_sum(
        lane([(queue, queue + kernel)]), start_ns=0, end_ns=(queue + kernel) * NS_PER_MS
    )

    assert logged.sum_ns is not None
    assert logged.end_minus_start_ns is not None
    book.expect(
        log_sum=logged.sum_ns / NS_PER_MS,
        true_e2e=logged.end_minus_start_ns / NS_PER_MS,
        log_sum_ge_e2e=logged.sum_ns >= logged.end_minus_start_ns,
    )
    book.all_checked()


@pytest.mark.req("3.04")
def test_a_lane_whose_sum_misses_its_cross_check_is_blocked() -> None:
    logged = check_sum(lane([(900, 1000)]), start_ns=0, end_ns=1000 * NS_PER_MS)

    with pytest.raises(ClaimRefused, match="end event minus the start event"):
        require_checked(logged)


@pytest.mark.req("3.04")
@pytest.mark.parametrize("name", ["ch1.2.3-server-lane", "ch1.2.3-client-lane"])
def test_a_lane_meets_its_cross_check(name: str) -> None:
    book = Example(name)
    spans = consecutive(book["t_start"], book["intervals"])

    checked = require_checked(
        check_sum(
            lane(spans),
            start_ns=round(book["t_start"] * NS_PER_MS),
            end_ns=round(book["t_end"] * NS_PER_MS),
        )
    )

    assert checked.sum_ns is not None
    assert checked.end_minus_start_ns is not None
    book.expect(
        lane_total=checked.sum_ns / NS_PER_MS,
        end_minus_start=checked.end_minus_start_ns / NS_PER_MS,
        cross_check_ok=checked.ok,
    )
    book.all_checked()


@pytest.mark.req("3.05")
def test_an_interval_inside_another_is_rejected_from_the_sum() -> None:
    book = Example("ch1.2.3-double-count-trap")
    client = Example("ch1.2.3-client-lane")
    intervals = lane(consecutive(client["t_start"], client["intervals"]))
    again = lane([(book["dup_start"], book["dup_end"])])
    outer = next(i for i in intervals if i.from_ns == book["outer_start"] * NS_PER_MS)

    checked = check_sum([*intervals, *again], start_ns=0, end_ns=round(client["t_end"] * NS_PER_MS))

    assert checked.sum_ns is not None
    duplicate = again[0].duration_ns / NS_PER_MS
    book.expect(
        outer=outer.duration_ns / NS_PER_MS,
        duplicate=duplicate,
        nested=any("nested in" in words for words in checked.rejected),
        wrong_total=sum(i.duration_ns for i in [*intervals, *again]) / NS_PER_MS,
        excess=duplicate,
    )
    assert checked.sum_ns / NS_PER_MS == book["lane_total"]
    assert checked.ok
    book.all_checked()


@pytest.mark.req("3.13", "3.14", "3.15", "3.16")
def test_latencies_of_two_perspectives_and_their_residual() -> None:
    book = Example("ch1.2.3-ttft-perspectives")

    def client(name: str) -> Instant:
        return Instant(t_ns=book[name] * NS_PER_MS, clock_domain="client_monotonic", error_ns=0)

    def server(name: str) -> Instant:
        return Instant(t_ns=book[name] * NS_PER_MS, clock_domain="server_monotonic", error_ns=1000)

    ttft_server = elapsed_ns(server("t_enqueued"), server("t_first_server"))
    ttft_client = elapsed_ns(client("t_send"), client("t_first_client"))
    residual = BoundaryResidual(outer_ns=ttft_client, inner_ns=ttft_server)
    before = difference(client("t_send"), server("t_enqueued"))
    split = split_residual(residual, before, SPLIT_NEEDS)
    e2e_server = elapsed_ns(server("t_enqueued"), server("t_done_server"))
    e2e_client = elapsed_ns(client("t_send"), client("t_rendered"))

    assert not isinstance(split, Absent)
    before_engine, after_first = split
    book.expect(
        ttft_server=ttft_server / NS_PER_MS,
        ttft_client=ttft_client / NS_PER_MS,
        ttft_difference=residual.value_ns / NS_PER_MS,
        before_engine=before_engine.estimate_ns / NS_PER_MS,
        after_first_token=after_first.estimate_ns / NS_PER_MS,
        difference_check=before_engine.estimate_ns + after_first.estimate_ns == residual.value_ns,
        e2e_server=e2e_server / NS_PER_MS,
        e2e_client=e2e_client / NS_PER_MS,
        e2e_difference=BoundaryResidual(outer_ns=e2e_client, inner_ns=e2e_server).value_ns
        / NS_PER_MS,
    )
    book.all_checked()


@pytest.mark.req("3.14", "3.16")
def test_a_boundary_residual_is_not_called_network() -> None:
    book = Example("ch1.8.2-boundary-residual")
    residual = BoundaryResidual(
        outer_ns=book["client"] * NS_PER_MS, inner_ns=book["engine"] * NS_PER_MS
    )

    with pytest.raises(ClaimRefused, match="boundary residual"):
        named_network(residual)

    book.expect(boundary_residual=residual.value_ns / NS_PER_MS, may_be_called_network=False)
    book.all_checked()


@pytest.mark.req("3.11")
def test_a_difference_smaller_than_its_error_has_no_point_value() -> None:
    book = Example("ch1.8.2-clock-error-interval")
    half = book["sync_error"] * NS_PER_US // 2
    sent = Instant(t_ns=0, clock_domain="a", error_ns=half)
    arrived = Instant(t_ns=book["delta"] * NS_PER_US, clock_domain="b", error_ns=half)

    found = difference(sent, arrived)

    assert isinstance(found, Difference)
    book.expect(
        interval_low=found.low_ns / NS_PER_US,
        interval_high=found.high_ns / NS_PER_US,
        point_estimate_reportable=found.point_reportable,
    )
    assert found.point_ns is None
    book.all_checked()


@pytest.mark.req("3.11")
def test_error_bounds_of_two_clocks_add() -> None:
    book = Example("ch1.8.2-epsilon-sum")

    found = difference(
        Instant(t_ns=book["t_A"], clock_domain="a", error_ns=book["eps_A"]),
        Instant(t_ns=book["t_B"], clock_domain="b", error_ns=book["eps_B"]),
    )

    assert isinstance(found, Difference)
    book.expect(
        difference=found.estimate_ns,
        half_width=found.half_width_ns,
        low=found.low_ns,
        high=found.high_ns,
    )
    book.all_checked()
