"""The session log: rows as they happen, torn ends, full disks, no gap twice."""

import errno
import json
from pathlib import Path
from typing import Any

import pytest

from runners.protocol import clocks, session_log
from runners.protocol.documents import Gap
from runners.protocol.events import SessionEvent
from runners.protocol.session_log import SessionLog

GAP = Gap(what="no trace", affects="the kernels", needed="a trace", state="open")


def test_a_row_has_event_time_and_clock_domain(tmp_path: Path) -> None:
    log = SessionLog(tmp_path / "session.jsonl")

    log.write(SessionEvent.launch, command=["engine"])

    [row] = session_log.read(tmp_path / "session.jsonl")
    assert row["event"] == "launch"
    assert row["clock_domain"] == clocks.clock_domain()
    assert row["t"].endswith("Z")
    assert row["t_ns"] > 0
    assert row["command"] == ["engine"]


@pytest.mark.req("9.06")
def test_the_same_gap_is_written_once(tmp_path: Path) -> None:
    log = SessionLog(tmp_path / "session.jsonl")

    log.gap(GAP)
    log.gap(GAP)
    log.gap({**GAP, "what": "another"})

    rows = session_log.read(tmp_path / "session.jsonl")
    assert [row["what"] for row in rows] == ["no trace", "another"]
    assert {"affects", "needed", "state"} <= rows[0].keys()


def test_a_number_that_is_no_json_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        SessionLog(tmp_path / "session.jsonl").write(SessionEvent.stop, value=float("nan"))


def test_rows_wait_in_order_while_the_disk_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = SessionLog(tmp_path / "session.jsonl")

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(log, "_append", full)
        log.write(SessionEvent.failure, stage="drive")
        log.write(SessionEvent.stop)
        with pytest.raises(OSError, match="No space"):
            log.flush()
    assert session_log.read(tmp_path / "session.jsonl") == []
    log.write(SessionEvent.sealed)

    rows = session_log.read(tmp_path / "session.jsonl")
    assert [row["event"] for row in rows] == ["failure", "stop", "sealed"]


def test_another_error_of_the_disk_is_raised(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        SessionLog(tmp_path / "none" / "session.jsonl").write(SessionEvent.stop)


@pytest.mark.parametrize(
    ("content", "kept", "cut"),
    [
        (b'{"event": "a"}\n{"eve', b'{"event": "a"}\n', 5),
        (b'{"event": "a"}\n', b'{"event": "a"}\n', 0),
        (b'{"event"', b"", 8),
        (b"", b"", 0),
        (b'{"event": "a"}\n' + b"x" * 200_000, b'{"event": "a"}\n', 200_000),
    ],
    ids=["torn", "whole", "only torn", "empty", "long torn"],
)
def test_mending_cuts_a_torn_last_line_only(
    tmp_path: Path, content: bytes, kept: bytes, cut: int
) -> None:
    path = tmp_path / "lines"
    path.write_bytes(content)

    assert session_log.mend(path) == cut
    assert path.read_bytes() == kept


def test_reading_leaves_out_what_is_no_row(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_text(json.dumps({"event": "stop"}) + '\n[1]\n{"eve')

    assert session_log.read(path) == [{"event": "stop"}]
    assert session_log.read(tmp_path / "none") == []
