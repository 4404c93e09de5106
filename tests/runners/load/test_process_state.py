import gc
import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from runners.load.process_state import garbage_collection_paused, pin_to_cores
from runners.protocol.errors import EnvironmentLacks
from tests.runners.load.drives import drive_against, load_of, plan_row
from tests.runners.load.servers import answers_well


@pytest.fixture
def cores() -> Iterator[list[int]]:
    before = os.sched_getaffinity(0)
    yield sorted(before)
    os.sched_setaffinity(0, before)


def test_the_client_is_bound_to_the_declared_cores(cores: list[int]) -> None:
    assert pin_to_cores([cores[0]]) == [cores[0]]
    assert os.sched_getaffinity(0) == {cores[0]}


def test_no_declared_cores_change_nothing_and_say_what_is_allowed(cores: list[int]) -> None:
    assert pin_to_cores([]) == cores


def test_a_core_that_is_not_there_is_named(cores: list[int]) -> None:
    missing = cores[-1] + 1

    with pytest.raises(EnvironmentLacks, match=rf"client_cores: {missing} \(allowed: "):
        pin_to_cores([cores[0], missing])

    assert sorted(os.sched_getaffinity(0)) == cores


def test_the_collector_rests_inside_the_block_and_is_as_before_after_it() -> None:
    with garbage_collection_paused():
        assert not gc.isenabled()
        assert gc.get_freeze_count() > 0
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with pytest.raises(RuntimeError), garbage_collection_paused():
            raise RuntimeError
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_more_slots_than_open_files_are_refused_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (100, 100))

    with pytest.raises(EnvironmentLacks, match=r"load\.concurrency: 40 connections.*ulimit -Hn"):
        drive_against(
            answers_well,
            tmp_path,
            rows=[plan_row(n + 1, "load", slot=n) for n in range(40)],
            load=load_of(concurrency=40),
        )
