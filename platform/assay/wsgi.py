"""WSGI entry for gunicorn."""

import gc
import os
import secrets
from importlib import import_module
from pathlib import Path

from assay.archive.paths import home_from_environment

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "assay.settings")


def keep_secret_key(path: Path) -> None:
    """Make the embedded dashboard's key once; of several processes that start together, the first wins."""
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.touch(mode=0o600)
    partial.write_text(secrets.token_urlsafe(50), encoding="ascii")
    try:
        os.link(partial, path)
    except FileExistsError:
        pass
    finally:
        partial.unlink()


def settle() -> None:
    """Load every page now, and leave what is loaded out of later collections.

    Else the first reader waits for the imports, and each full collection, which rendering a long table sets
    off, walks some hundred thousand objects that never die: most of what lay between a page's p50 and p95.
    """
    from django.conf import settings

    import_module(settings.ROOT_URLCONF)
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


if "ASSAY_HOSTS" not in os.environ and "ASSAY_SECRET_KEY" not in os.environ:
    keep_secret_key(home_from_environment().root / "secret_key")

from django.core.wsgi import get_wsgi_application  # noqa: E402 - the settings read the key

application = get_wsgi_application()
settle()
