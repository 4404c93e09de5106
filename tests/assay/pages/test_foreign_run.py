"""A result of another load client on the usual pages and on the terminal: every page renders."""

import pytest
from django.test import Client
from django.urls import reverse

from assay.archive.foreign.table import read_result
from assay.archive.paths import Home
from assay.cli.main import main
from assay.execution.importing_results import import_result
from tests.assay.archive.foreign.results import FILES
from tests.assay.pages.conftest import page
from tests.assay.pages.test_run_pages import PAGES


@pytest.mark.parametrize("tool", FILES)
def test_every_page_opens_and_names_the_tool_s_rules(
    db: None, assay_home: Home, somebody: Client, tool: str
) -> None:
    run = import_result(FILES[tool], assay_home, owner="ada").run

    texts = {name: page(somebody, reverse(name, args=[run.pk])) for name in PAGES}

    assert f"ttft.as_{tool}" in texts["run-latency"]
    assert '<span class="level">E1</span>' in texts["run"]


def test_a_request_of_another_tool_has_its_page_without_a_byte(
    db: None, assay_home: Home, somebody: Client
) -> None:
    result = read_result(FILES["guidellm"]).result
    run = import_result(FILES["guidellm"], assay_home, owner="ada").run

    text = page(somebody, reverse("run-attempt", args=[run.pk, result.calls[0].call_id]))

    assert 'data-state="completed"' in text


def test_a_percentile_that_too_few_samples_carry_is_said_plainly(
    db: None, assay_home: Home, somebody: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    run = import_result(FILES["aiperf"], assay_home, owner="ada").run
    words = "too few samples for p99: 40, at least 100 are needed"

    assert words in page(somebody, reverse("run-latency", args=[run.pk]))
    assert main(["show", str(run.pk), "--all"]) == 0
    shown = capsys.readouterr().out
    assert f"unknown: {words}" in shown
    assert "itl.as_aiperf" in shown
