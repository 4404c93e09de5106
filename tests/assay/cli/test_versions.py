"""``assay versions``: what was read of releases, and the link from a run to what it showed."""

import json

import pytest

from assay.archive.paths import Home
from assay.cli.main import main
from assay.versions.models import Confirmation
from tests.assay.versions.test_confirming import SAID, identified
from tests.assay.versions.test_confirming import run as run


@pytest.mark.req("7.17")
def test_releases_are_printed_in_their_own_words_with_their_marks(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["versions", "vllm"]) == 0

    text = capsys.readouterr().out
    assert (
        "vLLM 0.28.0  GA  read 2026-11-29 as third_party, SOURCE_ENTRY_ONLY, floating page" in text
    )
    assert "this version states: --ir-op-priority deprecated" in text


def test_two_versions_name_what_lies_between_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["versions", "vllm", "0.32.0..0.33.0", "--json"]) == 0

    (found,) = json.loads(capsys.readouterr().out)
    assert (found["version"], found["released"]["first"]) == ("0.33.0", "2026-11-01")


@pytest.mark.parametrize(
    "asked", [["abacus"], ["vllm", "0.32.0"], ["vllm", "0.33.0..0.32.0"], ["confirm", "x", "y"]]
)
def test_what_is_not_known_is_refused_with_what_is_allowed(
    asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["versions", *asked]) == 2
    assert "allowed: " in capsys.readouterr().err


@pytest.mark.django_db
@pytest.mark.req("7.17")
def test_a_run_is_linked_to_what_its_log_names(
    run: object, assay_home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    identified(assay_home, {"answered": "0.32.0"}, SAID)
    asked = ["versions", "confirm", str(run.pk), "--log-config-file"]  # type: ignore[attr-defined]

    assert main([*asked[:3], "--json", "--line", "2", "--", asked[3]]) == 0

    assert json.loads(capsys.readouterr().out)["record"] == "vllm 0.32.0"
    assert Confirmation.objects.filter(statement="--log-config-file").exists()
