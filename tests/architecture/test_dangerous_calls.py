"""Nothing in the project turns data into code: no pickle in any form, no eval, no shell."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("platform", "runners", "experiments", "benchmarks", "migrations")
PICKLING = frozenset(
    {
        "pickle",
        "_pickle",
        "cPickle",
        "dill",
        "cloudpickle",
        "joblib",
        "shelve",
        "marshal",
        "jsonpickle",
    }
)
LOADERS = {"yaml": {"load", "load_all", "unsafe_load", "full_load"}, "os": {"system", "popen"}}
# Calls that are safe with an argument, and the argument that makes them so.
SAFE_BY = {"torch.load": ("weights_only", True), "numpy.load": ("allow_pickle", False)}


def dangers(source: str) -> Iterator[str]:
    """What of it could run what it reads, by line."""
    for node in ast.walk(ast.parse(source)):
        for what in _of_import(node) if isinstance(node, ast.Import | ast.ImportFrom) else ():
            yield f"{node.lineno}: {what}"  # type: ignore[attr-defined]
        if isinstance(node, ast.Call) and (what := _of_call(node)):
            yield f"{node.lineno}: {what}"


def _of_import(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    names = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or ""]
    yield from (name for name in names if name.split(".")[0] in PICKLING)


def _of_call(node: ast.Call) -> str | None:
    called = ast.unparse(node.func)
    if called in {"eval", "exec", "compile", "__import__"}:
        return called
    owner, _, name = called.rpartition(".")
    given = {k.arg: k.value for k in node.keywords}
    if name in LOADERS.get(owner, ()) and "Safe" not in ast.unparse(
        given.get("Loader", ast.Constant(None))
    ):
        return called
    shell = given.get("shell")
    if shell is not None and not (isinstance(shell, ast.Constant) and shell.value is False):
        return f"{called}(shell=...)"
    named = {"np.load": "numpy.load"}.get(called, called)
    if named in SAFE_BY:
        argument, wanted = SAFE_BY[named]
        value = given.get(argument)
        if not (isinstance(value, ast.Constant) and value.value is wanted):
            return f"{called} without {argument}={wanted}"
    return None


@pytest.mark.forbids
@pytest.mark.parametrize("folder", FOLDERS)
def test_nothing_turns_data_into_code(folder: str) -> None:
    files = [p for p in sorted((ROOT / folder).rglob("*.py")) if "data" not in p.parts]

    found = [
        f"{path.relative_to(ROOT)}:{danger}"
        for path in files
        for danger in dangers(path.read_text(encoding="utf-8"))
    ]

    assert files
    assert found == []


@pytest.mark.forbids
def test_no_test_pickles_either() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in _of_import(node)
    ]

    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from cloudpickle import loads",
        "import os.path, shelve",
        "eval(text)",
        "yaml.load(text)",
        "subprocess.run(line, shell=True)",
        "subprocess.run(line, shell=wanted)",
        "torch.load(path)",
        "torch.load(path, weights_only=False)",
        "np.load(path, allow_pickle=True)",
        "os.system(line)",
    ],
)
def test_each_of_them_would_be_found(source: str) -> None:
    assert list(dangers(source))
