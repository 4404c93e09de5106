"""Who a worker is, whether it lives, and one run at a time on a machine."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from assay.archive.paths import Home
from assay.execution.machine import (
    Worker,
    machine_holder,
    machine_to_itself,
    process_start,
    this_worker,
)


def test_a_worker_survives_the_way_through_the_database() -> None:
    me = this_worker()

    assert Worker.parse(str(me)) == me
    assert Worker.parse("a/host/with/slashes/boot/12/34").host == "a/host/with/slashes"


@pytest.mark.parametrize(
    ("change", "dead"),
    [
        ({}, False),
        ({"started": "1"}, True),  # the id was given to another process since
        ({"boot": "00000000"}, True),  # the machine was started anew
        ({"pid": 2**30}, True),
        ({"host": "elsewhere", "pid": 2**30}, False),  # not ours to judge
    ],
)
def test_only_a_process_that_is_surely_gone_is_dead(change: dict[str, object], dead: bool) -> None:
    assert replace(this_worker(), **change).is_dead() is dead  # type: ignore[arg-type]


def test_a_zombie_is_no_living_worker() -> None:
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # ended, and not yet collected

    assert process_start(child.pid) is None
    child.wait()


def test_the_machine_goes_to_one_at_a_time(assay_home: Home) -> None:
    with machine_to_itself(assay_home) as first, machine_to_itself(assay_home) as second:
        holder = machine_holder(assay_home)
    with machine_to_itself(assay_home) as third:
        pass

    assert (first, second, third) == (True, False, True)
    assert holder == str(this_worker())


def test_a_killed_holder_lets_go_of_the_machine(assay_home: Home) -> None:
    code = (
        "import time; from pathlib import Path; from assay.archive.paths import Home\n"
        "from assay.execution.machine import machine_to_itself\n"
        f"with machine_to_itself(Home(Path({str(assay_home.root)!r}))):\n"
        "    print('held', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    holder.stdout.readline()
    with machine_to_itself(assay_home) as while_held:
        pass

    holder.kill()
    holder.wait()
    holder.stdout.close()

    with machine_to_itself(assay_home) as afterwards:
        assert (while_held, afterwards) == (False, True)
