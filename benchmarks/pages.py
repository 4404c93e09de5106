"""How long the server takes for a page with many runs in the database, beside MLflow's own search.

    python benchmarks/pages.py [--runs 10000] [--attempts 100000] [--home FOLDER] [--mlflow-python PATH]

gunicorn serves the pages as ``assay up`` has it; each is asked for over one kept connection by a signed-in
reader. The time is from the request to the last byte, so it holds a little more than the server's own.
``--mlflow-python`` names the interpreter of an environment with mlflow: its server gets as many runs, each
with as many numbers, and is asked what its own pages ask it; it has no ledgers. Everything runs on this
machine.
"""

import argparse
import http.client
import os
import secrets
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "platform"), str(HERE)]

from page_home import Filled, fill  # noqa: E402 - the checkout's own roots come first on the path

TARGET_MS = 200.0
WARM = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """Milliseconds of many answers to one address, and how long one of them was."""

    name: str
    p50: float
    p95: float
    bytes: int


def addresses(filled: Filled) -> dict[str, str]:
    run = filled.large_runs[0]

    def comparing(runs: Sequence[str]) -> str:
        return "/compare?" + "&".join(f"run={r}" for r in runs)

    def search(text: str) -> str:
        return f"/runs?q={quote(text)}"

    return {
        "home": "/",
        "runs": "/runs",
        "runs, page 200": "/runs?page=200",
        "runs by a number": "/runs?sort=ttft.p50",
        "runs by study": "/runs?sort=study",
        "runs filtered": search("state:sealed engine:vllm tag:nightly created:30d"),
        "runs by text": search("qwen3 -smoke"),
        "runs by text, none": search("nothing-of-that-name"),
        "runs by metric": search("ttft.p99<500ms throughput>1"),
        "runs by metric, negated": search("-tpot.p50<=20ms state:sealed"),
        "studies": "/studies",
        "studies searched": "/studies?q=" + quote("model:qwen3 -state:failed ttft<1s"),
        "study": f"/studies/{filled.study}",
        "run overview": f"/runs/{run}",
        "run ledgers": f"/runs/{run}/ledgers",
        "run ledgers, page 2000": f"/runs/{run}/ledgers?page=2000",
        "run timeline": f"/runs/{run}/timeline",
        "run latency": f"/runs/{run}/latency",
        "run ledgers, one state": f"/runs/{run}/ledgers?client=completed&sort=-server",
        "run ledgers, at an instant": f"/runs/{run}/ledgers?at=2",
        "compare": comparing(filled.small_runs),
        "compare two large": comparing(filled.large_runs),
        "compare, every field": comparing(filled.large_runs) + "&fields=all&metrics=all",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--attempts", type=int, default=100_000)
    parser.add_argument("--events", type=int, default=8, help="content events an attempt")
    parser.add_argument("--home", type=Path, default=Path("/tmp/assay-pages"), help="kept")
    parser.add_argument("--requests", type=int, default=60, help="of each page")
    parser.add_argument("--mlflow-python", type=Path)
    asked = parser.parse_args()
    home: Path = asked.home.resolve()
    home.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("ASSAY_SECRET_KEY", secrets.token_urlsafe(50))  # of the server as well
    filled = fill(home, runs=asked.runs, attempts=asked.attempts, events=asked.events)
    with _served(home) as port:
        headers = {"Cookie": f"sessionid={signed_in()}"}
        pages = [
            timed(name, asking(port, path, headers), asked.requests)
            for name, path in addresses(filled).items()
        ]
    show(f"{asked.runs:,} runs, one of {asked.attempts:,} attempts", pages)
    over = [page.name for page in pages if page.p95 > TARGET_MS]
    print(f"target p95 {TARGET_MS:.0f} ms: {'missed by ' + ', '.join(over) if over else 'held'}")
    if asked.mlflow_python:
        from mlflow_side import beside

        theirs = beside(asked.mlflow_python, home, runs=asked.runs, requests=asked.requests)
        show(f"MLflow with {asked.runs:,} runs", theirs)
        ratios(pages, theirs)


def timed(name: str, ask: Callable[[], int], requests: int) -> Timed:
    """The first few answers warm the process up and are not counted."""
    for _ in range(WARM):
        size = ask()
    taken = []
    for _ in range(requests):
        began = time.perf_counter()
        size = ask()
        taken.append((time.perf_counter() - began) * 1e3)
    cuts = statistics.quantiles(taken, n=20, method="inclusive")
    return Timed(name=name, p50=statistics.median(taken), p95=cuts[18], bytes=size)


def show(title: str, pages: list[Timed]) -> None:
    print(f"\n{title}\n{'':28}{'p50 ms':>9}{'p95 ms':>9}{'KiB':>8}")
    for page in pages:
        print(f"{page.name:28}{page.p50:9.1f}{page.p95:9.1f}{page.bytes / 1024:8.0f}")


def ratios(ours: list[Timed], theirs: list[Timed]) -> None:
    """The same question on both sides: MLflow's p95 over ours."""
    by_name = {page.name: page for page in theirs}
    print("\nMLflow's p95 over that of the page that asks the same")
    for page in ours:
        if page.name in by_name:
            print(f"{page.name:28}{by_name[page.name].p95 / page.p95:9.2f}")


def asking(
    port: int, path: str, headers: Mapping[str, str], *, body: str | None = None
) -> Callable[[], int]:
    """Asks again and again over one connection, each time for the length of the answer; a body is posted."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def ask() -> int:
        connection.request("GET" if body is None else "POST", path, body, dict(headers))
        answer = connection.getresponse()
        found = answer.read()
        if answer.status != 200:
            sys.exit(f"{path}: {answer.status} {found[:300]!r}")
        return len(found)

    return ask


def signed_in() -> str:
    """A session of whoever sits at this machine, as a sign-in makes one."""
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.contrib.sessions.backends.db import SessionStore

    from assay.accounts.services import local_user

    user = local_user()
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.create()
    return str(session.session_key)


@contextmanager
def _served(home: Path) -> Iterator[int]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    path = os.pathsep.join([str(HERE.parent / "platform"), str(HERE.parent)])
    command = [
        sys.executable, "-m", "gunicorn", "assay.wsgi:application", "--bind", f"127.0.0.1:{port}",
        "--worker-class", "gthread", "--workers", "1", "--threads", "4", "--no-control-socket",
    ]  # fmt: skip
    environment = os.environ | {"ASSAY_HOME": str(home), "PYTHONPATH": path}
    with (home / "gunicorn.log").open("wb") as log:
        server = subprocess.Popen(command, env=environment, cwd=HERE.parent, stdout=log, stderr=log)
    try:
        wait_for(port, "/healthz", server)
        yield port
    finally:
        server.terminate()
        server.wait(20)


def wait_for(port: int, path: str, server: "subprocess.Popen[bytes]", seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and server.poll() is None:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", path)
            if connection.getresponse().status == 200:
                return
        except OSError:
            time.sleep(0.3)
    sys.exit(f"nothing answers on port {port}")


if __name__ == "__main__":
    main()
