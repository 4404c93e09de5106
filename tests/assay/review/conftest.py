"""A laboratory with sealed runs, as the pages' tests have it."""

import pytest

from assay.archive.paths import Home
from tests.assay.pages.factory import Laboratory, laboratory


@pytest.fixture
def lab(db: None, assay_home: Home) -> Laboratory:
    return laboratory(assay_home)
