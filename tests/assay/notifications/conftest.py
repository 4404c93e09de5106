"""Somebody with an address in the main project, and real receivers."""

from collections.abc import Iterator

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from pytest_django import Settings

from assay.accounts.models import Role
from assay.accounts.services import join, main_project
from tests.assay.notifications.receiver import Received, http_receiver, mail_server


@pytest.fixture
def ada(db: None) -> User:
    user: User = get_user_model().objects.create_user("ada", email="ada@example.org")
    join(main_project().team, user, Role.viewer)
    return user


@pytest.fixture
def receiver(settings: Settings) -> Iterator[Received]:
    with http_receiver() as received:
        settings.WEBHOOK_HOSTS = ["127.0.0.1"]
        settings.WEBHOOK_SECRET = "a secret of the test"
        settings.SITE_URL = "https://assay.example"
        yield received


@pytest.fixture
def post_office(settings: Settings) -> Iterator[Received]:
    with mail_server() as received:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_OFFERED = True
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", received.port
        settings.SITE_URL = "https://assay.example"
        yield received
