"""What beat and a worker do, in one process that ends: tick, work off what is queued, until all is judged.

``python -m tests.assay.regressions.ticking PAGE``: writes the newest finding's page, as the local user sees
it, to PAGE.
"""

import os
import sys
from pathlib import Path

import django

MOST_TICKS = 40


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "assay.settings")
    django.setup()
    from django.conf import settings
    from django.core.management import call_command
    from django.test import Client
    from django.urls import reverse

    from assay.accounts.services import local_user
    from assay.archive.paths import Home
    from assay.execution import scheduled
    from assay.execution.machine import this_worker
    from assay.execution.serving import here
    from assay.execution.work import work_off
    from assay.ledger.models import Run
    from assay.regressions.models import Finding
    from runners.protocol.events import LIVE_STATES

    home = Home(settings.HOME)
    offer = here(home, ["cpu"])
    for _ in range(MOST_TICKS):
        _, added = scheduled.tick()
        for row in added:
            print(f"{row.answer}  {row.watch.rule} {row.watch.statistic}  {row.reason}")
        if not Run.objects.filter(state__in=LIVE_STATES).exists():
            break
        work_off(this_worker(), home, offer=offer)
    finding = Finding.objects.order_by("-opened_at").first()
    if finding is None:
        return 1
    call_command("collectstatic", interactive=False, verbosity=0)  # as ``assay web`` does first
    client = Client(REMOTE_ADDR="127.0.0.1", SERVER_NAME="127.0.0.1")
    client.force_login(local_user())
    answer = client.get(reverse("finding", args=[finding.pk]))
    Path(sys.argv[1]).write_bytes(answer.content)
    return 0 if answer.status_code == 200 else 1


if __name__ == "__main__":
    sys.exit(main())
