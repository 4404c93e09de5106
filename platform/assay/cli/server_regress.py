"""The regression check of a server's schedule: fire it there, wait for its answers, end as they do."""

import argparse
import sys
import time
from typing import Any

from assay.cli.exits import DONE, FAILED, REFUSED
from assay.cli.server_client import Server, ServerProblem
from assay.cli.server_schedules import schedule_named
from experiments.errors import Finding

FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 30.0


def regress(server: Server, arguments: argparse.Namespace) -> int:
    """Ctrl-C ends the waiting, not the runs; the page of the schedule has the answers later."""
    from assay.cli.regress import print_answers

    if arguments.study or arguments.against:
        raise ServerProblem([_here_only(arguments)], exit_code=REFUSED)
    found = schedule_named(server, arguments.name)
    answers: list[dict[str, Any]] = []
    green = True
    for _ in range(arguments.starts):
        check = _settled(server, found["id"], server.post(f"/schedules/{found['id']}/fire"))
        answers += check["answers"]
        green = green and check["green"]
    print_answers(found["schedule"], answers, arguments)
    return DONE if green else FAILED


def _settled(server: Server, schedule_id: str, check: dict[str, Any]) -> dict[str, Any]:
    """Asks less and less often: a run takes minutes, a suspicion's fresh starts take hours."""
    wait_s = FIRST_WAIT_S
    sys.stderr.write(f"firing {check['firing']}: {check['state']} {check['note']}\n")
    while not check["settled"]:
        if check["state"] == "refused":
            raise ServerProblem([_refused(check)], exit_code=REFUSED)
        time.sleep(wait_s)
        wait_s = min(LONGEST_WAIT_S, wait_s * 1.5)
        check = server.get(f"/schedules/{schedule_id}/firings/{check['firing']}")
    return check


def _refused(check: dict[str, Any]) -> Finding:
    return Finding(
        field="schedule",
        seen=check["note"],
        allowed="a declaration that holds today",
        remedy="`assay schedule change` mends it on the server.",
    )


def _here_only(arguments: argparse.Namespace) -> Finding:
    return Finding(
        field="--study" if arguments.study else "--against",
        seen=arguments.study or arguments.against,
        allowed="nothing with --server",
        remedy="Name a schedule; what it is held against is set there.",
    )
