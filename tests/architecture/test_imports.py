"""Every import contract fails when somebody breaks it: one deliberate bad import each."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CONTRACTS = [c["name"] for c in PROJECT["tool"]["importlinter"]["contracts"]]

# contract -> file to append to (made if absent), the bad line
BAD_IMPORTS = {
    "Roots point one way": ("runners/catalogue.py", "import assay.analysis.documents"),
    "Platform layers": ("platform/assay/analysis/documents.py", "import assay.ledger.models"),
    "Runner layers": ("runners/protocol/layout.py", "import runners.engines.base"),
    "Experiment layers": ("experiments/schema/roles.py", "import experiments.plan"),
    "The platform sees bundles, never engines": (
        "platform/assay/archive/bad.py",
        "import runners.engines.base",
    ),
    "Science and runners are free of the web": ("platform/assay/analysis/bad.py", "import django"),
    "Engines are strangers": (
        "runners/engines/openai_endpoint/settings.py",
        "import runners.engines.torch.versions",
    ),
    "No cycles": ("runners/protocol/layout.py", "import runners.load.client"),
}


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    script = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    return subprocess.run(
        [sys.executable, "-c", script, "--no-cache"],
        cwd=folder,
        env={
            "PYTHONPATH": f"{folder / 'platform'}:{folder}",
            "PATH": "/usr/bin:/bin",
            "COLUMNS": "200",
        },
        capture_output=True,
        text=True,
    )


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name in ("experiments", "runners", "platform"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_contracts_hold_here() -> None:
    result = lint(ROOT)

    assert result.returncode == 0, result.stdout + result.stderr


def test_every_contract_has_its_bad_import() -> None:
    assert set(BAD_IMPORTS) == set(CONTRACTS)


@pytest.mark.parametrize("contract", CONTRACTS)
def test_a_bad_import_breaks_its_contract(contract: str, checkout: Path) -> None:
    path, line = BAD_IMPORTS[contract]
    target = checkout / path
    target.parent.mkdir(parents=True, exist_ok=True)
    before = target.read_text(encoding="utf-8") if target.exists() else ""
    target.write_text(f"{before}\n{line}\n", encoding="utf-8")

    result = lint(checkout)

    assert result.returncode == 1, result.stdout + result.stderr
    assert f"{contract} BROKEN" in " ".join(result.stdout.split())


def test_a_package_without_a_layer_is_refused(checkout: Path) -> None:
    stray = checkout / "platform" / "assay" / "stray"
    stray.mkdir()
    (stray / "__init__.py").touch()

    result = lint(checkout)

    assert result.returncode != 0
    assert "stray" in result.stdout + result.stderr
