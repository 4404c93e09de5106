"""Bring bundles to the archive once a minute, while no run is measured on this machine.

The upload is a process of its own: the worker's second thread looks for dead workers and never waits for it.
"""

import subprocess

from django.conf import settings

from assay.archive.paths import Home
from assay.execution.celery import MESSAGE_LIFE_S, app
from assay.execution.machine import machine_to_itself
from assay.execution.supervisor import assay_command, child_environment

EVERY_S = 60.0
_pushing: list["subprocess.Popen[bytes]"] = []


@app.task(name="assay.operations.tasks.push_archive")
def push_archive() -> None:
    """Hashing and sending would disturb a measurement: where one goes on, the next minute is as good."""
    if _pushing and _pushing[-1].poll() is None:
        return
    _pushing.clear()
    home = Home(settings.HOME)
    with machine_to_itself(home) as is_idle:
        if not is_idle:
            return
    log = home.root / "logs" / "archive.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as stream:
        process = subprocess.Popen(
            assay_command("archive", "push", "--limit", "20"),
            env=child_environment(python_path=settings.SUBPROCESS_PATH),
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
        )
    _pushing.append(process)


def schedule() -> None:
    """Beside what the queue itself needs; only where an archive is named."""
    app.conf.beat_schedule["archive"] = {
        "task": push_archive.name,
        "schedule": EVERY_S,
        "options": {"expires": MESSAGE_LIFE_S},
    }
