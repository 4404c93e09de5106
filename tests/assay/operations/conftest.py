"""Runs that were taken in whole: bundle in the store, reading in ``derived``, rows of both."""

from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from assay.archive.paths import Home
from assay.execution.importing import import_bundle
from assay.ledger.models import Bundle
from tests import servers
from tests.assay.archive.bundles import sealed_bundle

TakeIn = Callable[..., Bundle]


@pytest.fixture
def take_in(db: None, home: Home, tmp_path: Path) -> TakeIn:
    """A new run, sealed at the time and in the state that is asked for."""

    def made(**header: str) -> Bundle:
        folder = tmp_path / f"sealed-{uuid4().hex[:8]}"
        ids = {"run_id": str(uuid4()), "execution_id": str(uuid4())}
        sealed_bundle(folder, **{**ids, **header})
        return import_bundle(folder, home, owner="ada").bundle

    return made


@pytest.fixture
def bundle(take_in: TakeIn) -> Bundle:
    return take_in()


@pytest.fixture
def another_postgres_url() -> Iterator[str]:
    """A second database, beside the one of the installation under test."""
    with servers.postgres_database() as url:
        yield url
