"""What an engine inherits, and what is asked of it before it is trusted."""

import asyncio
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from runners.evidence import endpoint, launch, trace
from runners.evidence.environment_checks import free_port
from runners.evidence.processes import MARK
from runners.protocol.errors import RunFailed


class Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = {"/version": b'{"version": "2.0"}', "/odd": b"<html>"}.get(self.path)
        self.send_response(200 if body else 500)
        self.end_headers()
        self.wfile.write(body or b"")

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def base_url() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_an_engine_inherits_only_what_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.setenv("MY_EDITOR", "vi")
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    monkeypatch.setenv("OTHER_TOKEN", "not declared")

    environment = launch.engine_environment(
        {"OMP_NUM_THREADS": "2", "PATH": "/engine/bin"},
        execution_id="e1",
        secret_names=["HF_TOKEN"],
    )

    assert environment["CUDA_VISIBLE_DEVICES"] == "0"
    assert environment["HF_TOKEN"] == "hf_secret"  # declared, so the engine may have it
    assert environment["PATH"] == "/engine/bin"  # the adapter's word counts
    assert environment[MARK] == "e1"
    assert environment["PYTHONPATH"].split(":")[0] == str(launch.ROOT)
    assert not {"MY_EDITOR", "OTHER_TOKEN"} & environment.keys()


def test_the_version_is_read_back(base_url: str) -> None:
    version = asyncio.run(launch.read_back_version(base_url=base_url, path="/version", pin="2.0"))

    assert version == "2.0"


@pytest.mark.forbids
@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/version", "version is 2.0, pin says 3.0"),
        ("/odd", "/odd gave status 200 without a version"),
        ("/broken", "/broken gave status 500 without a version"),
    ],
)
def test_an_engine_that_is_not_the_pinned_one_is_refused(
    base_url: str, path: str, said: str
) -> None:
    with pytest.raises(RunFailed, match=said):
        asyncio.run(launch.read_back_version(base_url=base_url, path=path, pin="3.0"))


class Silent:
    """An engine that has nothing more to say."""

    def last_words(self, count: int = 12) -> list[str]:
        return ["EngineDeadError"]


def test_an_engine_whose_inside_died_is_not_healthy_when_the_last_request_is_over(
    base_url: str,
) -> None:
    gone = f"http://127.0.0.1:{free_port(None)}"

    asyncio.run(launch.check_answers(Silent(), base_url=base_url, path="/version"))  # type: ignore[arg-type]

    for url, path in ((base_url, "/broken"), (gone, "/version")):
        with pytest.raises(RunFailed, match="no longer healthy after the last request") as failed:
            asyncio.run(launch.check_answers(Silent(), base_url=url, path=path))  # type: ignore[arg-type]
        assert "EngineDeadError" in failed.value.finding.seen


def test_nobody_listening_is_an_error_in_words_and_no_status() -> None:
    reply = endpoint.ask(f"http://127.0.0.1:{free_port(None)}", "/health", timeout_s=2)

    assert (reply.ok, reply.status) == (False, None)
    assert "refused" in str(reply.error)


def test_a_profiler_that_says_no_is_told_in_words(base_url: str) -> None:
    accepted = asyncio.run(trace.call(base_url, ("POST", "/version", {}), is_stop=False))
    refused = asyncio.run(trace.call(base_url, ("POST", "/stop_profile", {}), is_stop=True))

    assert accepted is None
    assert refused == "POST /stop_profile: status 500"


@pytest.mark.parametrize(
    ("code", "words"),
    [(0, "exit code 0"), (3, "exit code 3"), (-9, "killed by SIGKILL"), (None, "nobody saw how")],
)
def test_the_end_of_a_process_in_words(code: int | None, words: str) -> None:
    assert launch.ending(code) == words
