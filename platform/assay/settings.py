"""Django settings. The embedded default needs nothing; a team sets the ASSAY_* variables.

ASSAY_HOME          where state lives (default: ``var/`` of the checkout)
ASSAY_DATABASE_URL  postgresql://user@host:port/name; unset means SQLite below ASSAY_HOME
ASSAY_REDIS_URL     redis://host:port/0; unset means a filesystem broker below ASSAY_HOME
ASSAY_SECRET_KEY    required outside the embedded mode
ASSAY_HOSTS         comma-separated host names; unset means loopback only
"""

import os
import secrets
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[2]
HOME = Path(os.environ.get("ASSAY_HOME", ROOT / "var")).resolve()
EMBEDDED = "ASSAY_HOSTS" not in os.environ


def _secret_key() -> str:
    if value := os.environ.get("ASSAY_SECRET_KEY"):
        return value
    if not EMBEDDED:
        raise RuntimeError("ASSAY_SECRET_KEY is not set; it is required when ASSAY_HOSTS is set")
    path = HOME / "secret_key"
    if not path.exists():
        HOME.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_text(secrets.token_urlsafe(50), encoding="ascii")
    return path.read_text(encoding="ascii")


def _database() -> dict[str, Any]:
    url = os.environ.get("ASSAY_DATABASE_URL")
    if url:
        parts = urlsplit(url)
        return {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": parts.path.lstrip("/"),
            "USER": unquote(parts.username or ""),
            "PASSWORD": unquote(parts.password or ""),
            "HOST": parts.hostname or "",
            "PORT": str(parts.port or ""),
            "CONN_MAX_AGE": 60,
        }
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": HOME / "db.sqlite3",
        "OPTIONS": {
            # web, worker and beat write together: a deferred transaction fails at once on a lock upgrade
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
        },
    }


SECRET_KEY = _secret_key()
DEBUG = False
ALLOWED_HOSTS = (
    ["127.0.0.1", "localhost", "[::1]"] if EMBEDDED else os.environ["ASSAY_HOSTS"].split(",")
)
DATABASES = {"default": _database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

MODEL_APPS = ("ledger", "execution")
INSTALLED_APPS = [
    *(f"assay.{app}" for app in MODEL_APPS),
    "assay.pages",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_celery_beat",
    "django_htmx",
]
MIGRATION_MODULES = {app: f"migrations.{app}" for app in MODEL_APPS}

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]
ROOT_URLCONF = "assay.urls"
WSGI_APPLICATION = "assay.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [ROOT / "frontend" / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
STATIC_URL = "static/"
STATIC_ROOT = HOME / "static"
STATICFILES_DIRS = [ROOT / "frontend" / "static"]
