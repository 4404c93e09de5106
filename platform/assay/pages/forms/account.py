"""What people fill in about themselves: a new token."""

from django import forms
from django.utils.translation import gettext_lazy as _

from assay.accounts.models import Action
from assay.accounts.tokens import NAME_LENGTH

SCOPES = (
    (Action.view.value, _("view: read studies, runs, bundles")),
    (Action.write.value, _("write: submit, cancel, run again")),
    (Action.review.value, _("review: comment and decide")),
    (Action.manage.value, _("manage: members, schedules, retractions")),
)
LIVES = ((7, _("a week")), (30, _("30 days")), (90, _("90 days")), (365, _("a year")))


class TokenForm(forms.Form):
    name = forms.CharField(
        label=_("Name"), max_length=NAME_LENGTH, help_text=_("where it will be used")
    )
    scopes = forms.MultipleChoiceField(
        label=_("May"), choices=SCOPES, widget=forms.CheckboxSelectMultiple
    )
    days = forms.TypedChoiceField(label=_("Works for"), choices=LIVES, coerce=int)
