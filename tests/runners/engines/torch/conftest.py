"""One started engine on the real model for all tests that talk to it, one saved tiny model for the others."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runners.engines.torch.launched import Engine, launched, spec


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """SmolLM2 as the example study serves it. Tests use request ids of their own."""
    with launched(tmp_path_factory.mktemp("torch-engine"), spec()) as started:
        yield started


@pytest.fixture(scope="session")
def tiny_weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The weight file of the tiny model's folder."""
    from tests.runners.engines.torch import tiny  # loads torch, which most tests here do not need

    return tiny.save(tmp_path_factory.mktemp("tiny"))
