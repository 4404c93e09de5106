"""``assay load``: any endpoint, a sealed bundle, figures with their rules; without Django or database."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from assay.archive.paths import Home
from assay.cli.main import main
from assay.ledger.models import Run
from runners.protocol import manifest
from tests.runners.load.elsewhere import an_endpoint, of_capacity, served
from tests.runners.load.servers import plain

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
SHORT = ("--model", "small", "--concurrency", "4", "--requests", "120", "--tokens", "3")


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    return Home(tmp_path / "home")


def test_the_promised_keys_are_in_the_file_with_a_sealed_bundle(
    own_home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "r.json"
    with served(an_endpoint(of_capacity(100, 0.02))) as server:
        code = main(["load", "--url", server.url, *SHORT, "--json", str(out)])

    found: dict[str, Any] = json.loads(out.read_text())
    assert code == 0, capsys.readouterr().err
    assert (found["ok"], found["failed"]) == (120, 0)
    # each answer begins 20 ms after its request, a little more on a busy machine
    assert 20 <= found["ttft_mean"] < 200
    assert found["ttft_p99"] >= found["ttft_mean"]
    assert found["itl_p99"] >= found["itl_mean"] >= 0
    # this server counts no tokens, and chunks are no tokens: a time per token is unknown, with its reason
    assert found["tpot_mean"] is None
    assert found["absent"]["tpot_mean"]
    assert found["rules"]["ttft_mean"] == "ttft.first_content.client"
    assert found["level"] == "E1"
    assert manifest.verify(Path(found["bundle"])).ok
    assert Path(found["bundle"]) == own_home.bundle(found["bundle_digest"])
    assert not (own_home.root / "db.sqlite3").exists()
    assert not list(own_home.scratch.iterdir())


def test_show_and_verify_open_it_where_no_database_is(
    own_home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "r.json"
    with served(an_endpoint(of_capacity(100, 0.0))) as server:
        main(["load", "--url", server.url, *SHORT[:-4], "--requests", "8", "--json", str(out)])
    bundle = json.loads(out.read_text())["bundle"]
    capsys.readouterr()

    assert main(["verify", bundle]) == 0
    assert main(["show", bundle, "--json"]) == 0

    shown = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (shown["ok"], shown["state"], shown["bundle"]) == (8, "sealed", bundle)


@pytest.mark.django_db(transaction=True)
def test_registered_it_is_a_run_of_the_ledger(
    assay_home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_HOME", str(assay_home.root))
    out = tmp_path / "r.json"
    with served(an_endpoint(of_capacity(100, 0.0))) as server:
        words = ["--url", server.url, "--model", "small", "--requests", "5", "--register"]
        assert main(["load", *words, "--json", str(out)]) == 0

    run = Run.objects.get()
    assert json.loads(out.read_text())["registered_run"] == str(run.id)
    assert (run.engine_key, run.state, run.artifact) == ("openai_endpoint", "sealed", None)


def test_failed_requests_are_counted_and_the_reason_stays(own_home: Home, tmp_path: Path) -> None:
    async def busy(exchange: Any) -> None:
        await exchange.send(plain("503 Service Unavailable", b"{}"))

    out = tmp_path / "r.json"
    with served(an_endpoint(busy)) as server:
        words = ["--url", server.url, "--model", "small", "--requests", "6", "--json", str(out)]
        assert main(["load", *words]) == 0

    found = json.loads(out.read_text())
    assert (found["ok"], found["failed"]) == (0, 6)
    assert found["reconciliation"]["rejected"] == 6
    assert found["ttft_mean"] is None
    assert found["absent"]["ttft_mean"]


@pytest.mark.forbids
@pytest.mark.parametrize(
    ("words", "field"),
    [
        (["--url", "ftp://127.0.0.1", *SHORT], "engine.environment.url"),
        (["--url", "http://user:secret@127.0.0.1:1", *SHORT], "engine.environment.url"),
        (["--url", "http://127.0.0.1:1", *SHORT, "--tokens", "0"], "workload"),
        (["--url", "http://127.0.0.1:1", *SHORT, "--slo", "ttft=fast"], "--slo"),
        (
            ["--url", "http://127.0.0.1:1", *SHORT, "--authorization-env", "sk-abc"],
            "engine.settings.authorization_env",
        ),
    ],
)
def test_what_cannot_be_asked_is_refused_and_leaves_nothing(
    words: list[str], field: str, own_home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["load", *words]) == 2

    said = capsys.readouterr().err
    assert field in said
    assert "secret" not in said
    assert "sk-abc" not in said
    assert not own_home.store.exists()


def test_nobody_there_is_a_sealed_failure(own_home: Home, tmp_path: Path) -> None:
    with served(of_capacity(1, 0.0)) as server:
        url = server.url
    out = tmp_path / "r.json"

    code = main(["load", "--url", url, "--model", "small", "--requests", "2", "--json", str(out)])

    found = json.loads(out.read_text())
    assert (code, found["state"]) == (1, "failed")
    assert "no answer from" in found["reason"]
    assert manifest.verify(Path(found["bundle"])).ok


@pytest.mark.forbids
@pytest.mark.parametrize(
    ("imported", "strangers"),
    [
        ("assay.cli.load", ("django", "torch", "hydra", "scipy", "polars", "rich", "numpy")),
        ("runners.prepare, runners.session", ("django", "torch", "transformers", "scipy")),
    ],
)
def test_nothing_heavy_is_loaded_before_the_load(imported: str, strangers: tuple[str, ...]) -> None:
    code = f"import {imported}, sys; print([m for m in {strangers!r} if m in sys.modules])"

    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": f"{ROOT}/platform:{ROOT}"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.strip() == "[]"
