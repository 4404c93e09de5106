"""``assay export --otlp`` and ``--mlflow``: a run in the forms of other tools, over real sockets."""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from assay.archive.paths import Home
from assay.archive.stored_reading import StoredReading
from assay.cli.main import main
from tests.assay.archive.stored_run import stored_run

Span = dict[str, Any]


@dataclass
class Collector:
    """Keeps every request; answers as MLflow's server does, as far as an export asks it."""

    url: str = ""
    status: int = 200
    calls: list[tuple[str, str, bytes]] = field(default_factory=list)

    def answer(self, method: str, path: str) -> tuple[int, bytes]:
        if self.status != 200:
            return self.status, b'{"message": "no"}'
        if path.endswith("/get-by-name"):
            return 404, b'{"error_code": "RESOURCE_DOES_NOT_EXIST"}'
        run = {"info": {"run_id": "r1", "artifact_uri": "mlflow-artifacts:/7/r1/artifacts"}}
        found = {"/experiments/create": {"experiment_id": "7"}, "/runs/create": {"run": run}}
        return 200, json.dumps(next((v for k, v in found.items() if path.endswith(k)), {})).encode()

    def bodies(self, ending: str) -> list[Any]:
        return [json.loads(body) for _, path, body in self.calls if path.endswith(ending)]


@pytest.fixture
def collector() -> Iterator[Collector]:
    kept = Collector()

    class Handler(BaseHTTPRequestHandler):
        def _any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            path = urlsplit(self.path).path
            kept.calls.append((self.command, path, body))
            status, said = kept.answer(self.command, path)
            self.send_response(status)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        do_GET = do_POST = do_PUT = _any  # noqa: N815 - names of the base class

        def log_message(self, *_arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    kept.url = f"http://127.0.0.1:{server.server_address[1]}"
    yield kept
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def digest(assay_home: Home, tmp_path: Path) -> str:
    return stored_run(assay_home, tmp_path)


def spans_of(requests: list[Any]) -> list[Span]:
    return [
        span
        for request in requests
        for resource in request["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


def attributes(span: Span) -> dict[str, Any]:
    return {a["key"]: next(iter(a["value"].values())) for a in span["attributes"]}


def exported(digest: str, file: Path) -> list[Span]:
    assert main(["export", digest, "--otlp", str(file)]) == 0
    return spans_of([json.loads(line) for line in file.read_text("utf-8").splitlines()])


def test_every_attempt_is_a_client_span_below_its_request_below_the_run(
    digest: str, tmp_path: Path
) -> None:
    spans = exported(digest, tmp_path / "spans.jsonl")

    by_id = {span["spanId"]: span for span in spans}
    attempts = [s for s in spans if s["kind"] == 3]
    assert len(attempts) == 28
    assert len(by_id) == len(spans)
    assert len({s["traceId"] for s in spans}) == 1
    for span in attempts:
        request = by_id[span["parentSpanId"]]
        run = by_id[request["parentSpanId"]]
        assert run["name"] == "run"
        assert "parentSpanId" not in run
        for inner, outer in ((span, request), (request, run)):
            assert int(outer["startTimeUnixNano"]) <= int(inner["startTimeUnixNano"])
            assert int(inner["endTimeUnixNano"]) <= int(outer["endTimeUnixNano"])


def test_spans_bear_the_conventions_names_and_the_time_of_day(digest: str, tmp_path: Path) -> None:
    spans = exported(digest, tmp_path / "spans.jsonl")

    first = next(s for s in spans if attributes(s).get("assay.attempt_id") == "cases-0001.A1")
    found = attributes(first)
    assert first["name"] == "chat SmolLM2-135M-Instruct Q4_1"
    assert found["gen_ai.operation.name"] == "chat"
    assert found["gen_ai.provider.name"] == "torch"
    assert (found["gen_ai.usage.input_tokens"], found["gen_ai.usage.output_tokens"]) == ("64", "32")
    # created 120 ms after the origin, whose first anchor says 1 796 000 000 s
    assert first["startTimeUnixNano"] == "1796000000120000000"
    assert first["status"] == {"code": 1}
    failed = [s for s in spans if s.get("status", {}).get("code") == 2]
    assert failed
    assert all(attributes(s)["error.type"] for s in failed)


def test_no_word_of_a_prompt_or_an_answer_goes_along(
    digest: str, assay_home: Home, tmp_path: Path
) -> None:
    [folder] = (assay_home.derived / digest).iterdir()
    texts = [a["text"] for a in StoredReading(folder).whole()["attempts"] if len(a["text"]) > 8]
    assert texts

    exported(digest, tmp_path / "spans.jsonl")

    written = (tmp_path / "spans.jsonl").read_text("utf-8")
    assert not any(text in written for text in texts)


def test_the_same_run_gives_the_same_bytes(digest: str, tmp_path: Path) -> None:
    exported(digest, tmp_path / "one")
    exported(digest, tmp_path / "other")

    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


@pytest.mark.forbids
def test_a_file_is_never_written_over(
    digest: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine").write_text("kept")

    assert main(["export", digest, "--otlp", str(tmp_path / "mine")]) == 2

    assert "allowed: a new file" in capsys.readouterr().err
    assert (tmp_path / "mine").read_text() == "kept"


def test_a_collector_gets_the_same_spans_at_its_own_path(
    digest: str, tmp_path: Path, collector: Collector
) -> None:
    assert main(["export", digest, "--otlp", collector.url]) == 0

    assert {path for _, path, _ in collector.calls} == {"/v1/traces"}
    assert spans_of(collector.bodies("/v1/traces")) == exported(digest, tmp_path / "spans")


def test_a_collector_that_refuses_is_a_failure_that_says_so(
    digest: str, collector: Collector, capsys: pytest.CaptureFixture[str]
) -> None:
    collector.status = 503

    assert main(["export", digest, "--otlp", collector.url]) == 1

    assert "503" in capsys.readouterr().err


def test_a_tracker_gets_params_metrics_digests_and_the_reading(
    digest: str, assay_home: Home, collector: Collector
) -> None:
    assert main(["export", digest, "--mlflow", collector.url]) == 0

    [made] = collector.bodies("/runs/create")
    tags = {t["key"]: t["value"] for t in made["tags"]}
    assert made["experiment_id"] == "7"
    assert tags["assay.bundle_digest"] == digest
    assert tags["assay.definition_version"]
    logged = collector.bodies("/runs/log-batch")
    metrics = {m["key"]: m["value"] for part in logged for m in part.get("metrics", [])}
    params = {p["key"]: p["value"] for part in logged for p in part.get("params", [])}
    assert params["load.concurrency"] == "4"
    assert params["engine.version"] == "2.13.0"
    assert all(len(part.get("params", [])) <= 100 for part in logged)
    [folder] = (assay_home.derived / digest).iterdir()
    for one in StoredReading(folder).run()["aggregates"]:
        name = f"{one['rule']}/{one['statistic']}"
        if one["value"] is None:  # a tracker would turn it into a number
            assert name in tags["assay.absent"]
        else:
            assert name in metrics
    put = {path: body for method, path, body in collector.calls if method == "PUT"}
    stored = put["/api/2.0/mlflow-artifacts/artifacts/7/r1/artifacts/interpretation.json"]
    assert stored == (folder / "interpretation.json").read_bytes()
    assert collector.bodies("/runs/update")[0]["status"] == "FINISHED"


@pytest.mark.forbids
def test_a_tracker_without_an_address_is_refused_with_the_command_to_get_one(
    digest: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", digest, "--mlflow", "./mlruns"]) == 2

    assert "mlflow server --backend-store-uri" in capsys.readouterr().err


def test_a_bundle_that_was_never_read_names_the_command(
    digest: str, assay_home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    (assay_home.derived / digest).rename(assay_home.root / "elsewhere")

    assert main(["export", digest, "--otlp", "x"]) == 2

    assert f"assay interpret {digest}" in capsys.readouterr().err


@pytest.mark.forbids
def test_an_export_to_nowhere_is_refused(digest: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", digest]) == 2

    assert "--otlp FILE|URL" in capsys.readouterr().err
