"""What a page about a model is asked: a device, a load and a layout, from the query string."""

from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from assay.analysis.devices.catalogue import DEVICES
from assay.analysis.devices.device_roofs import THIS_HOST
from assay.analysis.perfmodel.precision import DTYPE_BITS

MAX_TOKENS = 10_000_000
MAX_RANKS = 512
DEFAULT_DEVICE = "H100-SXM"

_DTYPES = ("float32", "bfloat16", "float16", "float8_e4m3fn")


def _dtype_choices() -> list[tuple[str, Any]]:
    return [("", _("as declared")), *((name, name) for name in _DTYPES if name in DTYPE_BITS)]


def device_choices() -> list[tuple[str, Any]]:
    return [
        ("", _("none")),
        *((entry.name, entry.name) for entry in DEVICES),
        (THIS_HOST, _("this host, as measured")),
    ]


def _number(label: Any, initial: int, highest: int) -> forms.IntegerField:
    return forms.IntegerField(
        label=label, initial=initial, min_value=1, max_value=highest, required=False
    )


class Question(forms.Form):
    """Absent fields keep their initial value, so that every link needs only what it changes."""

    device = forms.ChoiceField(label=_("Device"), choices=device_choices, required=False)
    batch = _number(_("Batch"), 1, 100_000)
    context = _number(_("Context, tokens"), 4096, MAX_TOKENS)
    tp = _number(_("Tensor parallel"), 1, MAX_RANKS)
    pp = _number(_("Pipeline"), 1, MAX_RANKS)
    ep = _number(_("Expert parallel"), 1, MAX_RANKS)
    dp = _number(_("Data parallel"), 1, MAX_RANKS)
    weight_dtype = forms.ChoiceField(
        label=_("Weights run as"), choices=_dtype_choices, required=False
    )
    kv_dtype = forms.ChoiceField(label=_("KV cache"), choices=_dtype_choices, required=False)


def asked(data: QueryDict, *, device: str = DEFAULT_DEVICE) -> tuple[Question, dict[str, Any]]:
    """The form as the page shows it and its values; a wrong value keeps the initial one beside its error."""
    initial = {name: field.initial for name, field in Question.base_fields.items()}
    initial["device"] = device
    form = Question({name: data.get(name, initial[name]) for name in initial})
    form.is_valid()
    values = {
        name: initial[name] if form.cleaned_data.get(name) in (None, "") else found
        for name, found in ((n, form.cleaned_data.get(n)) for n in initial)
    }
    if "device" in data and not form.errors.get("device"):
        values["device"] = form.cleaned_data["device"]  # "none" is a choice of its own
    return form, values
