"""What a maintainer fills in about a team: a member with a role, a project."""

from django import forms
from django.utils.translation import gettext_lazy as _

from assay.accounts.models import Role
from assay.accounts.slugs import LONGEST


class MemberForm(forms.Form):
    person = forms.CharField(label=_("Name"), max_length=150, help_text=_("as they sign in"))
    role = forms.ChoiceField(label=_("As"), choices=Role.choices)


class LeaveForm(forms.Form):
    person = forms.CharField(max_length=150)


class ProjectForm(forms.Form):
    slug = forms.SlugField(label=_("Short name"), max_length=LONGEST)
    name = forms.CharField(label=_("Full name"), max_length=120, required=False)
