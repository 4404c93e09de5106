"""Every page under axe, in both schemes and at both widths: no serious finding. The script is local."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.e2e.conftest import Open
from tests.e2e.site import Site
from tests.e2e.test_look import PAGES, path

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
GRAVE = ("serious", "critical")


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_serious(name: str, browse: Open, site: Site) -> None:
    for width, scheme in ((1440, "light"), (390, "dark")):
        page = browse(width, scheme).open(path(name, site))

        found = Axe().run(page).response["violations"]

        grave = [
            (one["id"], node["target"], node["failureSummary"])
            for one in found
            if one["impact"] in GRAVE
            for node in one["nodes"][:3]
        ]
        assert grave == [], (width, scheme)
