"""``assay calibrate`` over the runs of an indexed scan."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from assay.archive.paths import Home
from assay.archive.scan_runs import ScanRun
from assay.archive.stored_reading import StoredReading
from assay.cli.main import main
from assay.ledger.ids import uuid7
from assay.ledger.indexing import index_interpretation
from assay.ledger.models import Bundle, Run
from tests.assay.archive import made_scan
from tests.assay.specs import queued_study

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def scanned(home: Home) -> list[Run]:
    """The made scan, indexed as the finished runs of one study."""
    made_scan.measured_host(home)
    found = made_scan.cells(home)
    runs = list(queued_study(len(found), name="made_scan").runs.order_by("position"))
    for run, one in zip(runs, found, strict=True):
        _index(home, run, one)
    return runs


def _index(home: Home, run: Run, one: ScanRun) -> None:
    built = next(
        f
        for f in (home.root / "made").iterdir()
        if (f / "manifest.sha256").read_text().strip() == one.bundle
    )
    home.bundle(one.bundle).parent.mkdir(parents=True, exist_ok=True)
    shutil.move(built, home.bundle(one.bundle))
    row = Bundle.objects.create(
        digest=one.bundle, run=run, execution_id=uuid7(), state="sealed", bytes=1, files=1, level="E2",
        identity_complete=False, sealed_at=run.created_at,
    )  # fmt: skip
    run.accepted_execution = row.execution_id
    run.save()
    (reading,) = (home.derived / one.bundle).iterdir()
    index_interpretation(row, dict(StoredReading(reading).run()), digest="d" * 64)


def calibrated(arguments: Sequence[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = main(["calibrate", *arguments])
    return code, capsys.readouterr().out


@pytest.mark.req("13.24")
@pytest.mark.usefixtures("scanned")
def test_a_study_is_fitted_and_judged_on_the_cells_held_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out = calibrated(
        ["--study", "made_scan", "--holdout", "load.concurrency=4", "--json"], capsys
    )

    answer = json.loads(out)
    assert code == 0
    document = answer["calibration"]
    assert document["split"]["rule"] == "declared: load.concurrency=4"
    assert document["split"]["holdout"] == ["64 in, 24 out, 4 at once"]
    assert set(document["errors"]) == {"calibration", "holdout"}
    assert Path(answer["file"]).is_file()
    assert len(answer["scan"]) == 9


def test_people_get_the_scan_parameters_and_errors(
    scanned: list[Run], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out = calibrated([str(run.id) for run in scanned], capsys)

    assert code == 0
    for word in ("step_overhead_s", "holdout", "known only together", "no factor", "split: every"):
        assert word in out


@pytest.mark.forbids
def test_nothing_to_fit_is_refused(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert not home.step_calibrations.exists()

    code = main(["calibrate", "--study", "never_run"])

    assert code == 2
    assert "no finished run" in capsys.readouterr().err
