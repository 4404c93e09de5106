"""The reader's own account: tokens and password."""

from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from assay.accounts import tokens
from assay.accounts.models import Action
from assay.pages.contexts.account import AccountPage, account_page
from assay.pages.forms.account import TokenForm
from assay.permissions.guard import requires
from experiments.errors import Refusal

UNPROCESSABLE = 422


@never_cache  # a new token stands on it, once
@requires(Action.view)
@require_http_methods(["GET", "HEAD", "POST"])
def account(request: HttpRequest) -> HttpResponse:
    """The page; posted to, it makes a token and shows it this once."""
    if request.method != "POST":
        return _page(request, account_page(request))
    form = TokenForm(request.POST)
    if not form.is_valid():
        return _page(request, account_page(request, form=form), status=UNPROCESSABLE)
    wanted = form.cleaned_data
    scopes = [Action(scope) for scope in wanted["scopes"]]
    try:
        issued = tokens.new_token(
            _user(request), name=wanted["name"], scopes=scopes, days=wanted["days"]
        )
    except Refusal as refusal:
        page = account_page(request, form=form, findings=refusal.findings)
        return _page(request, page, status=UNPROCESSABLE)
    return _page(request, account_page(request, secret=issued.secret))


@requires(Action.view)
@require_POST
def revoke_token(request: HttpRequest, token_id: int) -> HttpResponse:
    """One's own; that of another person is not there."""
    if not tokens.revoke(_user(request), token_id):
        raise Http404
    return redirect("account")


@requires(Action.view)
@require_POST
def change_password(request: HttpRequest) -> HttpResponse:
    """Ends every other session of this person."""
    if account_page(request).password is None:
        raise Http404
    form = PasswordChangeForm(_user(request), request.POST)
    if not form.is_valid():
        return _page(request, account_page(request, password=form), status=UNPROCESSABLE)
    update_session_auth_hash(request, form.save())
    return redirect("account")


def _page(request: HttpRequest, page: AccountPage, *, status: int = 200) -> HttpResponse:
    context = {"page": page, "section": "account"}
    return render(request, "pages/account/account.html", context, status=status)


def _user(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user
