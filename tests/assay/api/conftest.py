"""Fixtures of API tests: the laboratory of the page tests, and people who ask with tokens."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client

from assay.accounts.models import Action, Role
from assay.accounts.services import issue_token, join, main_project
from tests.assay.pages.conftest import lab as lab
from tests.assay.pages.conftest import somebody as somebody
from tests.assay.pages.conftest import stranger as stranger

BASE = "/api/v1"
EVERY_SCOPE = tuple(Action)


@dataclass(frozen=True)
class Caller:
    """Asks the API with one token."""

    secret: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.secret}"}

    def get(self, path: str, **parameters: Any) -> Any:
        return Client(headers=self.headers).get(BASE + path, parameters)

    def post(self, path: str, body: Any = None) -> Any:
        client = Client(headers=self.headers)
        return client.post(BASE + path, body or {}, content_type="application/json")

    def delete(self, path: str) -> Any:
        return Client(headers=self.headers).delete(BASE + path)


@pytest.fixture(autouse=True)
def _nobody_asked_before() -> None:
    cache.clear()  # what is counted a minute


@pytest.fixture
def calling(db: None) -> Callable[..., Caller]:
    """Somebody in the main team as ``role``, with a token of these scopes."""

    def made(role: Role, scopes: tuple[Action, ...] = EVERY_SCOPE, name: str = "ada") -> Caller:
        user, _ = User.objects.get_or_create(username=name)
        join(main_project().team, user, role)
        return Caller(issue_token(user, name="test", scopes=scopes).secret)

    return made


@pytest.fixture
def author(calling: Callable[..., Caller]) -> Caller:
    return calling(Role.author)
