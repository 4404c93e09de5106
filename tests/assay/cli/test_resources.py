"""``assay resources``: what a run had to run on."""

import json
from pathlib import Path

import pytest

from assay.archive.paths import Home
from assay.cli.main import main
from runners.protocol import layout
from tests.assay.cli.indexed import indexed_run

FACTS = {
    "memory_total_bytes": {"value": 2**34, "unit": "byte", "source": "/proc/meminfo"},
    "nvidia_driver": {"value": None, "reason": "no NVIDIA driver is loaded", "source": "/proc"},
}


@pytest.mark.django_db
@pytest.mark.req("12.02")
def test_the_verb_shows_entries_of_every_class_with_their_reasons(
    home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    host = json.dumps({"facts": FACTS}).encode()
    run = indexed_run(home, tmp_path, more={layout.HOST: host})

    assert main(["resources", str(run.id), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["run"] == str(run.id)
    assert {entry["resource"] for entry in found["entries"]} >= {"host_memory", "storage"}

    assert main(["resources", str(run.id)]) == 0
    text = capsys.readouterr().out
    assert "16.00 GiB" in text
    assert "memory by phase" in text


@pytest.mark.django_db
def test_an_unknown_run_is_refused(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["resources", "0123456"]) == 2

    assert "run:" in capsys.readouterr().err
