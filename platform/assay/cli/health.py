"""``assay health PART``: whether a part of the installation works here, for a container's check."""

import argparse
import http.client

from assay.cli.database import set_up
from assay.cli.exits import DONE, FAILED, complain

HELP = "Exit 0 if the dashboard, this machine's worker or the scheduler works, 1 with the reason if not."
BEAT_S = 600.0  # the scheduler notes what it sent far more often
WEB_S = 10.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("part", choices=("web", "worker", "beat"))
    parser.add_argument("--port", type=int, default=8000, help="of the dashboard")


def run(arguments: argparse.Namespace) -> int:
    set_up()
    from django.db import DatabaseError

    ask = {"web": lambda: web(arguments.port), "worker": worker, "beat": beat}[arguments.part]
    try:
        problem = ask()
    except (DatabaseError, OSError, http.client.HTTPException) as error:
        problem = str(error).strip()
    if problem:
        complain(f"{arguments.part}: {problem} (allowed: a part that works). Its log says why")
    return FAILED if problem else DONE


def web(port: int) -> str:
    """It answers on loopback, under a name that it serves."""
    from django.conf import settings

    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WEB_S)
    try:
        connection.request("GET", "/healthz", headers={"Host": settings.ALLOWED_HOSTS[0]})
        status = connection.getresponse().status
    finally:
        connection.close()
    return "" if status == http.client.OK else f"/healthz answered {status}"


def worker() -> str:
    """One of this host gave a sign of life lately."""
    import socket

    from assay.execution.registration import live_offers

    host = socket.gethostname()
    if any(offer.host == host for offer in live_offers()):
        return ""
    return f"no worker of {host} is registered"


def beat() -> str:
    """Something was sent lately. It writes that down now and then, not each time."""
    from datetime import timedelta

    from django.utils import timezone
    from django_celery_beat.models import PeriodicTask

    since = timezone.now() - timedelta(seconds=BEAT_S)
    if PeriodicTask.objects.filter(last_run_at__gt=since).exists():
        return ""
    return f"nothing was sent for {BEAT_S:g} s"
