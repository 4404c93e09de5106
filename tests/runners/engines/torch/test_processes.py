"""What happens to a process tree when one of its parts ends. Tiny model: only the processes matter here."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.runners.engines.torch import streams
from tests.runners.engines.torch.launched import Engine, launched
from tests.runners.engines.torch.tiny import tiny_spec

pytestmark = [pytest.mark.engine, pytest.mark.fault]
ENDLESS = {"prompt": [5, 6, 7], "max_tokens": 500, "ignore_eos": True}
COMPLETIONS = "/v1/completions"


def read_all(connection: socket.socket) -> str:
    connection.settimeout(20)
    parts = []
    with contextlib.suppress(ConnectionResetError):
        while data := connection.recv(1 << 16):
            parts.append(data)
    return b"".join(parts).decode()


def slow(engine: Engine) -> None:
    """Halt the loop, so that a request stays in flight as long as a test needs it."""
    engine.loop().suspend()


def in_flight(engine: Engine, request: str, *, stream: bool) -> socket.socket:
    connection = engine.open(ENDLESS | {"stream": stream}, path=COMPLETIONS, request=request)
    engine.wait_for("first_token", request)
    slow(engine)
    assert engine.events("finished", request) == []
    return connection


def ended(engine: Engine, within_s: float) -> int:
    began = time.monotonic()
    code = engine.process.wait(within_s + 5)
    assert time.monotonic() - began < within_s
    return code


def test_a_killed_loop_ends_the_front_and_every_open_answer_says_why(
    tmp_path: Path, tiny_weights: Path
) -> None:
    with launched(tmp_path, tiny_spec(), weights=tiny_weights) as engine:
        streaming = in_flight(engine, "s1", stream=True)
        whole = engine.open(ENDLESS, path=COMPLETIONS, request="w1")
        engine.wait_for("front_received", "w1")
        time.sleep(0.2)

        engine.loop().kill()

        body = read_all(streaming)
        answer = read_all(whole)
        assert ended(engine, 5.0) == 1
    error = streams.documents(body)[-1]["error"]
    assert "the model loop ended (signal 9, SIGKILL)" in error["message"]
    assert not streams.is_done(body)
    assert answer.startswith("HTTP/1.1 500")
    assert "signal 9, SIGKILL" in answer
    assert "the model loop ended (signal 9, SIGKILL) with 2 requests in flight" in engine.log
    assert {row["state"] for row in engine.events("front_finished")} == {"failed"}
    # every line of the log is whole although its writer was killed
    assert engine.events("iteration")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_tree_within_two_seconds(
    tmp_path: Path, tiny_weights: Path, number: signal.Signals
) -> None:
    with launched(tmp_path, tiny_spec(), weights=tiny_weights) as engine:
        connection = engine.open(ENDLESS | {"stream": True}, path=COMPLETIONS, request="open")
        engine.wait_for("first_token", "open")
        members = [psutil.Process(engine.process.pid), *engine.children]

        engine.process.send_signal(number)

        assert ended(engine, 2.0) == 0
        assert not [p for p in members if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]
        body = read_all(connection)
    finished = [row["event"] for row in engine.events(request="open")]
    if "finished" not in finished:  # a tiny model may be done before the signal arrives
        assert engine.events("failed", "open")[0]["reason"].startswith("engine stopped")
        assert "the engine was stopped" in body
    assert "asked to stop by" in engine.log


def test_a_loop_that_does_not_answer_is_killed_within_two_seconds(
    tmp_path: Path, tiny_weights: Path
) -> None:
    with launched(tmp_path, tiny_spec(), weights=tiny_weights) as engine:
        connection = in_flight(engine, "open", stream=True)

        engine.process.send_signal(signal.SIGTERM)

        assert ended(engine, 2.0) == 0
        assert not any(child.is_running() for child in engine.children)
        connection.close()


def test_a_halted_loop_holds_up_no_accept_no_answer_and_no_disconnect(
    tmp_path: Path, tiny_weights: Path
) -> None:
    with launched(tmp_path, tiny_spec(), weights=tiny_weights) as engine:
        leaving = in_flight(engine, "leaves", stream=True)
        began = time.monotonic()

        assert engine.get("/health")[0] == 200
        assert engine.get("/metrics")[0] == 200
        later = engine.open(ENDLESS | {"stream": True}, path=COMPLETIONS, request="later")
        assert later.recv(12) == b"HTTP/1.1 200"
        leaving.close()
        engine.wait_for("front_disconnected", "leaves", timeout_s=2)

        assert time.monotonic() - began < 2
        assert engine.events("cancelled", "leaves") == []  # the loop cannot have heard of it yet
        engine.loop().resume()
        engine.wait_for("kv_released", "leaves")


def test_a_signal_to_every_process_at_once_is_an_orderly_end(
    tmp_path: Path, tiny_weights: Path
) -> None:
    with launched(tmp_path, tiny_spec(), weights=tiny_weights) as engine:
        engine.loop().terminate()
        time.sleep(0.02)
        engine.process.terminate()

        assert ended(engine, 2.0) == 0
    assert "front end ends with 0" in engine.log


def test_a_killed_front_ends_the_loop(tmp_path: Path, tiny_weights: Path) -> None:
    with launched(tmp_path, tiny_spec(), weights=tiny_weights) as engine:
        loop = engine.loop()

        engine.process.kill()

        loop.wait(5)
    assert not loop.is_running()
    assert "the model loop ends: front end gone" in engine.log


def test_weights_that_cannot_be_loaded_end_the_engine_with_their_reason(
    tmp_path: Path, tiny_weights: Path
) -> None:
    absent = tmp_path / "absent" / "model.safetensors"
    absent.parent.mkdir()
    shutil.copy(tiny_weights.with_name("tokenizer.json"), absent.parent)
    with launched(tmp_path / "run", tiny_spec(), weights=absent, ready=False) as engine:
        code = engine.process.wait(90)

    assert code == 1
    assert "the model loop could not start" in engine.log
    assert "the model loop ended (exit code 1)" in engine.log


def test_a_tokenizer_that_cannot_be_read_ends_both_processes(tmp_path: Path) -> None:
    weights = tmp_path / "model.safetensors"
    (tmp_path / "tokenizer.json").write_text("{}")
    with launched(tmp_path / "run", tiny_spec(), weights=weights, ready=False) as engine:
        code = engine.process.wait(30)

    assert code == 1
    assert "the tokenizer cannot be read: tokenizer.json is no tokenizer.json" in engine.log


def test_while_loading_the_engine_says_so(tmp_path: Path, tiny_weights: Path) -> None:
    with launched(tmp_path, tiny_spec(), weights=tiny_weights, ready=False) as engine:
        _until(lambda: bool(engine.process.pid) and "model loop started" in engine.log)
        slow(engine)
        _until(lambda: _answers(engine))

        status, health = engine.get("/health")
        refused, answer = engine.ask("POST", COMPLETIONS, {"model": "tiny", "prompt": "x"})

        engine.loop().resume()
    assert (status, health["status"]) == (503, "loading")
    assert (refused, answer["error"]["code"]) == (503, "loading")


def test_a_taken_port_is_named(tmp_path: Path, tiny_weights: Path) -> None:
    output = tmp_path / "second.log"
    with launched(tmp_path / "first", tiny_spec(), weights=tiny_weights) as engine:
        environment = {"PATH": os.environ["PATH"], **engine.plan.environment}
        with output.open("wb") as log:
            second = subprocess.run(
                list(engine.plan.command),
                env=environment,
                stdout=log,
                stderr=log,
                timeout=60,
                check=False,
            )

    assert second.returncode == 3
    named = f"port {engine.port} cannot be used: Address already in use"
    assert named in output.read_text()


def _answers(engine: Engine) -> bool:
    try:
        engine.get("/health")
    except OSError:
        return False
    return True


def _until(condition: Callable[[], bool], timeout_s: float = 60.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
