"""Whole runs against an endpoint that the test runs: nothing is launched, and what is not seen is said."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from runners.protocol import layout, manifest
from tests.runners.engines.openai_endpoint.declared import spec
from tests.runners.engines.openai_endpoint.performed import perform
from tests.runners.load.certificates import self_signed
from tests.runners.load.elsewhere import an_endpoint, served
from tests.runners.load.servers import Exchange, answers_well, event, plain

pytestmark = pytest.mark.slow

KEY = "assay-test-key-0123456789"


def test_a_run_against_an_endpoint_is_sealed_at_level_e1(tmp_path: Path) -> None:
    with served(an_endpoint(answers_well)) as server:
        done = perform(spec(f"{server.url}/v1"), tmp_path)

    assert (done.code, done.answer["state"]) == (0, "sealed"), done.errors
    assert manifest.verify(done.bundle).ok
    assert manifest.read(done.bundle)["level"] == "E1"
    attempts = pq.read_table(done.bundle / layout.ATTEMPTS)
    assert attempts["end"].to_pylist() == ["closed"] * 4
    posted = [e for e in server.exchanges if e.head.startswith("POST")]
    assert [e.head.split()[1] for e in posted] == ["/v1/chat/completions"] * 4
    assert {e.document["model"] for e in posted} == {"small"}
    assert not any("return_token_ids" in e.document for e in posted)


@pytest.mark.forbids
@pytest.mark.req("7.15")
def test_what_nobody_saw_is_a_gap_and_never_filled_in(tmp_path: Path) -> None:
    with served(an_endpoint(answers_well)) as server:
        done = perform(spec(server.url), tmp_path)

    identity = done.document(layout.IDENTITY)
    assert identity["artifact"] is None
    assert identity["missing"][0] == "artifact"
    whats = " | ".join(row["what"] for row in done.rows("gap"))
    for part in ("server ledger: not evidenced", "artifact identity", "declared in words"):
        assert part in whats
    [launch] = done.rows("launch")
    assert launch["command"] is None
    assert launch["addresses"] == ["127.0.0.1"]
    assert not done.rows("release_check")


def test_the_stated_version_is_read_back(tmp_path: Path) -> None:
    with served(an_endpoint(answers_well)) as server:
        done = perform(spec(server.url), tmp_path)

    [identified] = done.rows("identified")
    assert identified["version"] == "1.2.3"
    assert done.document(layout.IDENTITY)["run"][0]["ran"]["version"] == "1.2.3"


def test_a_pin_that_is_not_what_runs_there_ends_the_run_before_a_request(tmp_path: Path) -> None:
    with served(an_endpoint(answers_well)) as server:
        declared = spec(server.url)
        declared["engine"]["version"] = "9.9.9"
        done = perform(declared, tmp_path)

    assert (done.code, done.answer["state"]) == (1, "failed")
    assert "it states 1.2.3, pin says 9.9.9" in done.answer["reason"]
    assert not [e for e in server.exchanges if e.head.startswith("POST")]


@pytest.mark.forbids
def test_a_host_that_is_not_allowed_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    done = perform(spec("http://models.example:8000"), tmp_path)

    assert done.code == 2
    assert [f["field"] for f in done.answer["findings"]] == ["engine.environment.url"]
    assert not done.out.exists()


@pytest.mark.forbids
def test_the_key_comes_from_the_environment_and_reaches_no_file(tmp_path: Path) -> None:
    async def echoes_the_key(exchange: Exchange) -> None:
        body = event(exchange.headers["authorization"]) + b"data: [DONE]\n\n"
        await exchange.send(plain("200 OK", body, "Content-Type: text/event-stream"))

    with served(an_endpoint(echoes_the_key)) as server:
        declared = spec(server.url, authorization_env="ASSAY_TEST_KEY")
        done = perform(declared, tmp_path, environment={"ASSAY_TEST_KEY": KEY})

    assert done.code == 0, done.errors
    assert {e.headers["authorization"] for e in server.exchanges} == {f"Bearer {KEY}"}
    wire = b"".join(
        data
        for path in (done.bundle / layout.WIRE_FOLDER).glob("*.parquet")
        for data in pq.read_table(path)["data"].to_pylist()
    )
    assert KEY.encode() not in wire
    assert b"[DONE]" in wire
    for path in done.out.rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path


def test_a_key_that_is_not_set_is_what_the_machine_lacks(tmp_path: Path) -> None:
    done = perform(spec(authorization_env="ASSAY_TEST_NO_KEY"), tmp_path)

    assert done.code == 3
    assert "export ASSAY_TEST_NO_KEY" in done.errors


def test_tls_is_verified_for_requests_too(tmp_path: Path) -> None:
    context = self_signed(tmp_path)
    with served(an_endpoint(answers_well), tls=context) as server:
        url = server.url.replace("http:", "https:")
        (tmp_path / "trusted").mkdir()
        trusted = perform(
            spec(url),
            tmp_path / "trusted",
            environment={"SSL_CERT_FILE": str(tmp_path / "cert.pem")},
        )
        (tmp_path / "unknown").mkdir()
        unknown = perform(spec(url), tmp_path / "unknown")

    assert trusted.answer["state"] == "sealed", trusted.errors
    assert unknown.answer["state"] == "failed"
    assert "CERTIFICATE_VERIFY_FAILED" in unknown.answer["reason"]
