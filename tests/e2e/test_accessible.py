"""Every page under axe, on a light desktop and a dark phone: no serious finding. The script is local."""

import pytest

from tests.e2e.conftest import Visit
from tests.e2e.site import Site
from tests.e2e.test_look import PAGES, path
from tests.e2e.visits import LOADED

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
GRAVE = ("serious", "critical")


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_serious(name: str, visited: Visit, site: Site) -> None:
    seen = visited(path(name, site))

    for screen in LOADED:
        found = seen[screen].violations
        assert found is not None
        grave = [
            (one["id"], node["target"], node["failureSummary"])
            for one in found
            if one["impact"] in GRAVE
            for node in one["nodes"][:3]
        ]
        assert grave == [], screen
