"""Every test run replays the corpus of the wire fuzz run, with a short seeded run; a soak runs it whole."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz import mutations, wire_invariants

ROOT = Path(__file__).parents[2]
SOAKS = os.environ.get("ASSAY_SOAK") == "1"
SECONDS = 600 if SOAKS else 5


def test_the_corpus_holds_every_invariant() -> None:
    inputs = mutations.corpus()

    assert len(inputs) >= 50
    assert sum(map(len, inputs)) < 1_000_000
    for data in inputs:
        wire_invariants.check(data)


def test_recorded_exchanges_hold_every_invariant() -> None:
    for data in mutations.seeds():
        wire_invariants.check(data)


@pytest.mark.parametrize("seed", range(4))
def test_mutations_of_them_hold_every_invariant(seed: int) -> None:
    draw = random.Random(seed)
    inputs = [*mutations.seeds(), *mutations.corpus()]

    for _ in range(150):
        wire_invariants.check(mutations.mutated(draw.choice(inputs), draw, inputs))


@pytest.mark.slow
@pytest.mark.timeout(SECONDS + 240)
def test_a_coverage_guided_run_finds_nothing(tmp_path: Path) -> None:
    """Five seconds; ten minutes with ``ASSAY_SOAK=1``."""
    command = [sys.executable, "-m", "tests.fuzz.wire_fuzz"]
    command += ["--seconds", str(SECONDS), "--work", str(tmp_path)]

    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert ran.returncode == 0, ran.stderr[-4000:]
    assert "stat::number_of_executed_units" in ran.stderr
    assert not list(tmp_path.glob("crash-*"))
