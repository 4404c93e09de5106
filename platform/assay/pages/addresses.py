"""Where a form says that it stands: followed only where it is a page of ours."""

from django.utils.http import url_has_allowed_host_and_scheme


def local_address(asked: str) -> str:
    """``asked`` itself, or an empty text for anything that could lead elsewhere."""
    ours = asked.startswith("/") and url_has_allowed_host_and_scheme(asked, allowed_hosts=None)
    return asked if ours else ""
