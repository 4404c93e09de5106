"""Fixtures of page tests: a laboratory with something on every page, and two people who ask."""

import pytest
from django.test import Client

from assay.accounts.services import local_user
from assay.archive.paths import Home
from tests.assay.pages.factory import Laboratory, laboratory
from tests.settings import INVALID_IN_TEMPLATE


@pytest.fixture
def lab(db: None, assay_home: Home) -> Laboratory:
    return laboratory(assay_home)


@pytest.fixture
def somebody(db: None) -> Client:
    """Who sits at this machine, and has signed in."""
    client = Client(REMOTE_ADDR="127.0.0.1")
    client.force_login(local_user())
    return client


@pytest.fixture
def stranger() -> Client:
    """Who comes over the network and has not signed in."""
    return Client(REMOTE_ADDR="192.0.2.7")


def page(client: Client, url: str, status: int = 200) -> str:
    """The text of a page, after checking its status and that no template variable was missing."""
    response = client.get(url)
    assert response.status_code == status, (url, response.status_code)
    text = response.content.decode()
    assert INVALID_IN_TEMPLATE.split("%s")[0] not in text, (url, _missing(text))
    return text


def _missing(text: str) -> str:
    start = text.index(INVALID_IN_TEMPLATE.split("%s")[0])
    return text[max(0, start - 200) : start + 80]
