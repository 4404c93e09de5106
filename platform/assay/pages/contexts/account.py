"""The reader's own account: tokens, teams and roles."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.models import User
from django.http import HttpRequest

from assay.accounts import tokens
from assay.accounts.models import Action, ApiToken, Membership
from assay.pages.forms.account import TokenForm

SHOWN = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRow:
    """A token by what it begins with; the rest of it is known to nobody."""

    id: int
    name: str
    beginning: str
    scopes: str
    state: str
    created_at: datetime
    expires_at: datetime
    last_used_at: datetime | None

    @property
    def works(self) -> bool:
        return self.state == "works"


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamRow:
    slug: str
    name: str
    role: str
    projects: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountPage:
    """``secret`` is a token that was made just now; ``password`` is None where nobody has one."""

    tokens: list[TokenRow]
    teams: list[TeamRow]
    administrator: bool
    form: TokenForm
    password: PasswordChangeForm | None
    secret: str
    findings: Sequence[object]


def account_page(
    request: HttpRequest,
    *,
    form: TokenForm | None = None,
    password: PasswordChangeForm | None = None,
    secret: str = "",
    findings: Sequence[object] = (),
) -> AccountPage:
    user = request.user
    assert isinstance(user, User)  # whoever is not signed in was sent to do so
    has_password = not settings.EMBEDDED and user.has_usable_password()
    return AccountPage(
        tokens=[_token_row(token) for token in tokens.tokens_of(user)[:SHOWN]],
        teams=_teams(user),
        administrator=user.is_superuser,
        form=form or TokenForm(initial={"scopes": [Action.view.value], "days": 90}),
        password=(password or PasswordChangeForm(user)) if has_password else None,
        secret=secret,
        findings=findings,
    )


def _token_row(token: ApiToken) -> TokenRow:
    return TokenRow(
        id=token.pk,
        name=token.name,
        beginning=token.beginning,
        scopes=", ".join(token.scopes),
        state=tokens.state_of(token),
        created_at=token.created_at,
        expires_at=token.expires_at,
        last_used_at=token.last_used_at,
    )


def _teams(user: User) -> list[TeamRow]:
    memberships = Membership.objects.filter(user=user).select_related("team")
    return [
        TeamRow(
            slug=m.team.slug,
            name=m.team.name,
            role=m.get_role_display(),
            projects=[project.slug for project in m.team.projects.all()],
        )
        for m in memberships.prefetch_related("team__projects").order_by("team__slug")
    ]
