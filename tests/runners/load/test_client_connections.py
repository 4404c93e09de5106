"""Which connection carries an attempt, and what a stale one does to it."""

from pathlib import Path

import pytest

from tests.runners.load.certificates import self_signed
from tests.runners.load.drives import drive_against, load_of, plan_row
from tests.runners.load.servers import Exchange, answer, answers_well, plain

TWO = [plan_row(1), plan_row(2)]


def columns(outcome_attempts: dict[str, dict[str, object]], name: str) -> list[object]:
    return [attempt[name] for attempt in outcome_attempts.values()]


@pytest.mark.req("2.13")
def test_a_kept_connection_is_reused_and_its_handshake_is_not_shown_again(tmp_path: Path) -> None:
    outcome = drive_against(answers_well, tmp_path, rows=TWO)

    assert columns(outcome.attempts, "connection_reused") == [False, True]
    assert columns(outcome.attempts, "connection_id") == [1, 1]
    first, second = outcome.attempts.values()
    assert first["connected_ns"] > first["connect_start_ns"]
    assert (second["connect_start_ns"], second["connected_ns"]) == (None, None)
    assert outcome.server.exchanges[0].headers["connection"] == "keep-alive"


@pytest.mark.req("2.13")
def test_without_reuse_every_request_opens_a_connection_and_shows_its_handshake(
    tmp_path: Path,
) -> None:
    outcome = drive_against(answers_well, tmp_path, rows=TWO, load=load_of(connection_reuse=False))

    assert columns(outcome.attempts, "connection_reused") == [False, False]
    assert all(a["connected_ns"] > a["connect_start_ns"] for a in outcome.attempts.values())
    assert outcome.server.connections == 2
    assert outcome.server.exchanges[0].headers["connection"] == "close"


def test_a_server_that_says_close_is_asked_on_a_new_connection(tmp_path: Path) -> None:
    async def says_close(exchange: Exchange) -> None:
        await exchange.send(plain("200 OK", b"{}", "Connection: close"))

    outcome = drive_against(says_close, tmp_path, rows=TWO)

    assert columns(outcome.attempts, "connection_reused") == [False, False]


def test_a_connection_that_closed_while_idle_is_not_used(tmp_path: Path) -> None:
    async def closes_after_the_answer(exchange: Exchange) -> None:
        await exchange.send(answer())
        exchange.close()

    outcome = drive_against(
        closes_after_the_answer,
        tmp_path,
        rows=[plan_row(1, "load", slot=0), plan_row(2, "load", slot=0)],
        load=load_of(think_time_s=0.1),
    )

    assert columns(outcome.attempts, "end") == ["closed", "closed"]
    assert columns(outcome.attempts, "connection_reused") == [False, False]


async def closes_under_reuse(exchange: Exchange) -> None:
    """Answers the first request; closes the connection when the second one arrives on it."""
    if exchange.number == 1:
        exchange.close()
    else:
        await exchange.send(answer())


def test_a_stale_connection_closed_under_reuse_is_a_class_of_its_own(tmp_path: Path) -> None:
    outcome = drive_against(closes_under_reuse, tmp_path, rows=TWO)

    stale = outcome.attempts["cases-0002.A1"]
    assert stale["end"] == "error"
    assert stale["detail"].startswith("connection_lost_reused: ")
    assert set(outcome.attempts) == {"cases-0001.A1", "cases-0002.A1"}  # not retried unasked


@pytest.mark.req("8.16", "8.20")
def test_a_declared_retry_keeps_the_stale_attempt_beside_the_new_one(tmp_path: Path) -> None:
    outcome = drive_against(
        closes_under_reuse, tmp_path, rows=TWO, load=load_of(retry={"count": 1})
    )

    stale, again = outcome.attempts["cases-0002.A1"], outcome.attempts["cases-0002.A2"]
    assert stale["detail"].startswith("connection_lost_reused: ")
    assert (again["end"], again["retry_of"]) == ("closed", "cases-0002.A1")
    assert again["connection_reused"] is False
    assert (outcome.report.created, outcome.report.attempts) == (2, 3)
    assert [e.attempt_id for e in outcome.server.exchanges] == list(outcome.attempts)


def test_bytes_that_nobody_asked_for_are_kept_and_end_the_reuse(tmp_path: Path) -> None:
    async def says_too_much(exchange: Exchange) -> None:
        await exchange.send(answer() + b"HTTP/1.1 200 OK\r\n")

    outcome = drive_against(says_too_much, tmp_path, rows=TWO)

    assert columns(outcome.attempts, "end") == ["closed", "closed"]
    assert columns(outcome.attempts, "connection_reused") == [False, False]
    assert outcome.received("cases-0001.A1").endswith(b"HTTP/1.1 200 OK\r\n")


def test_a_certificate_that_nobody_signed_is_an_error_of_class_tls(tmp_path: Path) -> None:
    outcome = drive_against(answers_well, tmp_path, tls=self_signed(tmp_path))

    attempt = outcome.only
    assert attempt["end"] == "error"
    assert attempt["detail"].startswith("tls: ")
    assert outcome.server.exchanges == []


def test_a_trusted_certificate_lets_the_request_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = self_signed(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))

    outcome = drive_against(answers_well, tmp_path, tls=context, rows=TWO)

    assert columns(outcome.attempts, "end") == ["closed", "closed"]
    assert columns(outcome.attempts, "connection_reused") == [False, True]
