"""Making people, teams, tokens and sign-in links, and letting the last two stand for somebody."""

import hashlib
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.utils import timezone

from assay.accounts.local_name import local_name
from assay.accounts.models import (
    MAIN_PROJECT,
    Action,
    ApiToken,
    Membership,
    Project,
    Role,
    SignInLink,
    Team,
)

TOKEN_PREFIX = "assay_"
LINK_LIFE = timedelta(minutes=15)
LAST_USED_STEP = timedelta(minutes=1)  # a token's last use is written no more often
DEFAULT_TOKEN_LIFE = timedelta(days=90)


@dataclass(frozen=True, slots=True, kw_only=True)
class Issued:
    """A new token: ``secret`` is shown now and never again."""

    token: ApiToken
    secret: str


def main_project() -> Project:
    """The project of whatever was put in none."""
    team, _ = Team.objects.get_or_create(slug="main", defaults={"name": "Main"})
    project, _ = Project.objects.get_or_create(
        id=MAIN_PROJECT, defaults={"slug": "main", "name": "Main", "team": team}
    )
    return project


def local_user() -> User:
    """Who sits at this machine, under the name that the command line writes into studies too."""
    user, created = User.objects.get_or_create(
        username=local_name(), defaults={"is_superuser": True, "is_staff": True}
    )
    if created:
        user.set_unusable_password()
        user.save(update_fields=["password"])
    return user


def join(team: Team, user: User, role: Role) -> Membership:
    """Put somebody into a team, or change what they are in it."""
    membership, _ = Membership.objects.update_or_create(
        team=team, user=user, defaults={"role": role.value}
    )
    return membership


def issue_token(
    user: User, *, name: str, scopes: Collection[Action], life: timedelta = DEFAULT_TOKEN_LIFE
) -> Issued:
    secret = TOKEN_PREFIX + secrets.token_urlsafe(32)
    token = ApiToken.objects.create(
        user=user,
        name=name,
        digest=_digest(secret),
        beginning=secret[:12],
        scopes=sorted(s.value for s in scopes),
        expires_at=timezone.now() + life,
    )
    return Issued(token=token, secret=secret)


def token_of(secret: str) -> ApiToken | None:
    """The token that this text is, if it is one that still counts."""
    now = timezone.now()
    token = (
        ApiToken.objects.select_related("user")
        .filter(digest=_digest(secret), revoked_at=None, expires_at__gt=now, user__is_active=True)
        .first()
    )
    if token is not None and (
        token.last_used_at is None or now - token.last_used_at > LAST_USED_STEP
    ):
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
    return token


def make_sign_in_link(user: User) -> str:
    """A secret for the end of a link. It works once, within a quarter of an hour."""
    secret = secrets.token_urlsafe(32)
    SignInLink.objects.filter(expires_at__lt=timezone.now()).delete()
    SignInLink.objects.create(
        user=user, digest=_digest(secret), expires_at=timezone.now() + LINK_LIFE
    )
    return secret


def redeem_sign_in_link(secret: str) -> User | None:
    """Whom the link signs in; None when it was used, is too old or never was one."""
    now = timezone.now()
    waiting = SignInLink.objects.filter(digest=_digest(secret), used_at=None, expires_at__gt=now)
    if not waiting.update(used_at=now):  # of two who come at once, one gets in
        return None
    user: User | None = (
        get_user_model()
        .objects.filter(sign_in_links__digest=_digest(secret), is_active=True)
        .first()
    )
    return user


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
