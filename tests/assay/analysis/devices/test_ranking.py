"""An order of rated figures as of the editions of their sources."""

import pytest

from assay.analysis.devices.catalogue import DEVICES, device
from assay.analysis.devices.ranking import BANDWIDTH, MEMORY, place_of, ranking
from assay.analysis.perfmodel.errors import ModelRefused


def test_devices_stand_in_falling_order_with_the_edition_of_each_source() -> None:
    order = ranking([device("A100"), device("H100"), device("L4")], by=BANDWIDTH)

    assert [place.name for place in order.places] == ["H100-SXM", "A100-80GB-SXM", "L4"]
    assert [place.figure.edition for place in order.places] == ["2022", "2021", "2023"]
    assert order.left_out == {}


def test_a_device_without_the_figure_is_named_with_the_reason() -> None:
    order = ranking([device("A100"), device("H100")], by="float8_e4m3fn")

    assert [place.name for place in order.places] == ["H100-SXM"]
    assert order.left_out == {"A100-80GB-SXM": "no such figure is known"}


@pytest.mark.req("12.05")
@pytest.mark.forbids
@pytest.mark.parametrize("name", ["Apple-M3-Ultra", "H20-96GB", "Xeon-8480+"])
def test_a_product_page_gives_no_place_in_a_dated_order(name: str) -> None:
    order = ranking(DEVICES, by=MEMORY)

    assert name not in {place.name for place in order.places}
    assert "product page" in order.left_out[name]
    with pytest.raises(ModelRefused, match="product page") as caught:
        place_of(DEVICES, name=name, by=MEMORY)
    assert caught.value.finding.allowed == "a figure from a dated source"


def test_a_place_counts_from_one() -> None:
    assert place_of([device("A100"), device("H100")], name="A100-80GB-SXM", by=BANDWIDTH) == 2
