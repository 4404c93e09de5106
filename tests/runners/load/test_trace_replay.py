"""Recorded traces: read in their own formats, pinned, and replayed at their own distances."""

import hashlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.load.schedule import schedule
from runners.load.trace_formats import TraceRow, read_rows
from runners.load.trace_replay import open_trace, replay
from runners.protocol.errors import EnvironmentLacks, Refused

MOONCAKE = """{"timestamp": 0, "input_length": 6758, "output_length": 500, "hash_ids": [0, 1, 2]}
{"timestamp": 3000, "input_length": 7322, "output_length": 490, "hash_ids": [0, 14, 15]}
"""
AZURE = """TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:17:03.9799600,4808,10
2023-11-16 18:17:04.0319600,3180,8
"""
AZURE_2024 = """TIMESTAMP,ContextTokens,GeneratedTokens
2024-05-10 00:00:00.009930+00:00,2162,5
2024-05-10 00:00:01+00:00,2399,6
"""
BURSTGPT = """Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type
5,ChatGPT,472,18,490,Conversation log
45.5,ChatGPT,1087,0,1087,Conversation log
"""
MS, S = 1_000_000, 1_000_000_000


def rows(text: str, trace_format: str) -> list[TraceRow]:
    return list(read_rows(text.splitlines(keepends=True), trace_format=trace_format, file="t"))


def trace(**changes: Any) -> dict[str, Any]:
    return {
        "path": "t",
        "sha256": "",
        "format": "mooncake",
        "speed": 1.0,
        "start_s": 0.0,
        "lengths": "trace",
        "max_input_tokens": None,
        "max_output_tokens": None,
        "empty_rows": "refuse",
        **changes,
    }


def test_mooncake_counts_milliseconds_and_names_its_blocks() -> None:
    first, second = rows(MOONCAKE, "mooncake")

    assert (first.t_ns, first.input_tokens, first.output_tokens) == (0, 6758, 500)
    assert (second.t_ns, second.blocks) == (3 * S, (0, 14, 15))


def test_azure_keeps_all_seven_digits_of_its_seconds() -> None:
    first, second = rows(AZURE, "azure")

    # 18:17:03.97996 to 18:17:04.03196
    assert second.t_ns - first.t_ns == 52 * MS
    assert first.t_ns % S == 979_960_000
    assert (first.input_tokens, first.output_tokens) == (4808, 10)


def test_azure_of_2024_is_read_with_its_zone() -> None:
    first, second = rows(AZURE_2024, "azure")

    assert second.t_ns - first.t_ns == 990_070_000


def test_burstgpt_counts_seconds() -> None:
    first, second = rows(BURSTGPT, "burstgpt")

    assert (first.t_ns, second.t_ns) == (5 * S, 45_500 * MS)
    assert (second.input_tokens, second.output_tokens) == (1087, 0)


@pytest.mark.forbids
@pytest.mark.parametrize(
    ("text", "trace_format", "named"),
    [
        (MOONCAKE + "not json\n", "mooncake", r"t:3: not json"),
        (MOONCAKE + "[1]\n", "mooncake", r"t:3: \[1\]"),
        (MOONCAKE + '{"timestamp": -1}\n', "mooncake", r"t:3 timestamp: -1"),
        (MOONCAKE + '{"timestamp": 1e999}\n', "mooncake", r"t:3 timestamp: inf"),
        (MOONCAKE + '{"timestamp": "1e999999"}\n', "mooncake", r"t:3 timestamp: 1e999999"),
        (MOONCAKE + '{"timestamp": true}\n', "mooncake", r"t:3 timestamp: True"),
        (
            MOONCAKE + '{"timestamp": 1, "input_length": 1.5}\n',
            "mooncake",
            r"t:3 input_length: 1\.5",
        ),
        (
            MOONCAKE + '{"timestamp": 1, "input_length": 1, "output_length": null}\n',
            "mooncake",
            r"t:3 output_length: None",
        ),
        (
            '{"timestamp": 1, "input_length": 1, "output_length": 1, "hash_ids": ["a"]}',
            "mooncake",
            r"t:1 hash_ids: \['a'\]",
        ),
        (AZURE + "yesterday,1,1\n", "azure", r"t:4 TIMESTAMP: yesterday"),
        (AZURE + "2023-13-16 18:17:03.0,1,1\n", "azure", r"t:4 TIMESTAMP: 2023-13-16"),
        (AZURE + "2023-11-16 18:17:03.0,x,1\n", "azure", r"t:4 ContextTokens: x"),
        (AZURE + "2023-11-16 18:17:03.0,1\n", "azure", r"t:4: .*3 cells"),
        (AZURE, "burstgpt", r"t:1: TIMESTAMP,ContextTokens"),
        ("", "azure", r"t:1: nothing"),
        (BURSTGPT + "nan,m,1,1,2,x\n", "burstgpt", r"t:4 Timestamp: nan"),
        (BURSTGPT + "1,m,99999999999,1,2,x\n", "burstgpt", r"t:4 Request tokens: 99999999999"),
    ],
)
def test_a_garbage_row_is_refused_by_file_line_field_and_value(
    text: str, trace_format: str, named: str
) -> None:
    with pytest.raises(Refused, match=named):
        rows(text, trace_format)


@given(st.text(), st.sampled_from(["mooncake", "azure", "burstgpt"]))
def test_any_text_is_read_or_refused(text: str, trace_format: str) -> None:
    head = {"azure": AZURE, "burstgpt": BURSTGPT, "mooncake": ""}[trace_format]

    named, found = "load.trace: t:", []
    try:
        found = rows(head + text, trace_format)
    except Refused as refusal:
        named = refusal.finding.field

    assert named.startswith("load.trace: t:")
    assert all(row.t_ns >= 0 for row in found)


def row(t_s: float, line: int, input_tokens: int = 10, output_tokens: int = 5) -> TraceRow:
    return TraceRow(
        line=line,
        t_ns=round(t_s * S),
        input_tokens=input_tokens,
        output_tokens=output_tokens,
    )


def test_unsorted_rows_are_sorted_and_equal_times_keep_their_order() -> None:
    given_rows = [row(3, 1, 31), row(1, 2, 11), row(3, 3, 32), row(2, 4, 21)]

    found = replay(given_rows, trace(), requests=9)

    assert [r.offset_ns // S for r in found.requests] == [0, 1, 2, 2]
    assert [r.input_tokens for r in found.requests] == [11, 21, 31, 32]


def test_speed_start_and_limit() -> None:
    given_rows = [row(t, t) for t in (10, 11, 12, 14, 18)]

    found = replay(given_rows, trace(speed=2.0, start_s=1.5), requests=2)

    # the trace begins at 10 s: from 11.5 s on; 12 and 14 are 2 s apart, at twice the speed 1 s
    assert [r.offset_ns for r in found.requests] == [0, S]
    assert found.summary() == {"rows": 5, "empty_rows_left_out": 0, "lengths_cut": 0}


@given(
    st.lists(st.integers(0, 10**15), min_size=1, max_size=50),
    st.floats(min_value=0.01, max_value=100),
)
def test_any_replay_is_in_order_from_zero_with_its_distances_scaled(
    times_ns: list[int], speed: float
) -> None:
    given_rows = [
        TraceRow(line=n, t_ns=t, input_tokens=1, output_tokens=1) for n, t in enumerate(times_ns)
    ]

    offsets = [r.offset_ns for r in replay(given_rows, trace(speed=speed), requests=99).requests]

    assert offsets == sorted(offsets)
    assert offsets[0] == 0
    assert offsets[-1] == pytest.approx((max(times_ns) - min(times_ns)) / speed, abs=1, rel=1e-9)


def test_lengths_are_the_traces_own_cut_where_that_is_declared() -> None:
    given_rows = [row(0, 1, 900, 3), row(1, 2, 20, 40)]

    found = replay(given_rows, trace(max_input_tokens=100, max_output_tokens=30), requests=9)

    assert [(r.input_tokens, r.output_tokens) for r in found.requests] == [(100, 3), (20, 30)]
    assert found.cut == 2


def test_without_lengths_of_its_own_a_trace_gives_times_alone() -> None:
    found = replay([row(0, 1, 0, 0)], trace(lengths="workload"), requests=9)

    assert [(r.input_tokens, r.output_tokens) for r in found.requests] == [(None, None)]


def test_empty_rows_are_refused_or_left_out_and_counted() -> None:
    given_rows = [row(0, 2, 10, 0), row(1, 3)]

    with pytest.raises(Refused, match=r"t:2: 10 input and 0 output tokens"):
        replay(given_rows, trace(), requests=9)
    found = replay(given_rows, trace(empty_rows="skip"), requests=9)
    assert (len(found.requests), found.left_out) == (1, 1)


def test_a_start_behind_the_end_is_refused() -> None:
    with pytest.raises(Refused, match=r"load\.trace\.start_s"):
        replay([row(0, 1)], trace(start_s=5.0), requests=1)


def file_of(folder: Path, text: str = MOONCAKE) -> dict[str, Any]:
    path = folder / "trace.jsonl"
    path.write_text(text, encoding="utf-8")
    digest = hashlib.sha256(text.encode()).hexdigest()
    return {"kind": "trace", "trace": trace(path=str(path), sha256=digest)}


def test_a_pinned_file_below_an_allowed_root_is_read(tmp_path: Path) -> None:
    assert len(open_trace(file_of(tmp_path), roots=[tmp_path])) == 2
    assert open_trace({"kind": "poisson", "trace": None}, roots=[]) == []


@pytest.mark.forbids
def test_a_file_elsewhere_is_not_opened_not_even_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "allowed").mkdir()
    load = file_of(tmp_path)
    (tmp_path / "allowed" / "link").symlink_to(load["trace"]["path"])

    for path in (load["trace"]["path"], f"{tmp_path}/allowed/link", f"{tmp_path}/allowed/../x"):
        load["trace"]["path"] = path
        with pytest.raises(Refused, match=r"load\.trace\.path"):
            open_trace(load, roots=[tmp_path / "allowed"])


@pytest.mark.forbids
def test_a_file_that_is_not_the_pinned_one_is_refused_before_its_rows_are(tmp_path: Path) -> None:
    load = file_of(tmp_path)
    Path(load["trace"]["path"]).write_text("garbage", encoding="utf-8")

    with pytest.raises(Refused, match=r"load\.trace\.sha256"):
        open_trace(load, roots=[tmp_path])


def test_a_file_that_is_not_there_is_something_the_machine_lacks(tmp_path: Path) -> None:
    load = {"kind": "trace", "trace": trace(path=str(tmp_path / "none"))}

    with pytest.raises(EnvironmentLacks, match="is not there"):
        open_trace(load, roots=[tmp_path])


# In the plan


def document(**load: Any) -> dict[str, Any]:
    return {
        "load": {"kind": "poisson", "rate_per_s": 2.0, "seed": 1, **load},
        "workload": {"requests": 4},
    }


def test_a_profile_that_needs_more_requests_than_are_planned_is_refused() -> None:
    stages = [
        {
            "rate_per_s": 5.0,
            "concurrency": None,
            "duration_s": 1.0,
            "requests": None,
            "spacing": "even",
        }
    ]

    with pytest.raises(Refused, match=r"workload\.requests: 4 \(allowed: at least 5"):
        schedule(document(kind="staged", stages=stages))
    stages[0]["duration_s"] = 0.6
    # 5 a second for 0.6 s: 0, 0.2, 0.4
    assert [p.offset_ns for p in schedule(document(kind="staged", stages=stages)).requests] == [
        0,
        200 * MS,
        400 * MS,
    ]


def test_a_trace_gives_the_plan_its_times_and_lengths() -> None:
    found = schedule(document(kind="trace", trace=trace()), rows(MOONCAKE, "mooncake"))

    assert [(p.offset_ns, p.input_tokens, p.blocks) for p in found.requests] == [
        (0, 6758, (0, 1, 2)),
        (3 * S, 7322, (0, 14, 15)),
    ]
    assert found.notes["rows"] == 2
