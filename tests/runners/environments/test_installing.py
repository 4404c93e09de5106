"""An engine's environment is made from its lock, whole or not at all, and told from any other."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runners.environments import checking, installing, locks, parsers, records
from runners.environments.pins import EnginePin, engines_folder
from runners.environments.records import Environment
from runners.protocol.errors import EnvironmentLacks, Refused
from tests.runners.environments import tiny

pytestmark = pytest.mark.slow  # each makes a venv
PIN = EnginePin(key="vllm", version="9.9.1", variant="cpu")


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    tiny.wheel(folder, PIN.version)
    return folder


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, wheels: Path) -> Iterator[Path]:
    """One home for the module, in which pip finds these wheels and nothing else."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("home")
        patch.setenv("ASSAY_HOME", str(folder))
        patch.setenv("PIP_FIND_LINKS", str(wheels))
        patch.setenv("PIP_NO_INDEX", "1")
        patch.setenv("PIP_CONFIG_FILE", "/dev/null")
        yield folder


@pytest.fixture(scope="module")
def lock(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> locks.Lock:
    made = next(wheels.glob("*.whl"))
    return locks.read(tiny.lock(tmp_path_factory.mktemp("lock"), made))


@pytest.fixture(scope="module")
def installed(home: Path, lock: locks.Lock) -> Environment:
    return installing.install(PIN, lock, tell=lambda words: None)


def unfinished() -> list[str]:
    folder = engines_folder()
    return [p.name for p in folder.iterdir() if p.name.startswith(".")] if folder.exists() else []


@pytest.mark.req("7.21")
def test_an_environment_is_its_lock_and_holds_the_parser_of_its_version(
    installed: Environment, lock: locks.Lock
) -> None:
    assert installed.folder == engines_folder() / "vllm-9.9.1-cpu"
    assert installed.lock_sha256 == lock.sha256
    assert installed.build == "g1234abc"
    dump = parsers.read(installed.parser)
    assert dump.version == "9.9.1"
    assert all(dump.knows(name) for name in tiny.FLAGS)
    assert dump.nearest("--max-num-seq") == "--max-num-seqs"
    assert unfinished() == []


def test_nothing_of_it_enters_the_environment_of_the_platform(installed: Environment) -> None:
    done = subprocess.run([sys.executable, "-c", "import vllm"], capture_output=True, text=True)

    assert "No module named 'vllm'" in done.stderr
    assert (installed.folder / "lib").is_dir()


def test_its_scripts_name_their_interpreter_where_it_lies_now(installed: Environment) -> None:
    first = (installed.folder / "bin" / "tiny-serve").read_text().splitlines()[0]

    assert first == f"#!{installed.interpreter}"


def test_it_is_found_by_its_lock_and_by_no_other(installed: Environment) -> None:
    wanted = {"key": "vllm", "version": "9.9.1"}

    assert records.find(**wanted, lock_sha256=installed.lock_sha256) == installed
    assert records.find(**wanted, lock_sha256="0" * 64) is None
    assert records.find(key="vllm", version="9.9.2", lock_sha256=installed.lock_sha256) is None


def test_installing_it_again_changes_nothing(installed: Environment, lock: locks.Lock) -> None:
    assert installing.install(PIN, lock, tell=lambda words: None) == installed


def test_another_lock_under_the_same_name_is_refused(
    installed: Environment, lock: locks.Lock, tmp_path: Path
) -> None:
    other = tmp_path / "other.txt"
    other.write_text("# changed\n" + lock.path.read_text())

    with pytest.raises(Refused, match="is installed from lock"):
        installing.install(PIN, locks.read(other), tell=lambda words: None)


def test_a_check_of_an_untouched_environment_finds_nothing(installed: Environment) -> None:
    assert checking.check(installed).problems == ()


def test_a_distribution_that_was_put_in_or_changed_is_seen(installed: Environment) -> None:
    packages = next(installed.folder.glob("lib/python3*/site-packages"))
    strange = packages / "strange-1.0.dist-info"
    strange.mkdir()
    (strange / "METADATA").write_text("Metadata-Version: 2.1\nName: strange\nVersion: 1.0\n")
    (strange / "RECORD").write_text("strange.py,sha256=abc,1\n")

    try:
        problems = checking.check(installed).problems
    finally:
        for path in (strange / "METADATA", strange / "RECORD"):
            path.unlink()
        strange.rmdir()

    assert "distributions were added, removed or changed" in problems[0]
    assert problems[1] == "strange 1.0 is in no lock"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("--hash=sha256:", "hash"),  # a file with other bytes than the lock says
        ("==9.9.1", "No matching distribution"),  # a version that is nowhere
    ],
)
def test_a_lock_that_cannot_be_installed_leaves_nothing(
    home: Path, lock: locks.Lock, tmp_path: Path, change: str, words: str
) -> None:
    text = lock.path.read_text()
    at = text.index(change) + len(change)
    spoilt = text[:at] + ("0" if text[at] != "0" else "1") + text[at + 1 :]
    if change == "==9.9.1":
        spoilt = text.replace(change, "==9.9.7")
    path = tmp_path / "lock.txt"
    path.write_text(spoilt)
    pin = EnginePin(key="vllm", version="9.9.7", variant="cpu")

    with pytest.raises(EnvironmentLacks, match=words):
        installing.install(pin, locks.read(path), tell=lambda words: None)

    assert not (engines_folder() / pin.name).exists()
    assert unfinished() == []


def test_a_lock_of_another_version_than_the_pinned_one_is_refused_by_name(
    home: Path, lock: locks.Lock
) -> None:
    pin = EnginePin(key="vllm", version="9.9.2", variant="cpu")

    with pytest.raises(Refused, match=r"the lock installs version 9\.9\.1"):
        installing.install(pin, lock, tell=lambda words: None)

    assert not (engines_folder() / pin.name).exists()
    assert unfinished() == []


def test_an_interrupted_installation_leaves_nothing_and_the_next_one_is_whole(
    home: Path, lock: locks.Lock
) -> None:
    def interrupted(words: str) -> None:
        if "installing" in words:
            raise KeyboardInterrupt

    pin = EnginePin(key="vllm", version="9.9.1", variant="again")

    with pytest.raises(KeyboardInterrupt):
        installing.install(pin, lock, tell=interrupted)

    assert not (engines_folder() / pin.name).exists()
    assert unfinished() == []


def test_what_a_killed_installer_left_is_swept_and_what_a_living_one_makes_is_not(
    home: Path, lock: locks.Lock, installed: Environment
) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left, living = (engines_folder() / f".vllm-9.9.3-cpu.{pid}" for pid in (dead.pid, 1))
    for folder in (left, living):
        folder.mkdir()

    with pytest.raises(Refused):
        installing.install(
            EnginePin(key="vllm", version="9.9.3", variant="cpu"), lock, tell=lambda words: None
        )

    assert not left.exists()
    assert living.exists()
    living.rmdir()


def test_the_verbs_answer_in_json(installed: Environment) -> None:
    def verb(*arguments: str) -> object:
        command = [sys.executable, "-m", "runners", "engines", *arguments, "--json"]
        return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)

    (listed,) = verb("list")  # type: ignore[misc]
    assert listed["name"] == "vllm-9.9.1-cpu"
    assert verb("check") == [{"name": "vllm-9.9.1-cpu", "problems": []}]


def test_a_removed_environment_is_gone(home: Path, lock: locks.Lock) -> None:
    pin = EnginePin(key="vllm", version="9.9.1", variant="removed")
    made = installing.install(pin, lock, tell=lambda words: None)

    checking.remove(made)

    assert not made.folder.exists()
    assert pin.name not in {e.pin.name for e in records.installed()}
    again = [sys.executable, "-m", "runners", "engines", "remove", pin.name]
    done = subprocess.run(again, capture_output=True, text=True)
    assert done.returncode == 2
    assert "See assay engines list" in done.stderr
