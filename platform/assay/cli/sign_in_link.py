"""The line that says where the dashboard is, with a link that signs in whoever sits at this machine."""

import sys


def print_link(host: str, port: int) -> None:
    """One line on standard output: a link, or where people have accounts the plain address."""
    from django.conf import settings

    from assay.accounts.services import local_user, make_sign_in_link

    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{port}/"
    if settings.EMBEDDED:
        address += f"login/link/{make_sign_in_link(local_user())}"
    sys.stdout.write(f"dashboard  {address}\n")
    sys.stdout.flush()
