"""Every way an attempt can end, on real sockets; one attempt, one final state."""

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest

from runners.protocol.events import WireKind
from tests.runners.load.drives import Outcome, drive_against, load_of, plan_row
from tests.runners.load.servers import (
    HEAD_CHUNKED,
    Behaviour,
    Exchange,
    answer,
    answers_well,
    chunk,
    event,
    plain,
    role_event,
    says_nothing,
)


def sends(data: bytes, *, then: str = "keep") -> Behaviour:
    async def behave(exchange: Exchange) -> None:
        await exchange.send(data)
        if then == "close":
            exchange.close()
        elif then == "reset":
            await asyncio.sleep(0.02)  # let the data out before the RST overtakes it
            exchange.reset()
        elif then == "stall":
            await exchange.closed_by_client()
            exchange.close()

    return behave


HALF = HEAD_CHUNKED + chunk(event("a"))

ENDS = {
    "a chunked body": (sends(answer()), "closed", None, 200),
    "a body with a length": (sends(plain("200 OK", b"{}")), "closed", None, 200),
    "an empty body": (sends(b"HTTP/1.1 204 No Content\r\n\r\n"), "closed", None, 204),
    "a body that the close ends": (
        sends(b"HTTP/1.1 200 OK\r\n\r\ndata: x\n\n", then="close"),
        "closed",
        None,
        200,
    ),
    "a rejection": (sends(plain("429 Too Many Requests", b"{}")), "closed", None, 429),
    "an overload": (sends(plain("503 Service Unavailable", b"{}")), "closed", None, 503),
    "an announcement before the response": (
        sends(b"HTTP/1.1 100 Continue\r\n\r\n" + answer()),
        "closed",
        None,
        200,
    ),
    "a close in mid-body": (sends(HALF, then="close"), "error", "transport: closed by", 200),
    "a reset in mid-body": (sends(HALF, then="reset"), "error", "transport: ", 200),
    "a close in a body with a length": (
        sends(plain("200 OK", b"x" * 9)[:-1], then="close"),
        "error",
        "transport: ",
        200,
    ),
    "a close in mid-head": (sends(b"HTTP/1.1 20", then="close"), "error", "transport: ", None),
    "a close before a byte": (sends(b"", then="close"), "error", "connection_lost: ", None),
    "a reset before a byte": (sends(b"", then="reset"), "error", "connection_lost: ", None),
    "no HTTP at all": (sends(b"SSH-2.0-OpenSSH_9\r\n"), "error", "parse: ", None),
    "a broken chunk size": (sends(HEAD_CHUNKED + b"zz\r\n"), "error", "parse: ", 200),
    "silence": (says_nothing, "timeout", "first_byte", None),
    "a stall in mid-body": (sends(HALF, then="stall"), "timeout", "total", 200),
}


@pytest.mark.req("8.02", "8.05")
@pytest.mark.parametrize("loop", ["uvloop", "asyncio"])
@pytest.mark.parametrize("name", ENDS)
def test_each_kind_of_answer_has_its_end(name: str, loop: str, tmp_path: Path) -> None:
    behaviour, end, detail, status = ENDS[name]

    short = {"first_byte_s": 0.15, "total_s": 0.3} if end == "timeout" else {}

    outcome = drive_against(behaviour, tmp_path, load=load_of(timeouts=short), loop=loop)

    attempt = outcome.only
    assert (attempt["end"], attempt["status"]) == (end, status)
    assert (attempt["detail"] or "").startswith(detail or "")
    assert (attempt["detail"] is None) == (detail is None)
    assert outcome.report.ends == {end: 1}
    assert attempt["bytes_received"] == len(outcome.received("cases-0001.A1"))
    assert_times_in_order(attempt)


def assert_times_in_order(attempt: dict[str, Any]) -> None:
    names = ["created", "connect_start", "connected", "sent", "first_byte", "ended"]
    times = [t for n in names if (t := attempt[f"{n}_ns"]) is not None]
    assert times == sorted(times)


@pytest.mark.req("8.07")
def test_the_wait_between_reads_counts_from_the_last_one(tmp_path: Path) -> None:
    """Reads 0.1 s apart stay under a limit of 0.25 s, though together they take longer; then silence."""

    async def four_then_silence(exchange: Exchange) -> None:
        await exchange.send(HEAD_CHUNKED)
        for text in "abcd":
            await asyncio.sleep(0.1)
            await exchange.send(chunk(event(text)))
        await exchange.closed_by_client()
        exchange.close()

    outcome = drive_against(
        four_then_silence, tmp_path, load=load_of(timeouts={"between_reads_s": 0.25})
    )

    attempt = outcome.only
    assert (attempt["end"], attempt["detail"]) == ("timeout", "between_reads")
    assert len(outcome.reads[attempt["attempt_id"]]) == 5  # the head, then four events
    silent_s = (attempt["ended_ns"] - outcome.reads[attempt["attempt_id"]][-1][0]) / 1e9
    assert 0.25 <= silent_s < 0.4


@pytest.mark.req("6.03")
def test_the_raw_bytes_are_kept_as_they_came_with_their_times(tmp_path: Path) -> None:
    outcome = drive_against(answers_well, tmp_path)

    attempt = outcome.only
    assert outcome.received("cases-0001.A1") == answer()
    times = [t for t, _ in outcome.reads["cases-0001.A1"]]
    assert times[0] == attempt["first_byte_ns"]
    assert times[-1] == attempt["ended_ns"]
    assert attempt["drained_ns"] == attempt["sent_ns"]  # a small request leaves at once


def test_a_refused_connection_is_an_error_of_class_connect(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]

    outcome = drive_against(answers_well, tmp_path, base_url=f"http://127.0.0.1:{port}")

    attempt = outcome.only
    assert attempt["end"] == "error"
    assert attempt["detail"].startswith("connect: ")
    assert attempt["sent_ns"] is None
    assert attempt["connection_id"] is None
    assert outcome.server.exchanges == []


def test_a_connection_that_does_not_come_up_times_out_as_connect(tmp_path: Path) -> None:
    # A queue of one that nobody accepts from: the kernel answers no further SYN.
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        waiting = [socket.socket() for _ in range(3)]
        for s in waiting:
            s.setblocking(False)
            s.connect_ex(full.getsockname())

        outcome = drive_against(
            answers_well,
            tmp_path,
            base_url=f"http://127.0.0.1:{full.getsockname()[1]}",
            load=load_of(timeouts={"connect_s": 0.2}),
        )
        for s in waiting:
            s.close()

    attempt = outcome.only
    assert (attempt["end"], attempt["detail"]) == ("timeout", "connect")
    assert attempt["connected_ns"] is None
    assert 200e6 <= attempt["ended_ns"] - attempt["connect_start_ns"] < 20e9


@pytest.mark.req("8.07")
@pytest.mark.parametrize(
    ("waits", "detail", "start", "least_ns"),
    [
        ({"first_byte_s": 0.12, "total_s": None}, "first_byte", "sent_ns", 120e6),
        ({"first_byte_s": None, "total_s": 0.12}, "total", "created_ns", 120e6),
    ],
)
def test_a_wait_is_never_cut_short(
    waits: dict[str, float | None], detail: str, start: str, least_ns: float, tmp_path: Path
) -> None:
    outcome = drive_against(says_nothing, tmp_path, load=load_of(timeouts=waits))

    attempt = outcome.only
    assert (attempt["end"], attempt["detail"]) == ("timeout", detail)
    assert attempt["ended_ns"] - attempt[start] >= least_ns


def test_the_first_byte_wait_is_over_with_the_first_byte(tmp_path: Path) -> None:
    async def slow_after_the_head(exchange: Exchange) -> None:
        await exchange.send(HEAD_CHUNKED)
        await asyncio.sleep(0.7)
        await exchange.send(answer()[len(HEAD_CHUNKED) :])

    outcome = drive_against(
        slow_after_the_head, tmp_path, load=load_of(timeouts={"first_byte_s": 0.5})
    )

    assert outcome.only["end"] == "closed"


def test_a_time_out_closes_the_socket_so_that_the_server_can_notice(tmp_path: Path) -> None:
    noticed: list[bytes] = []

    async def waits_for_the_end(exchange: Exchange) -> None:
        noticed.append(await exchange.closed_by_client())
        exchange.close()

    drive_against(waits_for_the_end, tmp_path, load=load_of(timeouts={"first_byte_s": 0.1}))

    assert noticed == [b""]


def trickle(pieces: int, pause_s: float = 0.01) -> Behaviour:
    async def behave(exchange: Exchange) -> None:
        await exchange.send(HEAD_CHUNKED + chunk(role_event()))
        for number in range(pieces):
            await asyncio.sleep(pause_s)
            if exchange.reader.at_eof():
                break
            await exchange.send(chunk(event(f"t{number}")))
        exchange.close()

    return behave


@pytest.mark.req("9.07")
@pytest.mark.parametrize("loop", ["uvloop", "asyncio"])
def test_a_cancel_after_chunks_counts_content_and_closes_the_socket(
    loop: str, tmp_path: Path
) -> None:
    outcome = drive_against(
        trickle(200), tmp_path, rows=[plan_row(cancel_after_chunks=3)], loop=loop
    )

    attempt = outcome.only
    received = outcome.received("cases-0001.A1")
    assert (attempt["end"], attempt["detail"]) == ("cancel", "after_chunks: 3")
    assert [f"t{n}".encode() in received for n in range(4)] == [True, True, True, False]
    assert attempt["status"] == 200


def test_a_cancel_after_a_time_counts_from_the_send(tmp_path: Path) -> None:
    outcome = drive_against(trickle(200), tmp_path, rows=[plan_row(cancel_after_ns=80_000_000)])

    attempt = outcome.only
    assert (attempt["end"], attempt["detail"]) == ("cancel", "after_s: 0.08")
    assert attempt["ended_ns"] - attempt["sent_ns"] >= 80_000_000


def test_an_answer_that_ends_with_the_last_counted_chunk_was_not_cancelled(tmp_path: Path) -> None:
    outcome = drive_against(
        sends(answer(["a", "b"])), tmp_path, rows=[plan_row(cancel_after_chunks=2)]
    )

    assert outcome.only["end"] == "closed"


def test_the_drained_time_is_later_when_the_kernel_did_not_take_all_at_once(
    tmp_path: Path,
) -> None:
    prompts = {"p": {"messages": '["' + "x" * 30_000_000 + '"]', "token_ids": None}}

    outcome = _drive_with_prompts(prompts, tmp_path)

    attempt = outcome.only
    assert attempt["end"] == "closed"
    assert attempt["drained_ns"] > attempt["sent_ns"]
    assert attempt["drained_ns"] <= attempt["first_byte_ns"]


def _drive_with_prompts(prompts: dict[str, dict[str, Any]], folder: Path) -> Outcome:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.runners.load.drives.PROMPTS", prompts)
        return drive_against(answers_well, folder)


def test_ends_are_the_words_of_the_wire_protocol() -> None:
    used = {end for _, end, _, _ in ENDS.values()} | {"cancel"}

    assert used <= {kind.value for kind in WireKind}
