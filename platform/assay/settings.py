"""Django settings. The embedded default needs nothing; a team sets the ASSAY_* variables.

ASSAY_HOME          where state lives (default: ``var/`` of the checkout)
ASSAY_DATABASE_URL  postgresql://user@host:port/name; unset means SQLite below ASSAY_HOME
ASSAY_DATABASE_PASSWORD  its password, where the URL holds none
ASSAY_REDIS_URL     redis://host:port/0; unset means a filesystem broker below ASSAY_HOME
ASSAY_HOSTS         comma-separated host names; unset means loopback only, signed in by a printed link
ASSAY_SECRET_KEY    required when ASSAY_HOSTS is set
ASSAY_PLAIN_HTTP    1: served without TLS on a trusted network; cookies are then not marked secure
ASSAY_BEHIND_PROXY  1: a proxy of yours terminates TLS and sets X-Forwarded-Proto
ASSAY_ARCHIVE       where sealed bundles are brought: s3://bucket/prefix or a folder; unset: they stay here
ASSAY_LOG_FORMAT    json: one JSON object a line (default: text for people)
ASSAY_LOG_LEVEL     DEBUG, INFO, WARNING or ERROR (default WARNING)
ASSAY_METRICS_TOKEN  lets Prometheus read /metrics and /readyz beyond loopback, as a bearer token
ASSAY_LEASE_S       how long a run survives without a sign of life of its worker (default 30)
ASSAY_HEARTBEAT_S   how often a worker gives one (default 5)
ASSAY_LOAD_JOIN_S   how long a claimed run waits for its load workers to take its plan (default 60)
ASSAY_POLL_S        how often the scheduler looks for runs whose nudge was lost (default 5)
ASSAY_QUEUES        device kinds that workers here serve: cpu,cuda (default: what this machine has)
ASSAY_ARTIFACT_ROOTS  folders, parted by colons, below which a study's artifact files may lie
ASSAY_ENDPOINT_ALLOWLIST  comma-separated host names where a study's engine may run, beside loopback
ASSAY_URL           where people reach this site, for links in messages (default: the first of ASSAY_HOSTS)
ASSAY_EMAIL_URL     smtp://user:password@host:587?tls=1 (or ?ssl=1); unset: no mail is offered
ASSAY_EMAIL_FROM    the sender of mail (default: assay@localhost)
ASSAY_WEBHOOK_HOSTS     comma-separated host or host:port that webhooks may go to; unset: none
ASSAY_WEBHOOK_NETWORKS  comma-separated private networks that those hosts may lie in, 10.0.0.0/8
ASSAY_WEBHOOK_SECRET    signs every webhook (HMAC-SHA256); unset: none is sent
ASSAY_STUDIES       folder of your own group files (default: studies below ASSAY_HOME, if it is there)
ASSAY_SECRET_NAMES  comma-separated names of variables whose values are replaced in everything recorded

A password, key or secret may lie in a file instead: ASSAY_SECRET_KEY_FILE names it, and so for
ASSAY_DATABASE_PASSWORD, ASSAY_WEBHOOK_SECRET and ASSAY_METRICS_TOKEN.
"""

import os
import secrets
import sys
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from assay.archive.paths import CHECKOUT as ROOT
from assay.archive.paths import PYTHON_PATH, home_from_environment
from assay.operations.logs import configuration
from experiments.checks.policy import Policy

HOME = home_from_environment().root
EMBEDDED = "ASSAY_HOSTS" not in os.environ
SECRET_KEY_FILE = "secret_key"
REDIS_URL = os.environ.get("ASSAY_REDIS_URL") or None
PLAIN_HTTP = EMBEDDED or os.environ.get("ASSAY_PLAIN_HTTP") == "1"


def _secret(name: str) -> str:
    """The variable, or what the file holds that ``NAME_FILE`` names: so a container is given its secrets."""
    if (value := os.environ.get(name)) or not (file := os.environ.get(f"{name}_FILE")):
        return value or ""
    return Path(file).read_text(encoding="utf-8").strip()


def _secret_key() -> str:
    if value := _secret("ASSAY_SECRET_KEY"):
        return value
    if not EMBEDDED:
        raise RuntimeError("ASSAY_SECRET_KEY is not set; it is required when ASSAY_HOSTS is set")
    path = HOME / SECRET_KEY_FILE
    if path.exists():
        return path.read_text(encoding="ascii")
    # A command signs nothing that outlives it; the dashboard makes the file before it starts.
    return secrets.token_urlsafe(50)


def _listed(name: str) -> list[str]:
    return [word.strip().lower() for word in os.environ.get(name, "").split(",") if word.strip()]


def _database() -> dict[str, Any]:
    url = os.environ.get("ASSAY_DATABASE_URL")
    if url:
        parts = urlsplit(url)
        return {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": parts.path.lstrip("/"),
            "USER": unquote(parts.username or ""),
            "PASSWORD": unquote(parts.password or "") or _secret("ASSAY_DATABASE_PASSWORD"),
            # ?host=/folder names a Unix socket, as libpq has it
            "HOST": parts.hostname or parse_qs(parts.query).get("host", [""])[0],
            "PORT": str(parts.port or ""),
            "CONN_MAX_AGE": 60,
            "CONN_HEALTH_CHECKS": True,
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
HOSTS = [h.strip() for h in os.environ.get("ASSAY_HOSTS", "").split(",") if h.strip()]
LOOPBACK_HOSTS = ["127.0.0.1", "localhost", "[::1]"]
ALLOWED_HOSTS = LOOPBACK_HOSTS if EMBEDDED else HOSTS
DATABASES = {"default": _database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

MODEL_APPS = (
    "accounts",
    "ledger",
    "versions",
    "notifications",
    "regressions",
    "review",
    "execution",
    "operations",
)
INSTALLED_APPS = [
    *(f"assay.{app}" for app in MODEL_APPS),
    "assay.pages",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "django_celery_beat",
    "django_htmx",
]
MIGRATION_MODULES = {app: f"migrations.{app}" for app in MODEL_APPS}

MIDDLEWARE = [
    "assay.operations.metrics.time_requests",
    "django.middleware.security.SecurityMiddleware",
    "assay.pages.middleware.content_security_policy",
    "assay.api.middleware.speak_json",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "assay.pages.middleware.require_login",
    "assay.pages.middleware.GuardObjects",
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
            ],
        },
    }
]

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
LOCALE_PATHS = [ROOT / "frontend" / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True
STATIC_URL = "/static/"
STATIC_ROOT = HOME / "static"
STATICFILES_DIRS = [ROOT / "frontend" / "static"]
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
    "assay.pages.finders.PlotlyFinder",
]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "login"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("MinimumLengthValidator", "CommonPasswordValidator", "NumericPasswordValidator")
]
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = not PLAIN_HTTP
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_HTTPONLY = True
CSRF_TRUSTED_ORIGINS = [] if PLAIN_HTTP else [f"https://{h}" for h in HOSTS]
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SECURE_HSTS_SECONDS = 0 if PLAIN_HTTP else 30 * 24 * 3600
if os.environ.get("ASSAY_BEHIND_PROXY") == "1":
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_SSL_REDIRECT = not PLAIN_HTTP
    SECURE_REDIRECT_EXEMPT = [r"^(healthz|readyz)$"]  # asked by the proxy itself

LEASE_S = float(os.environ.get("ASSAY_LEASE_S", "30"))
HEARTBEAT_S = float(os.environ.get("ASSAY_HEARTBEAT_S", "5"))
LOAD_JOIN_S = float(os.environ.get("ASSAY_LOAD_JOIN_S", "60"))
POLL_S = float(os.environ.get("ASSAY_POLL_S", "5"))
# Which device kinds the workers of this machine serve.
QUEUES = [q for q in os.environ.get("ASSAY_QUEUES", "").split(",") if q] or (
    ["cpu", "cuda"] if Path("/dev/nvidia0").exists() else ["cpu"]
)
# Both are started as processes of their own: engines and Polars never load in a web or Celery process.
RUNNER_COMMAND = [sys.executable, "-P", "-m", "runners"]
INTERPRETER_COMMAND = [sys.executable, "-P", "-m", "assay.archive.interpretation"]
SUBPROCESS_PATH = PYTHON_PATH
CELERY_BEAT_SCHEDULER = "django_celery_beat.schedulers:DatabaseScheduler"
SITE_URL = os.environ.get("ASSAY_URL") or (
    f"https://{HOSTS[0]}" if HOSTS else "http://127.0.0.1:8000"
)
EMAIL_OFFERED = bool(os.environ.get("ASSAY_EMAIL_URL"))
_MAIL = urlsplit(os.environ.get("ASSAY_EMAIL_URL", ""))
EMAIL_HOST, EMAIL_PORT, EMAIL_TIMEOUT = _MAIL.hostname or "localhost", _MAIL.port or 25, 10
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = unquote(_MAIL.username or ""), unquote(_MAIL.password or "")
EMAIL_USE_TLS, EMAIL_USE_SSL = "tls=1" in _MAIL.query, "ssl=1" in _MAIL.query
DEFAULT_FROM_EMAIL = os.environ.get("ASSAY_EMAIL_FROM", "assay@localhost")
WEBHOOK_HOSTS = _listed("ASSAY_WEBHOOK_HOSTS")
WEBHOOK_NETWORKS = _listed("ASSAY_WEBHOOK_NETWORKS")
WEBHOOK_SECRET = _secret("ASSAY_WEBHOOK_SECRET")
STUDIES = os.environ.get("ASSAY_STUDIES") or None
_POLICY = Policy.from_environment(os.environ)
# The last one holds what was made here: assay artifact make.
ARTIFACT_ROOTS = [*map(Path, _POLICY.artifact_roots), HOME / "artifacts"]
ENDPOINT_HOSTS = list(_POLICY.url_hosts)
SECRET_NAMES = [n for n in os.environ.get("ASSAY_SECRET_NAMES", "").split(",") if n]
SECRET_NAMES += ["ASSAY_WEBHOOK_SECRET"] if WEBHOOK_SECRET else []
# What this process knows for its own use, and an engine's log or environment must never show.
_OWN_SECRETS = ("ASSAY_METRICS_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
SECRET_NAMES += [name for name in _OWN_SECRETS if os.environ.get(name)]
LOGGING = configuration()
METRICS_TOKEN = _secret("ASSAY_METRICS_TOKEN")
