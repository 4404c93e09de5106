"""People who sign in by name and password: adding them, their passwords, and shutting them out."""

from collections.abc import Sequence

from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from assay.accounts.models import ApiToken, SignInLink
from experiments.errors import Finding, Refusal, refuse


@transaction.atomic
def add_person(name: str, *, email: str = "", password: str | None = None) -> User:
    """Without a password nobody can sign in as them yet. Raises Refusal."""
    user = User(username=name, email=email)
    try:
        user.clean_fields(exclude=["password"])
    except ValidationError as error:
        raise Refusal(_findings(name, error)) from error
    if User.objects.filter(username=name).exists():
        raise refuse(field="name", seen=name, allowed="a free name", remedy="Choose another one.")
    if password is None:
        user.set_unusable_password()
    else:
        _check(password, user)
        user.set_password(password)
    user.save()
    return user


def add_administrator(name: str, *, email: str = "", password: str | None = None) -> User:
    """Somebody who runs the installation: no project is hidden from them. Raises Refusal."""
    user = add_person(name, email=email, password=password)
    user.is_superuser = user.is_staff = True
    user.save(update_fields=["is_superuser", "is_staff"])
    return user


def set_password(user: User, password: str) -> None:
    """Raises Refusal for a password that is easily guessed."""
    _check(password, user)
    user.set_password(password)
    user.save(update_fields=["password"])


@transaction.atomic
def disable(user: User) -> None:
    """Shut somebody out at once: no sign-in, no session, no token, no link. What they did stays."""
    user.is_active = False
    user.save(update_fields=["is_active"])
    now = timezone.now()
    ApiToken.objects.filter(user=user, revoked_at=None).update(revoked_at=now)
    SignInLink.objects.filter(user=user, used_at=None).update(used_at=now)


def enable(user: User) -> None:
    """Let somebody sign in again. Tokens that were revoked stay so."""
    user.is_active = True
    user.save(update_fields=["is_active"])


def person(name: str) -> User:
    """Raises Refusal without naming others: not everybody who asks may know who there is."""
    found = User.objects.filter(username=name).first()
    if found is None:
        raise refuse(
            field="name",
            seen=name,
            allowed="the name of somebody who has an account here",
            remedy="Whoever runs the installation adds people: assay account add NAME.",
        )
    return found


def active_person(name: str) -> User:
    """The same of somebody who can sign in."""
    found = person(name)
    if not found.is_active:
        raise refuse(
            field="name",
            seen=f"{name}, who is shut out",
            allowed="somebody who can sign in",
            remedy="Whoever runs the installation lets them in again: assay account enable NAME.",
        )
    return found


def _check(password: str, user: User) -> None:
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise Refusal([_weak(message) for message in error.messages]) from error


def _weak(message: str) -> Finding:
    # The password itself is never shown.
    return Finding(
        field="password",
        seen=message,
        allowed="8 characters or more, neither common nor digits alone",
        remedy="Take several words.",
    )


def _findings(name: str, error: ValidationError) -> Sequence[Finding]:
    return [
        Finding(
            field="name" if field == "username" else field,
            seen=name if field == "username" else "not usable",
            allowed="letters, digits and @ . + - _, at most 150"
            if field == "username"
            else "an address",
            remedy=" ".join(messages),
        )
        for field, messages in error.message_dict.items()
    ]
