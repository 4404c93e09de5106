"""``assay repeat``: the declaration again, and what may be claimed of two runs' outputs."""

import json
from pathlib import Path
from typing import Any

import pytest

from assay.archive import store
from assay.archive.paths import Home
from assay.cli.main import main
from assay.ledger.ids import uuid7
from assay.ledger.models import Bundle, Run
from runners.protocol import layout, manifest
from tests.assay.analysis.streams import delta
from tests.assay.archive import interpretable
from tests.assay.specs import queued_study

VERSION = {"item": "engine_version", "ran": {"answered": "2.13.0", "build": "6f96"}}
IDENTITY = {"artifact": None, "run": [VERSION], "complete": False, "missing": []}
HEADER = {"state": "sealed", "execution_id": None, "spec_digest": "a" * 64, "plan_digest": "b" * 64}
HOST = "480521c904df03cc"
LAST = delta("c", finish="length", ids=[3])
SMOKE = ("study=smollm2_smoke", "prediction.enabled=false")


def sealed(home: Home, folder: Path, *, last: str = LAST, host: str = HOST) -> Run:
    """A run of the small sealed bundle, perhaps with another last event or of another host."""
    wire = interpretable.wire()
    assert any(LAST.encode() in row["data"] for row in wire)
    for row in wire:
        row["data"] = _chunked(row["data"], LAST, last)
    more = {layout.HOST: json.dumps({"fingerprint": host}).encode()}
    interpretable.build(folder, wire=wire, more=more, **{layout.IDENTITY: IDENTITY})
    for name in (layout.MANIFEST, layout.MANIFEST_DIGEST):
        (folder / name).unlink()
    run: Run = queued_study().runs.get()
    digest = manifest.build(folder, header=HEADER | {"run_id": str(run.pk)})
    store.put(home, folder)
    row = Bundle.objects.create(
        digest=digest, run=run, execution_id=uuid7(), state="sealed", bytes=1, files=1, level="E2",
        identity_complete=False, sealed_at=run.created_at,
    )  # fmt: skip
    run.accepted_execution = row.execution_id
    run.save()
    return run


def _chunked(data: bytes, old: str, new: str) -> bytes:
    """The same read with another event in its chunk; both must be of one length."""
    assert len(old) == len(new)
    return data.replace(old.encode(), new.encode())


def repeat(capsys: pytest.CaptureFixture[str], *runs: Run) -> tuple[int, dict[str, Any], str]:
    first, again = runs
    code = main(["repeat", str(first.pk), "--with", str(again.pk), "--json"])
    seen = capsys.readouterr()
    return code, json.loads(seen.out), seen.err


@pytest.mark.django_db
@pytest.mark.req("5.20")
@pytest.mark.parametrize(("token", "code", "at"), [(3, 0, None), (9, 1, 2)])
def test_two_runs_of_the_same_place_are_compared_token_by_token(
    token: int,
    code: int,
    at: int | None,
    home: Home,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    first = sealed(home, tmp_path / "first")
    again = sealed(home, tmp_path / "again", last=delta("c", finish="length", ids=[token]))

    ended, found, _ = repeat(capsys, first, again)

    assert ended == code
    assert (found["level"]["level"], found["level"]["held"]) == ("numeric", code == 0)
    # the cancelled case is left out, the warm-up is not measured
    assert [(r["request"], r["at"]) for r in found["requests"]] == [("load-0001.A1", at)]


@pytest.mark.django_db
@pytest.mark.req("5.20")
@pytest.mark.forbids
def test_equal_outputs_of_another_host_claim_nothing(
    home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = sealed(home, tmp_path / "first")
    again = sealed(home, tmp_path / "again", host="another")

    ended, found, said = repeat(capsys, first, again)

    assert ended == 2
    assert found["level"] is None
    assert "repetition.hardware" in said


@pytest.mark.django_db(transaction=True)
@pytest.mark.req("5.20")
def test_without_another_run_the_same_declaration_runs_again(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", *SMOKE]) == 0
    first = Run.objects.get()

    code = main(["repeat", str(first.pk)])

    again = Run.objects.exclude(pk=first.pk).get()
    assert (again.spec_digest, again.spec) == (first.spec_digest, first.spec)
    assert again.repetition == first.repetition + 1
    assert again.state == "sealed"
    # what this runner seals names neither host nor engine: nothing is claimed of it
    assert code == 2
    assert "repetition." in capsys.readouterr().err


@pytest.mark.django_db
def test_a_run_without_a_bundle_is_refused(
    home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = sealed(home, tmp_path / "first")
    queued = queued_study(name="later").runs.get()

    code = main(["repeat", str(first.pk), "--with", str(queued.pk)])

    assert code == 2
    assert "is queued and has no bundle" in capsys.readouterr().err
