"""Engines and their versions: what was read is told as read, what ran as ran, moving pages are marked."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from assay.archive.paths import Home
from assay.versions.models import Confirmation
from experiments.changes import catalogue
from runners.catalogue import ENGINES
from tests.assay.archive.test_parser_dumps import install
from tests.assay.pages.conftest import page
from tests.assay.pages.factory import Laboratory

pytestmark = pytest.mark.usefixtures("assay_home")


def section(text: str, version: str) -> str:
    """The entry of one release."""
    return text[text.index(f'id="v-{version}"') :].split("</section>")[0]


def plain(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_every_engine_is_listed_with_its_releases_and_runs(
    lab: Laboratory, somebody: Client
) -> None:
    text = plain(page(somebody, reverse("engines")))

    assert "vLLM vllm" in text
    assert set(catalogue.engines()) <= set(ENGINES)
    assert "1.3.0rc24 RC floating" in text
    assert "2.13.0: 9" in text  # three of the sweep, six in other states


@pytest.mark.req("7.17")
def test_a_release_that_no_run_showed_is_told_in_its_own_words(somebody: Client) -> None:
    text = section(page(somebody, reverse("engine", args=["vllm"])), "0.32.0")

    assert "what follows is what this version states" in text
    assert "this version states: deprecated" in text
    assert "shown by" not in text


@pytest.mark.req("7.17")
def test_a_run_that_showed_a_release_and_a_change_is_linked(
    lab: Laboratory, somebody: Client
) -> None:
    for statement in ("", "--log-config-file"):
        Confirmation.objects.create(
            record="vllm 0.32.0",
            statement=statement,
            run=lab.run,
            bundle=lab.bundle,
            strength="log",
            evidence=[None],
        )

    text = section(page(somebody, reverse("engine", args=["vllm"])), "0.32.0")

    url = reverse("run", args=[lab.run.pk])
    assert text.count(f'href="{url}"') == 2
    assert f"deprecated (shown by run {str(lab.run.pk)[:8]})" in text
    assert "this version states: no effect" in text  # the other change is not shown by it


@pytest.mark.req("7.18", "7.20")
def test_a_candidate_and_a_page_that_moves_carry_their_marks_and_no_step(
    somebody: Client,
) -> None:
    trtllm = page(somebody, reverse("engine", args=["tensorrt_llm"]))
    third_party = plain(section(page(somebody, reverse("engine", args=["vllm"])), "0.28.0"))

    assert "1.3.0rc24 RC" in plain(section(trtllm, "1.3.0rc24"))
    assert "floating page" in section(trtllm, "1.2.1")
    assert "no step: read as near on a floating page" in section(trtllm, "1.2.1")
    assert "no step: read as third_party" in third_party


def test_two_versions_are_compared_by_records_parts_and_their_own_parsers(
    somebody: Client, assay_home: Home
) -> None:
    install(assay_home, "0.32.0", {"names": ["--gone"]}, {"names": ["--kept"]})
    install(assay_home, "0.33.0", {"names": ["--kept"]}, {"names": ["--monokernel"]})

    text = plain(page(somebody, reverse("engine-diff", args=["vllm", ("0.32.0", "0.33.0")])))

    assert "--gone removed" in text
    assert "--monokernel added" in text
    assert "torch 2.13.0 2.14.0" in text
    assert "still taken, although 0.32.0 announced its removal" in text
    assert "--calculate-kv-scales" not in text  # of 0.28.0


def test_without_a_dump_the_parsers_are_unknown_and_the_command_to_get_one_is_told(
    somebody: Client, assay_home: Home
) -> None:
    install(assay_home, "0.32.0", {"names": ["--kept"]})

    text = page(somebody, reverse("engine-diff", args=["vllm", ("0.32.0", "0.33.0")]))

    assert "unknown: a parser dump is missing" in text
    assert "assay engines install vllm==0.33.0" in text
    assert "assay engines install vllm==0.32.0" not in text


def test_the_versions_asked_for_lead_to_their_comparison(somebody: Client) -> None:
    response = somebody.get(reverse("engine", args=["vllm"]) + "?older=0.32.0&newer=0.33.0")

    assert response["Location"] == "/engines/vllm/0.32.0..0.33.0"


def test_versions_the_wrong_way_round_are_refused_with_what_is_allowed(somebody: Client) -> None:
    text = page(somebody, "/engines/vllm/0.33.0..0.32.0", status=400)

    assert "0.33.0..0.32.0" in text
    assert "the older version first" in text


@pytest.mark.parametrize("url", ["/engines/abacus", "/engines/abacus/1.0..2.0"])
def test_an_unknown_engine_is_not_found(url: str, somebody: Client) -> None:
    assert somebody.get(url).status_code == 404


@pytest.mark.req("7.01", "6.18", "5.21")
def test_an_engines_page_shows_responsibilities_interfaces_and_modes_by_version(
    somebody: Client,
) -> None:
    text = plain(page(somebody, reverse("engine", args=["vllm"])))

    assert "scheduler Scheduler vllm.v1.core.sched.scheduler" in text
    assert "what survives a restart unknown: not evidenced" in text
    assert "Enabled by VLLM_BATCH_INVARIANT=1 Status not evidenced" in text
