"""Who is asking the API, and whether they may. Every operation goes through one of these doors.

A door knows the caller, by a token or by the session of whoever is signed in to the pages, and then asks the
same rule as the pages about everything that the address names. An operation cannot forget it: it is the
API's default.
"""

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from ninja.errors import AuthenticationError
from ninja.security.base import AuthBase
from ninja.utils import check_csrf

from assay.accounts.access import Access
from assay.accounts.models import Action, ApiToken
from assay.accounts.services import token_of
from assay.permissions.guard import SAFE_METHODS, guard

SESSION_COOKIE = "sessionid"


class _Door(AuthBase):
    """``action``: what it takes to come in; None goes by the method, reading or writing."""

    def __init__(self, action: Action | None = None) -> None:
        super().__init__()
        self.action = action

    def admit(self, request: HttpRequest, access: Access) -> Access:
        """Raises Http404 for what may not be seen, PermissionDenied for what may not be done."""
        by_method = Action.view if request.method in SAFE_METHODS else Action.write
        action = self.action or by_method
        named = request.resolver_match.kwargs if request.resolver_match else {}
        guard(access, action, named)
        if action is not Action.view and not access.anywhere(action):
            raise PermissionDenied(
                action.value
            )  # what names nothing still takes the right somewhere
        request.access = access  # type: ignore[attr-defined]
        return access


class Token(_Door):
    """``Authorization: Bearer assay_...``. A token that does not count is no reason to look at cookies."""

    openapi_type = "http"
    openapi_scheme = "bearer"

    def __call__(self, request: HttpRequest) -> Access | None:
        header = request.headers.get("Authorization")
        if header is None:
            return None
        kind, _, secret = header.strip().partition(" ")
        token = token_of(secret.strip()) if kind.lower() == "bearer" else None
        if token is None:
            raise AuthenticationError
        request.user = token.user
        request.token = token  # type: ignore[attr-defined]
        return self.admit(request, Access(user=token.user, scopes=scopes_of(token)))


class NoToken(Token):
    """A token is known, and not let in: what may be done by whoever is signed in themselves."""

    def __init__(self, action: Action | None = None) -> None:
        super().__init__(action)
        del self.openapi_security_schema

    def admit(self, request: HttpRequest, access: Access) -> Access:
        raise PermissionDenied("a session of the pages")


class Session(_Door):
    """The cookie of the pages; what changes something needs their CSRF token as well."""

    openapi_type = "apiKey"
    openapi_in = "cookie"
    openapi_name = SESSION_COOKIE

    def __call__(self, request: HttpRequest) -> Access | None:
        if not request.user.is_authenticated:
            return None
        if check_csrf(request) is not None:
            raise PermissionDenied("csrf")
        return self.admit(request, Access(user=request.user))


def may(action: Action) -> list[AuthBase]:
    """The doors of an operation that takes more than its method says."""
    return [Token(action), Session(action)]


def in_person(action: Action) -> list[AuthBase]:
    """The doors of an operation that no token can do."""
    return [NoToken(action), Session(action)]


def scopes_of(token: ApiToken) -> frozenset[Action]:
    """What a token allows; a scope that this version does not know allows nothing."""
    return frozenset(Action(word) for word in token.scopes if word in Action.values)


def access_of(request: HttpRequest) -> Access:
    """Set by the door; an operation that has none cannot ask for it."""
    found: Access = request.access  # type: ignore[attr-defined]
    return found


EVERYBODY_KNOWN = [Token(), Session()]
