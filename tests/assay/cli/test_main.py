"""The table of verbs, and what is imported when."""

import subprocess
import sys
from pathlib import Path

import pytest

from assay.archive.paths import Home
from assay.cli.main import VERBS, main
from tests.assay.archive.bundles import sealed_bundle

CHECKOUT = Path(__file__).resolve().parents[3]


def in_a_fresh_interpreter(
    code: str, *arguments: str, cwd: Path
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-c", code, *arguments],
        cwd=cwd,
        env={"PYTHONPATH": f"{CHECKOUT / 'platform'}:{CHECKOUT}", "ASSAY_HOME": str(cwd / "home")},
        capture_output=True,
        text=True,
    )


def test_without_a_verb_the_verbs_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert main(["--help"]) == 0

    out = capsys.readouterr().out
    assert all(verb in out for verb in VERBS)


def test_an_unknown_verb_is_refused_with_the_known_ones(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["launch"]) == 2

    err = capsys.readouterr().err
    assert err.startswith("error: verb: launch (allowed: run, load, search, submit")


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_every_verb_says_what_it_does(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([verb, "--help"])

    assert ended.value.code == 0
    assert f"usage: assay {verb}" in capsys.readouterr().out


@pytest.mark.parametrize("verb", ["verify", "interpret", "predict", "doctor"])
def test_some_verbs_import_no_django(verb: str, tmp_path: Path) -> None:
    code = (
        "import importlib, sys; from assay.cli.main import VERBS\n"
        f"importlib.import_module(VERBS[{verb!r}][0])\n"
        "sys.exit('django' in sys.modules)"
    )

    assert in_a_fresh_interpreter(code, cwd=tmp_path).returncode == 0


def test_verify_of_a_folder_needs_no_home_and_no_database(tmp_path: Path) -> None:
    sealed_bundle(tmp_path / "b")
    code = (
        "import sys; from assay.cli.main import main\n"
        "code = main(['verify', 'b']); sys.exit(9 if 'django' in sys.modules else code)"
    )

    done = in_a_fresh_interpreter(code, cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "home").exists()


def test_looking_for_an_unknown_bundle_makes_no_database(tmp_path: Path) -> None:
    code = "import sys; from assay.cli.main import main; sys.exit(main(['verify', '0123456789ab']))"

    done = in_a_fresh_interpreter(code, cwd=tmp_path)

    assert done.returncode == 2
    assert "error: bundle: 0123456789ab (allowed: a folder" in done.stderr
    assert not (tmp_path / "home").exists()


def test_an_error_of_our_own_is_one_line_and_a_reference(
    assay_home: Home, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_arguments: object) -> int:
        raise RuntimeError("a wheel came off")

    monkeypatch.setattr("assay.cli.verify.run", broken)

    assert main(["verify", "x"]) == 1

    (line,) = capsys.readouterr().err.splitlines()
    reference = line.split("reference ")[1].split()[0]
    log = (assay_home.root / "logs" / "errors.log").read_text()
    assert line.startswith("error: RuntimeError: a wheel came off (allowed: ")
    assert f"reference {reference}\nTraceback" in log


def test_state_never_lands_in_the_current_folder(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    code = "import sys; from assay.cli.main import main; sys.exit(main(['migrate']))"
    environment = {
        "PYTHONPATH": f"{CHECKOUT / 'platform'}:{CHECKOUT}",
        "ASSAY_HOME": str(tmp_path / "elsewhere"),
    }

    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        cwd=work,
        env=environment,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stderr
    assert list(work.iterdir()) == []
    assert Home(tmp_path / "elsewhere").root.joinpath("db.sqlite3").exists()


@pytest.mark.forbids
@pytest.mark.parametrize("arguments", [[], ["study=x", "--nosuch"], ["study=x", "--studies"]])
def test_wrong_arguments_are_one_line_like_every_refusal(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["run", *arguments])

    (line,) = capsys.readouterr().err.splitlines()
    assert ended.value.code == 2
    assert line.startswith("error: arguments: ")
    assert "(allowed: assay run [-h] [-m]" in line


def test_options_may_stand_among_the_overrides(
    assay_home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    swept = ["study=smollm2_smoke", "-m", "load.concurrency=1,-2"]

    assert main(["run", *swept]) == 2
    assert capsys.readouterr().err.startswith("error: load.concurrency: -2 (allowed: ")


def test_an_interrupt_while_a_verb_loads_ends_with_130(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("assay.cli.main.importlib.import_module", interrupted)

    assert main(["verify", "x"]) == 130
    assert capsys.readouterr().err.startswith("error: interrupted")
