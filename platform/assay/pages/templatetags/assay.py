"""Template vocabulary: quantities, unknowns, states, digests. All of them escape what they print."""

import re
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from assay.accounts.models import Action
from assay.pages import formatting, words
from assay.pages.hostile import visible
from assay.pages.middleware import request_access

register = template.Library()
TEXT_CHARACTERS = 20_000  # of one value; what is longer says by how much


@register.simple_tag
def quantity(value: float | int | None, unit: str, reason: str | None = None) -> SafeString:
    """``612 ms`` with the exact value on hover; a missing value is an unknown with its reason."""
    if value is None:
        return unknown(reason)
    return shown(formatting.quantity(value, unit))


@register.simple_tag
def shown(value: formatting.Quantity | None, reason: str | None = None) -> SafeString:
    if value is None:
        return unknown(reason)
    if not value.unit:
        return format_html('<span class="num" title="{}">{}</span>', value.exact, value.text)
    return format_html(
        '<span class="num" title="{}">{}{}<span class="unit">{}</span></span>',
        value.exact,
        value.text,
        formatting.THIN_SPACE,
        value.unit,
    )


@register.simple_tag
def parameters(value: int | None, reason: str | None = None) -> SafeString:
    """``671B`` with the exact count on hover."""
    return unknown(reason) if value is None else shown(formatting.parameters(value))


@register.simple_tag
def fraction(value: float | None, reason: str | None = None) -> SafeString:
    """A share as a percentage."""
    return unknown(reason) if value is None else shown(formatting.share(value))


@register.simple_tag
def unknown(reason: str | None = None) -> SafeString:
    """The look of an unknown value. Without a reason it says that none was recorded."""
    return format_html(
        '<span class="unknown" title="{0}">{0}</span>',
        _("unknown: {reason}").format(reason=reason or _("no reason recorded")),
    )


@register.simple_tag
def state(word: str | None, title: str = "") -> SafeString:
    name = word or "unknown"
    return format_html(
        '<span class="state" data-state="{}" data-tone="{}" title="{}">{}</span>',
        name,
        words.tone(name),
        title,
        name,
    )


@register.simple_tag
def digest(value: str | None, reason: str | None = None) -> SafeString:
    """Twelve digits to read, all of them to copy."""
    if not value:
        return unknown(reason)
    return format_html(
        '<span class="nowrap"><code title="{}">{}</code>'
        '<button type="button" class="copy" data-copy="{}" aria-label="{}">{}</button></span>',
        value,
        formatting.short_digest(value),
        value,
        _("Copy the full digest"),
        _("copy"),
    )


@register.simple_tag
def revision(value: str) -> SafeString:
    """An immutable id with its long hash cut for reading; all of it on hover and to copy."""
    cut = re.sub(r"[0-9a-f]{32,}", lambda found: found[0][:8] + "…", value)
    return format_html(
        '<code class="revision" title="{}">{}</code>'
        '<button type="button" class="copy" data-copy="{}" aria-label="{}">{}</button>',
        value,
        cut,
        value,
        _("Copy the full revision"),
        _("copy"),
    )


@register.filter
def integer(value: int) -> str:
    return formatting.integer(value)


@register.filter
def relative(value: float) -> str:
    return formatting.relative(value)


@register.filter
def elapsed(value: timedelta | float) -> str:
    return formatting.duration(value)


@register.simple_tag
def moment(value: datetime | None, reason: str = "") -> SafeString:
    if value is None:
        return unknown(reason or _("not recorded"))
    return format_html(
        '<time class="num nowrap" datetime="{}" title="UTC">{}</time>',
        value.isoformat(),
        formatting.moment(value),
    )


@register.filter
def plain(value: Any) -> str:
    """A declared value as text: lists joined, objects as key=value, ``null`` written out."""
    if value is None:
        return _("null")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return ", ".join(f"{key}={plain(item)}" for key, item in value.items()) or _("(empty)")
    if isinstance(value, list | tuple):
        return ", ".join(plain(item) for item in value) or _("(none)")
    return visible(str(value), TEXT_CHARACTERS)


@register.simple_tag
def long(value: Any, shown: int = 90) -> SafeString:
    """A value of any length: what is over ``shown`` characters is folded, not cut."""
    text = plain(value)
    if len(text) <= shown + 20:
        return format_html("{}", text)
    return format_html(
        '<details class="long"><summary>{}…</summary>{}</details>', text[:shown], text[shown:]
    )


@register.simple_tag
def variable(variables: dict[str, Any], name: str) -> str:
    """What a run moved under ``name``; a run that did not move it keeps the study's value."""
    return plain(variables[name]) if name in variables else _("as declared")


@register.simple_tag(takes_context=True)
def may(context: dict[str, Any], action: str, project_id: UUID) -> bool:
    """Whether the reader may do that to the things of a project; no page offers what would be refused."""
    return request_access(context["request"]).may(Action(action), project_id)


@register.simple_tag(takes_context=True)
def may_maintain(context: dict[str, Any]) -> bool:
    """Whether the reader maintains anything here."""
    return request_access(context["request"]).anywhere(Action.manage)


@register.simple_tag(takes_context=True)
def query(context: dict[str, Any], **changes: Any) -> str:
    """The current query string with some parameters changed; an empty value removes one."""
    parameters = context["request"].GET.copy()
    for key, value in changes.items():
        parameters.pop(key, None)
        if value not in ("", None):
            parameters[key] = str(value)
    return f"?{parameters.urlencode()}"


@register.simple_tag(takes_context=True)
def exports(
    context: dict[str, Any], table: str = "", label: str = "", **changes: Any
) -> SafeString:
    """Links to one table of the page as files, under the filters of this very address."""
    links = format_html_join(
        " · ",
        '<a href="{}" download>{}</a>',
        (
            (query(context, table=table, format=form, page="", part="", **changes), name)
            for form, name in (("csv", "CSV"), ("json", "JSON"), ("parquet", "Parquet"))
        ),
    )
    return format_html('<span class="exports">{}: {}</span>', label or _("Export"), links)
