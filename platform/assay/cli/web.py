"""``assay web``: the dashboard through gunicorn."""

import argparse
import os
import sys

from assay.cli.database import open_or_complain
from assay.cli.exits import LACKING, REFUSED, complain
from assay.cli.sign_in_link import print_link

HELP = "Serve the dashboard. Without ASSAY_HOSTS it listens on loopback only."
LOOPBACK = {"127.0.0.1", "localhost", "::1"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=port_number, default=8000, help="port to listen on")
    parser.add_argument("--workers", type=int, default=1, help="gunicorn processes")


def run(arguments: argparse.Namespace) -> int:
    if (code := refuse_open_door(arguments.host)) is not None:
        return code
    if not port_is_free(arguments.host, arguments.port):
        return LACKING
    if (code := open_or_complain()) is not None:
        return code
    collect_static()
    share_metrics(arguments.workers)
    print_link(arguments.host, arguments.port)
    return os.execv(sys.executable, gunicorn_command(arguments))


def port_number(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text} is no port (1 to 65535)")
    return int(text)


def refuse_open_door(host: str) -> int | None:
    """Without ASSAY_HOSTS a printed link is enough to come in: it must not listen elsewhere."""
    if "ASSAY_HOSTS" in os.environ or host in LOOPBACK:
        return None
    complain(
        f"--host: {host} (allowed: 127.0.0.1, or any address once ASSAY_HOSTS names the hosts that may be "
        "asked for). Without ASSAY_HOSTS nobody has a password"
    )
    return REFUSED


def port_is_free(host: str, port: int) -> bool:
    import socket

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            complain(
                f"--port: {port}: {error.strerror} (allowed: a free port on {host}). "
                f"Use --port {port + 1}"
            )
            return False
    return True


def collect_static() -> None:
    """Gather the pages' files with hashed names; files that are there already are left alone."""
    from django.core.management import call_command

    call_command("collectstatic", verbosity=0, interactive=False)


def share_metrics(workers: int) -> None:
    """Several processes count into one folder, so that whoever is scraped tells of all; it starts empty."""
    import shutil

    from django.conf import settings

    from assay.archive.paths import Home

    if workers < 2:
        return
    folder = Home(settings.HOME).scratch / "metrics"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)


def gunicorn_command(arguments: argparse.Namespace) -> list[str]:
    host = f"[{arguments.host}]" if ":" in arguments.host else arguments.host
    return [
        *(sys.executable, "-P", "-m", "gunicorn", "assay.wsgi"),
        *("--bind", f"{host}:{arguments.port}"),
        *("--workers", str(arguments.workers), "--threads", "8"),
        *("--worker-tmp-dir", "/dev/shm" if os.path.isdir("/dev/shm") else "/tmp"),  # noqa: PTH112
        *("--access-logfile", "/dev/null", "--log-level", "warning"),
    ]
