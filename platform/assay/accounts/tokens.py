"""One's own tokens: seeing them, making one with a life and scopes, taking one back."""

from collections.abc import Collection
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.utils import timezone

from assay.accounts import services
from assay.accounts.models import Action, ApiToken
from assay.accounts.services import Issued
from experiments.errors import refuse

LONGEST_LIFE_DAYS = 366
MOST_AT_ONCE = 50
NAME_LENGTH = 80


def tokens_of(user: User) -> QuerySet[ApiToken]:
    """Newest first, those that no longer count among them."""
    return ApiToken.objects.filter(user=user).order_by("-created_at", "-id")


def new_token(user: User, *, name: str, scopes: Collection[Action], days: int) -> Issued:
    """Raises Refusal for a token without a name, without scopes, or that would live too long."""
    if not 0 < len(name.strip()) <= NAME_LENGTH:
        raise refuse(
            field="name",
            seen=name,
            allowed=f"1 to {NAME_LENGTH} characters",
            remedy="Say where it will be used.",
        )
    if not scopes:
        raise refuse(
            field="scopes",
            seen="none",
            allowed=", ".join(Action.values),
            remedy="Name what the token may do.",
        )
    if not 1 <= days <= LONGEST_LIFE_DAYS:
        raise refuse(
            field="days",
            seen=days,
            allowed=f"1 to {LONGEST_LIFE_DAYS}",
            remedy="Make a new one when it has ended.",
        )
    counting = tokens_of(user).filter(revoked_at=None, expires_at__gt=timezone.now()).count()
    if counting >= MOST_AT_ONCE:
        raise refuse(
            field="tokens",
            seen=counting,
            allowed=f"at most {MOST_AT_ONCE} at once",
            remedy="Revoke one that is no longer used.",
        )
    return services.issue_token(user, name=name.strip(), scopes=scopes, life=timedelta(days=days))


def revoke(user: User, token_id: int) -> bool:
    """False for a token that is not this person's. Twice is the same as once."""
    own = ApiToken.objects.filter(user=user, id=token_id)
    own.filter(revoked_at=None).update(revoked_at=timezone.now())
    return own.exists()


def state_of(token: ApiToken) -> str:
    """``works``, ``expired`` or ``revoked``."""
    if token.revoked_at is not None:
        return "revoked"
    return "works" if token.expires_at > timezone.now() else "expired"


def token_object(token: ApiToken) -> dict[str, Any]:
    """What the command line and the API say of a token: never the token itself."""
    return {
        "token": token.pk,
        "name": token.name,
        "beginning": token.beginning,
        "scopes": list(token.scopes),
        "state": state_of(token),
        "created_at": token.created_at.isoformat(),
        "expires_at": token.expires_at.isoformat(),
        "last_used_at": token.last_used_at.isoformat() if token.last_used_at else None,
    }
