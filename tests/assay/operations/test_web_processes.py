"""Several web processes tell of all of them, whichever is asked."""

import socket
import time
import urllib.request
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.stacks import Stack

ASKED = 12


def get(port: int, path: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
        text: str = answer.read().decode()
    return text


def wait_until_it_answers(port: int, stack: Stack) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            get(port, "/healthz")
        except OSError:
            time.sleep(0.3)
        else:
            return
    raise AssertionError(stack.logs())


@pytest.mark.slow
def test_latencies_of_all_web_processes_are_told_by_any(tmp_path: Path) -> None:
    stack = Stack(home=tmp_path / "home", variables={})
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    stack.start("web", "--port", str(port), "--workers", "2")
    try:
        wait_until_it_answers(port, stack)
        for _ in range(ASKED):
            get(port, "/healthz")
        text = get(port, "/metrics")
    finally:
        stack.stop()

    counted = {
        sample.labels["route"]: sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "assay_http_seconds_count"
    }
    assert counted["healthz"] == ASKED + 1
    assert len(list((stack.home / "tmp" / "metrics").glob("*.db"))) >= 1
