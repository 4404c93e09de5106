"""Stacks over the fake runner, whose behaviour a test changes while a worker runs."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.stacks import Stack


@pytest.fixture
def behave(tmp_path: Path) -> Callable[..., None]:
    """Tell the fake runner, through the file that ``fake`` names."""

    def tell(**behaviour: object) -> None:
        whole = tmp_path / "behaviour.part"
        whole.write_text(json.dumps(behaviour), encoding="utf-8")
        whole.rename(tmp_path / "behaviour.json")

    tell()
    return tell


@pytest.fixture
def fake(stack: Stack, behave: Callable[..., None], tmp_path: Path) -> Stack:
    stack.variables["DJANGO_SETTINGS_MODULE"] = "tests.fake_runner_settings"
    stack.variables["FAKE_RUNNER"] = str(tmp_path / "behaviour.json")
    return stack
