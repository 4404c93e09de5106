"""``assay search`` against a server whose capacity is known."""

import json
from pathlib import Path
from typing import Any

import pytest

from assay.archive.paths import Home
from assay.cli import search_words
from assay.cli.main import main
from assay.cli.search import requests_of
from assay.cli.search_study import overrides_of
from assay.ledger.models import Run
from experiments.errors import Refusal
from runners.protocol import manifest
from tests.runners.load.elsewhere import an_endpoint, of_capacity, served

pytestmark = pytest.mark.slow


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    return Home(tmp_path / "home")


def searched(
    capsys: pytest.CaptureFixture[str], url: str, *words: str
) -> tuple[int, dict[str, Any]]:
    code = main(["search", "--url", url, "--model", "small", "--tokens", "3", *words, "--json"])
    return code, json.loads(capsys.readouterr().out.splitlines()[-1])


def test_it_finds_the_concurrency_that_a_known_server_holds(
    own_home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    # 2 slots of 0.2 s: with C in flight the mean time to first content is 0.2 s * C / 2, so C = 2 needs
    # 0.2 s, C = 3 0.3 s, C = 4 0.4 s. Against a limit of 0.29 s two hold and three do not.
    with served(an_endpoint(of_capacity(2, 0.2))) as server:
        code, found = searched(
            capsys,
            server.url,
            *("search.over=concurrency", "search.slo.ttft=290ms", "search.share=0.9"),
            *("search.requests=18", "search.rounds=5"),
        )

    result = found["result"]
    assert code == 0
    assert [p["value"] for p in found["probes"]] == [1, 2, 4, 3]
    assert (result["highest_met"], result["lowest_not_met"]) == (2, 3)
    assert result["converged"]


def test_every_probe_is_a_run_with_a_bundle_and_prompts_of_its_own(
    own_home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    with served(an_endpoint(of_capacity(50, 0.0))) as server:
        code, found = searched(
            capsys,
            server.url,
            *("search.start=20", "search.limit=40", "search.slo.ttft=2s"),
            *("search.seconds=0.5", "search.requests=5"),
        )
        sent = [e.document["messages"][0]["content"] for e in server.exchanges if e.body]

    assert code == 0
    # 20 a second for half a second are 10 requests, 40 a second are 20
    assert [(p["value"], p["requests"]) for p in found["probes"]] == [(20, 10), (40, 20)]
    assert len(set(sent)) == len(sent) == 30
    for probe in found["probes"]:
        assert manifest.verify(Path(probe["bundle"])).ok
    record = Path(found["record"])
    assert record.parent == own_home.searches
    kept = json.loads(record.read_text())
    assert kept["probes"] == found["probes"]
    assert kept["result"]["why"] == "met up to the declared limit of 40"
    assert kept["rule"]["share"] == 0.99


@pytest.mark.forbids
def test_a_probe_that_cannot_be_judged_is_invalid_in_the_record(
    own_home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    """The endpoint is gone: every run fails, none of them says that the SLO was missed."""
    with served(of_capacity(1, 0.0)) as server:
        url = server.url

    code, found = searched(
        capsys, url, "search.slo.ttft=1s", "search.most_probes=1", "search.requests=2"
    )

    assert code == 1
    assert [p["verdict"] for p in found["probes"]] == ["invalid"]
    assert found["result"]["lowest_not_met"] is None
    assert "no answer from" in found["probes"][0]["reason"]


@pytest.mark.forbids
@pytest.mark.parametrize(
    ("words", "field"),
    [
        (["search.slo.ttft=1s", "search.steps=3"], "search.steps"),
        (["search.slo.ttft=1s", "search.ratio=1"], "search.ratio"),
        (["search.slo.ttft=1s", "search.over=tokens"], "search.over"),
        (["search.slo.ttft=1s", "search.start=5", "search.limit=2"], "search.start"),
        (["search.over=rate"], "search.slo.ttft"),
    ],
)
def test_a_rule_that_cannot_hold_is_refused(words: list[str], field: str) -> None:
    with pytest.raises(Refusal) as caught:
        search_words.read(words)

    assert caught.value.findings[0].field == field


def test_the_size_of_a_probe_follows_from_time_or_rounds() -> None:
    rate = search_words.read(["search.slo.ttft=1s", "search.seconds=10", "search.requests=30"])
    flight = search_words.read(["search.slo.ttft=1s", "search.over=concurrency"])

    # 2.5 a second for 10 s are 25, the least is 30; 4 a second are 40; 16 in flight for 8 rounds are 128
    assert requests_of(2.5, rate.rule, rate.effort) == 30
    assert requests_of(4, rate.rule, rate.effort) == 40
    assert requests_of(16, flight.rule, flight.effort) == 128


def test_a_study_gets_the_pace_the_limits_and_other_seeds_as_overrides() -> None:
    words = search_words.read(["study=mine", "load=poisson", "search.slo.tpot=50ms"])

    assert overrides_of(words, 2.0, requests=40, number=3) == [
        *("study=mine", "load=poisson", "load.rate_per_s=2.0", "load.concurrency=null"),
        *("workload.requests=40", "contract.slo.tpot_s=0.05", "workload.seed=4", "load.seed=4"),
    ]


@pytest.mark.django_db(transaction=True)
def test_a_study_is_searched_with_runs_of_the_ledger(
    assay_home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ASSAY_HOME", str(assay_home.root))
    study = (
        *("study=smollm2_smoke", "artifact=endpoint", "engine=openai_endpoint"),
        *("boundary=endpoint", "engine.settings.model=small", "prediction.enabled=false"),
        *("workload.cases=[]", "evidence.trace.enabled=false", "contract.slo.tpot_s=null"),
    )
    # One slot of 0.25 s: one in flight is answered after 0.25 s, two after 0.5 s. The limit lies between.
    with served(an_endpoint(of_capacity(1, 0.25))) as server:
        code = main(
            [
                *("search", *study, f"engine.environment.url={server.url}"),
                *("search.over=concurrency", "search.limit=2", "search.slo.ttft=400ms"),
                *("search.share=0.8", "search.requests=8", "search.rounds=4", "--json"),
            ]
        )

    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    runs = {str(r.id): r for r in Run.objects.all()}
    assert code == 0, found
    assert [p["verdict"] for p in found["probes"]] == ["met", "not met"]
    assert [runs[p["run"]].spec["load"]["concurrency"] for p in found["probes"]] == [1, 2]
    assert (found["result"]["highest_met"], found["result"]["lowest_not_met"]) == (1, 2)
    assert {r.spec["workload"]["seed"] for r in runs.values()} == {1, 2}
