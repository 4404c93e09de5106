"""What a machine offers, as the runner sees it and as workers of other releases wrote it down."""

from dataclasses import replace
from pathlib import Path

from assay.archive.paths import Home
from assay.execution import offers
from assay.execution.offers import Offer
from tests.assay.specs import offered


def test_a_home_is_known_by_its_folder_and_not_by_the_name_of_it(tmp_path: Path) -> None:
    home, other = tmp_path / "home", tmp_path / "other"
    home.mkdir()
    other.mkdir()
    (tmp_path / "link").symlink_to(home)

    seen, linked, beside = (
        offers.look(Home(tmp_path / n), ["load"]) for n in ("home", "link", "other")
    )

    assert seen.home == linked.home != beside.home
    assert seen.network == beside.network != ""


def test_an_offer_is_read_as_it_was_written() -> None:
    offer = replace(offered("a", queues=["load"]), network="a/1", home="8:1")

    assert Offer.parse(offer.document()) == offer


def test_an_older_worker_says_neither_its_network_nor_its_home() -> None:
    document = offered().document()
    del document["network"], document["home"]

    found = Offer.parse(document)

    assert (found.network, found.home) == ("", "")
