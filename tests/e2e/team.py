"""A team's installation: PostgreSQL and Redis, and people who sign in by name and password."""

import re
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.cookiejar import CookieJar

from tests import servers
from tests.e2e.site import Site

ADMINISTRATOR = "grace"
PASSWORD = "a long enough phrase for tests"


@contextmanager
def services() -> Iterator[Mapping[str, str]]:
    """The variables of an installation on an empty database of the real servers."""
    with servers.postgres_database() as database:
        yield {
            "ASSAY_DATABASE_URL": database,
            "ASSAY_REDIS_URL": servers.redis_database(),
            "ASSAY_HOSTS": "127.0.0.1",
            "ASSAY_SECRET_KEY": "known to the tests alone, and of no use elsewhere",
            "ASSAY_PLAIN_HTTP": "1",
        }


def by_password(site: Site) -> str:
    """The session of the administrator, who is added and signs in by name and password."""
    site.assay("account", "add", ADMINISTRATOR, "--administrator", typed=f"{PASSWORD}\n")
    jar = CookieJar()
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    with opener.open(f"{site.url}/login/", timeout=20) as answer:
        form = answer.read().decode()
    found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', form)
    assert found is not None, "the sign-in page has no form"
    fields = {
        "username": ADMINISTRATOR,
        "password": PASSWORD,
        "csrfmiddlewaretoken": found[1],
        "next": "/",
    }
    opener.open(f"{site.url}/login/", urllib.parse.urlencode(fields).encode(), timeout=20).close()
    return next(str(cookie.value) for cookie in jar if cookie.name == "sessionid")
