"""Signing in: by name and password, or by the one-time link for whoever sits at this machine."""

from ipaddress import ip_address

from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from assay.accounts import sign_in_attempts
from assay.accounts.services import redeem_sign_in_link

FORWARDED = ("X-Forwarded-For", "Forwarded", "X-Real-IP", "Via")

TOO_MANY = 429


class SignIn(LoginView):
    """By name and password; after some failures a name at an address has to wait."""

    extra_context = {"embedded": settings.EMBEDDED}

    def post(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        wait_s = sign_in_attempts.wait_s(request, request.POST.get("username", ""))
        if not wait_s:
            return super().post(request, *args, **kwargs)
        form = AuthenticationForm(request)
        context = self.get_context_data(form=form, wait_min=-(-wait_s // 60))
        response = self.render_to_response(context, status=TOO_MANY)
        response["Retry-After"] = str(wait_s)
        return response

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        sign_in_attempts.succeeded(self.request, form.get_user().get_username())
        return super().form_valid(form)

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        sign_in_attempts.failed(self.request, self.request.POST.get("username", ""))
        return super().form_invalid(form)


@require_safe
def by_link(request: HttpRequest, secret: str) -> HttpResponseBase:
    """Refused from anywhere but this machine, and where people have accounts."""
    if settings.EMBEDDED and is_from_this_machine(request):
        user = redeem_sign_in_link(secret)
        if user is not None:
            login(request, user, backend="django.contrib.auth.backends.ModelBackend")
            return redirect(settings.LOGIN_REDIRECT_URL)
    return render(request, "registration/link_refused.html", status=403)


def is_from_this_machine(request: HttpRequest) -> bool:
    """True for a direct connection over loopback; the Host header was checked by ALLOWED_HOSTS."""
    if any(h in request.headers for h in FORWARDED):
        return False
    try:
        return ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False
