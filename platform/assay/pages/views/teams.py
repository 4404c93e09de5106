"""Teams: who is in them as what, and which projects they have. Maintainers change both."""

from collections.abc import Callable

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from assay.accounts import people, projects, teams
from assay.accounts.models import Action, Role, Team
from assay.pages.contexts.teams import team_for, team_page, team_rows
from assay.pages.forms.teams import LeaveForm, MemberForm, ProjectForm
from assay.pages.middleware import request_access
from assay.permissions.guard import requires
from experiments.errors import Refusal

UNPROCESSABLE = 422
Change = Callable[[Team, dict[str, str]], object]


@require_safe
def team_list(request: HttpRequest) -> HttpResponse:
    context = {"rows": team_rows(request_access(request)), "section": "account"}
    return render(request, "pages/account/teams.html", context)


@require_safe
def team_detail(request: HttpRequest, team: str) -> HttpResponse:
    access = request_access(request)
    page = team_page(access, team_for(access, team))
    return render(request, "pages/account/team.html", {"page": page, "section": "account"})


@requires(Action.manage)
@require_POST
def set_member(request: HttpRequest, team: str) -> HttpResponse:
    form = MemberForm(request.POST)
    return _change(request, team, form, _set_member)


@requires(Action.manage)
@require_POST
def remove_member(request: HttpRequest, team: str) -> HttpResponse:
    return _change(request, team, LeaveForm(request.POST), _remove_member)


@requires(Action.manage)
@require_POST
def new_project(request: HttpRequest, team: str) -> HttpResponse:
    return _change(request, team, ProjectForm(request.POST), _new_project)


def _set_member(team: Team, said: dict[str, str]) -> object:
    return teams.join(team, people.active_person(said["person"]), Role(said["role"]))


def _remove_member(team: Team, said: dict[str, str]) -> object:
    teams.leave(team, people.person(said["person"]))
    return None


def _new_project(team: Team, said: dict[str, str]) -> object:
    return projects.add_project(team, said["slug"], name=said["name"])


def _change(request: HttpRequest, slug: str, form: forms.Form, change: Change) -> HttpResponse:
    """Only for the team's maintainers; what cannot be done is said on the team's page."""
    access = request_access(request)
    team = team_for(access, slug)
    if not teams.may_manage(access, team):
        raise PermissionDenied(Action.manage.value)
    try:
        if form.is_valid():
            change(team, form.cleaned_data)
            return redirect("team", team.slug)
        page = team_page(
            access,
            team,
            member_form=form if isinstance(form, MemberForm) else None,
            project_form=form if isinstance(form, ProjectForm) else None,
        )
    except Refusal as refusal:
        page = team_page(access, team, findings=refusal.findings)
    context = {"page": page, "section": "account"}
    return render(request, "pages/account/team.html", context, status=UNPROCESSABLE)
