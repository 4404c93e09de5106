"""Django settings of the tests: a home of its own per process, SQLite in a file or a real PostgreSQL.

ASSAY_TEST_DATABASE=postgresql runs the same tests on a PostgreSQL that the test run starts.
"""

import atexit
import os
import shutil
import tempfile

_home = tempfile.mkdtemp(prefix="assay-test-home-")
atexit.register(shutil.rmtree, _home, ignore_errors=True)
for _name in [n for n in os.environ if n.startswith("ASSAY_") and not n.startswith("ASSAY_TEST")]:
    if _name != "ASSAY_SOAK":
        del os.environ[_name]  # a developer's own installation is never touched
os.environ["ASSAY_HOME"] = _home

from assay.settings import *  # noqa: E402, F403
from assay.settings import DATABASES, TEMPLATES  # noqa: E402
from tests import servers  # noqa: E402

servers.name_this_run()
if os.environ.get("ASSAY_TEST_DATABASE") == "postgresql":
    os.environ["ASSAY_DATABASE_URL"] = servers.postgres_url()
    from assay.settings import _database

    DATABASES["default"] = {**_database(), "CONN_MAX_AGE": 0}
else:
    # A file, not memory: heartbeats and subprocesses open connections of their own.
    DATABASES["default"]["TEST"] = {"NAME": f"{_home}/test.sqlite3"}

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
WHITENOISE_AUTOREFRESH = True
INVALID_IN_TEMPLATE = "[[no such variable: %s]]"
TEMPLATES[0]["OPTIONS"]["string_if_invalid"] = INVALID_IN_TEMPLATE  # type: ignore[index]
