"""A page of somebody else's cannot make a reader's browser change anything here."""

import pytest
from django.test import Client

from tests.assay.pages.addresses import every_page
from tests.assay.pages.conftest import lab as lab
from tests.assay.pages.factory import Laboratory
from tests.assay.permissions.callers import user
from tests.assay.permissions.test_pages import NEEDS


@pytest.mark.forbids
def test_no_page_takes_a_post_without_the_token_of_its_own_form(lab: Laboratory) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(user("maintainer"))
    asked = {name: url for name, url in every_page(lab) if NEEDS[name][1] is not None}

    answers = {name: client.post(url, {"a": "b"}).status_code for name, url in asked.items()}

    assert len(answers) >= 15
    assert answers == dict.fromkeys(asked, 403)


@pytest.mark.forbids
@pytest.mark.parametrize("address", ["/login/", "/logout/"])
def test_signing_in_and_out_cannot_be_forged(db: None, address: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(user("viewer"))

    assert client.post(address, {"username": "ada", "password": "x"}).status_code == 403
