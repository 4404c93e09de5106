"""Composing beside a server: many threads ask one process, and it is ended when it takes too long."""

import threading
import time

import pytest
from pytest_django import Settings

from assay.archive.paths import Home
from assay.execution import composing
from assay.execution.composing import Wanted, planned
from experiments.errors import Refusal

SMOKE = "study=smollm2_smoke"


def wanted(*overrides: str, sweep: bool = False) -> Wanted:
    return Wanted(overrides=overrides, sweep=sweep)


def test_threads_that_ask_at_once_each_get_their_own_answer(assay_home: Home) -> None:
    found: dict[int, int] = {}

    def ask(number: int) -> None:
        [spec] = planned(wanted(SMOKE, f"load.concurrency={number}"))
        found[number] = spec.document["load"]["concurrency"]

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(2, 6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == {2: 2, 3: 3, 4: 4, 5: 5}


def test_an_answer_that_does_not_come_is_refused_and_the_next_one_comes(
    assay_home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    impatient = composing._Composer(limit_s=0.05)
    monkeypatch.setattr(composing, "_composer", impatient)

    began = time.monotonic()
    with pytest.raises(Refusal, match="no answer within"):
        planned(wanted(SMOKE, "load.seed=77"))

    assert time.monotonic() - began < 5
    impatient._limit_s = 120
    assert planned(wanted(SMOKE, "load.seed=77"))[0].document["load"]["seed"] == 77
    impatient.close()


def test_a_process_that_is_gone_is_started_again(
    assay_home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh = composing._Composer(limit_s=120)
    monkeypatch.setattr(composing, "_composer", fresh)
    planned(wanted(SMOKE, "load.seed=78"))
    assert fresh._process is not None
    fresh._process.kill()
    fresh._process.wait()

    assert planned(wanted(SMOKE, "load.seed=79"))[0].document["load"]["seed"] == 79
    fresh.close()


@pytest.mark.forbids
def test_more_than_a_page_may_ask_is_refused_before_anything_is_composed(assay_home: Home) -> None:
    with pytest.raises(Refusal, match="201 overrides"):
        planned(wanted(*[f"load.seed={n}" for n in range(201)]))


def test_the_installations_own_group_files_are_composed_and_followed_when_they_change(
    assay_home: Home, settings: Settings
) -> None:
    folder = assay_home.studies / "load"
    folder.mkdir(parents=True)
    file = folder / "burst.yaml"
    file.write_text("kind: constant\nrate_per_s: 7.5\nconcurrency: null\n", encoding="utf-8")

    first = planned(wanted(SMOKE, "load=burst"))[0].document["load"]["rate_per_s"]
    file.write_text("kind: constant\nrate_per_s: 17.5\nconcurrency: null\n", encoding="utf-8")
    then = planned(wanted(SMOKE, "load=burst"))[0].document["load"]["rate_per_s"]

    assert (first, then) == (7.5, 17.5)
