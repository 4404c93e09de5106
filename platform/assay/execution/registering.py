"""Register the predictions of a run: written before launch, so that nobody can say they came after."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from assay.analysis.errors import AnalysisError
from assay.analysis.predictions import build_predictions
from assay.archive.benchmarks import new_file, stored_benchmarks
from assay.archive.paths import Home
from assay.archive.step_calibrations import calibration_for
from assay.execution import launcher
from assay.execution.leases import Claim
from assay.execution.preparing import Prepared
from runners.protocol import clocks, layout, manifest
from runners.protocol.errors import Refused


def register_predictions(
    claim: Claim,
    prepared: Prepared,
    *,
    home: Home,
    bundle: Path,
    should_stop: Callable[[], bool],
    say: Callable[[str, str], None],
) -> str:
    """Write ``predictions.json`` into the prepared bundle, unless the study declares none.

    Takes the micro-benchmark of this host first if none is stored and the study wants it. Returns why there
    are no predictions, or an empty text; the run goes on without them and names the gap.
    """
    wanted = claim.spec["prediction"]
    if not wanted["enabled"]:
        return ""
    say("predict", "registering predictions")
    benchmarks = stored_benchmarks(home)
    if not benchmarks and wanted["measure_device"]:
        say("predict", "measuring this machine once (memory bandwidth, matrix products)")
        measure_device(home, scratch=claim.folder, should_stop=should_stop)
        benchmarks = stored_benchmarks(home)
    now = clocks.utc()
    try:
        document = build_predictions(
            claim.spec,
            prepared.plan,
            benchmarks,
            now,
            plan_digest=prepared.plan_digest,
            calibration=calibration_for(home, claim.spec),
        )
    except (AnalysisError, Refused) as error:
        return f"no predictions: {error}"
    (bundle / layout.PREDICTIONS).write_bytes(manifest.canonical(document))
    return ""


def measure_device(home: Home, *, scratch: Path, should_stop: Callable[[], bool]) -> None:
    """Take the micro-benchmark; if that fails the predictions simply have no figures of this machine."""
    launcher.run_to_end(
        launcher.runner("measure-device", new_file(home, datetime.now(UTC))),
        folder=scratch,
        name="measure-device",
        should_stop=should_stop,
        grace_s=5.0,
    )
