"""Parameters fitted on published steps, as stored with the comparison."""

from assay.analysis.device_estimate.parameters import KNOWN
from assay.archive.published import published_parameters, stored_comparison


def test_every_parameter_is_stored_with_its_label_and_where_it_was_fitted() -> None:
    table = published_parameters()

    assert table.values.keys() == KNOWN.keys()
    assert {p["source"] for p in table.parameters} == {"fit", "assumption"}
    assert len(table.places) == len(table.held_out_ratios) == 26
    assert ("A100-80GB-SXM", "gpt-fast") in {(p.device, p.engine) for p in table.places}


def test_held_out_ratios_are_those_of_the_fitted_rows() -> None:
    ratios = published_parameters().held_out_ratios
    fitted = [row for row in stored_comparison()["rows"] if row["used"] == "fitted"]
    expected = sorted(
        (row["measured_s"] or 0) / row["estimates"]["model_left_out_s"]
        for row in fitted
        if row["estimates"]
    )

    assert all(abs(a - b) < 1e-3 for a, b in zip(ratios, expected, strict=True))
