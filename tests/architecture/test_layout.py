"""``platform/`` is a source root and never a package; the tree says where things are."""

import importlib.util
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STDLIB = Path(sysconfig.get_paths()["stdlib"])
CODE_ROOTS = (ROOT / "experiments", ROOT / "runners", ROOT / "platform" / "assay")
MODULE_CEILING = 400
TEST_CEILING = 600


def run_python(
    *arguments: str, cwd: Path = ROOT, **environment: str
) -> subprocess.CompletedProcess[str]:
    clean = {
        k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "DJANGO_SETTINGS_MODULE"}
    }
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env={**clean, **environment},
        capture_output=True,
        text=True,
    )


def test_platform_holds_exactly_one_package_and_is_none_itself() -> None:
    visible = {p.name for p in (ROOT / "platform").iterdir() if p.name != "__pycache__"}

    assert visible == {"assay"}


@pytest.mark.parametrize("flags", [[], ["-P"]])
@pytest.mark.parametrize("with_path", [False, True])
def test_the_standard_platform_module_is_not_shadowed(flags: list[str], with_path: bool) -> None:
    environment = {"PYTHONPATH": f"{ROOT / 'platform'}:{ROOT}"} if with_path else {}
    code = "import platform, uuid; platform.system(); print(platform.__file__)"

    result = run_python(*flags, "-c", code, **environment)

    assert result.returncode == 0, result.stderr
    assert Path(result.stdout.strip()).parent == STDLIB


def importable_names() -> set[str]:
    roots = [ROOT, ROOT / "platform", ROOT / "tests"]
    folders = {
        p.name for root in roots for p in root.iterdir() if p.is_dir() and any(p.rglob("*.py"))
    }
    modules = {p.stem for root in roots for p in root.glob("*.py")}
    return {n for n in folders | modules if not n.startswith((".", "__"))} - {"platform"}


def test_no_name_of_ours_is_a_standard_library_name() -> None:
    assert importable_names() & set(sys.stdlib_module_names) == set()
    assert not (ROOT / "tests" / "platform").exists()


@pytest.mark.parametrize("name", ["assay", "experiments", "runners", "migrations", "tests"])
def test_packages_come_from_this_checkout(name: str) -> None:
    spec = importlib.util.find_spec(name)

    assert spec is not None
    assert spec.origin is not None
    assert Path(spec.origin).is_relative_to(ROOT)


@pytest.mark.parametrize("cwd", [ROOT, Path("/")])
def test_manage_check_works_from_any_folder(cwd: Path, tmp_path: Path) -> None:
    result = run_python(str(ROOT / "manage.py"), "check", cwd=cwd, ASSAY_HOME=str(tmp_path))

    assert result.returncode == 0, result.stderr


def test_frontend_holds_no_python_and_test_folders_are_packages() -> None:
    assert not list((ROOT / "frontend").rglob("*.py"))
    holding_tests = {p.parent for p in (ROOT / "tests").rglob("test_*.py")}
    assert [str(f) for f in holding_tests if not (f / "__init__.py").exists()] == []


@pytest.mark.parametrize("module", ["assay.analysis", "assay.archive", "runners", "experiments"])
def test_science_and_runners_import_without_the_web(module: str) -> None:
    code = (
        "import sys, pkgutil, importlib\n"
        f"package = importlib.import_module('{module}')\n"
        "for m in pkgutil.walk_packages(package.__path__, package.__name__ + '.'):\n"
        "    if '__main__' in m.name or '.engines.' in m.name: continue\n"
        "    importlib.import_module(m.name)\n"
        "print(sorted({'django', 'celery', 'redis', 'psycopg', 'plotly', 'torch'} & set(sys.modules)))\n"
    )

    result = run_python("-c", code, PYTHONPATH=f"{ROOT / 'platform'}:{ROOT}")

    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == "[]"


def test_every_app_with_models_has_its_migrations_package() -> None:
    from assay import settings

    for app in settings.MODEL_APPS:
        assert (ROOT / "platform" / "assay" / app / "models.py").exists()
        assert (ROOT / "migrations" / app / "__init__.py").exists()
        assert settings.MIGRATION_MODULES[app] == f"migrations.{app}"
    assert (ROOT / "migrations" / "__init__.py").exists()


def too_long(paths: list[Path], ceiling: int) -> list[str]:
    lengths = {p: len(p.read_text(encoding="utf-8").splitlines()) for p in paths}
    return [f"{p.relative_to(ROOT)}: {n} lines" for p, n in sorted(lengths.items()) if n > ceiling]


def test_modules_stay_below_the_ceiling() -> None:
    modules = [p for root in CODE_ROOTS for p in root.rglob("*.py")]

    assert too_long(modules, MODULE_CEILING) == []
    assert too_long(list((ROOT / "tests").rglob("*.py")), TEST_CEILING) == []


def test_package_init_files_are_empty() -> None:
    filled = [p for root in CODE_ROOTS for p in root.rglob("__init__.py") if p.read_text().strip()]

    assert [str(p.relative_to(ROOT)) for p in filled] == []


def test_the_project_stands_alone() -> None:
    """No tracked file points beside the checkout."""
    forbidden = ("../" + "shared", "/work/" + "shared", "." + "library/")
    names = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\n")
    texts = [
        n
        for n in names
        if n.endswith((".py", ".md", ".yaml", ".yml", ".toml", ".html", ".js", ".css"))
    ]
    guilty = [
        n
        for n in [*texts, "Makefile", ".ci/run"]
        if (ROOT / n).is_file()
        and any(f in (ROOT / n).read_text(encoding="utf-8", errors="replace") for f in forbidden)
    ]

    assert guilty == []
