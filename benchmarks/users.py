"""Fifty people on the dashboard while runs go: how long a page takes, and whether any fails.

    python benchmarks/users.py [--users 50] [--seconds 120] [--think 10] [--home FOLDER] [--here]

gunicorn, a worker and the scheduler run as ``assay up`` starts them, on a home with some thousand runs;
runs are queued so that the worker is never idle. Their engine is a replay of one real run, made first: a
team's models compute on other machines than its dashboard. With ``--here`` the real engine runs beside
the people, on one thread. Each user is signed in, keeps one connection, opens a page, reads it a while
(exponential, ``--think`` seconds in the mean) and opens another. Only loopback, and it ends by itself.
The time is from the request to the last byte, waiting for a free thread included. Exit code 1: the
target was missed.
"""

import argparse
import http.client
import os
import random
import secrets
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "platform"), str(HERE)]

from page_home import fill  # noqa: E402 - the checkout's own roots come first on the path
from pages import addresses, signed_in, wait_for  # noqa: E402

TARGET_MS = 300.0
SEED = 20261130
# What people look at: mostly lists and runs; comparing is rarer.
OFTEN = ("home", "runs", "runs filtered", "run overview", "run ledgers", "run latency", "study")
WEB_WORKERS = 2
HERE_RUN = ("study=smollm2_smoke", "engine=torch_small")
STUDY = "smollm2_torch"


@dataclass
class Seen:
    """What one user met: milliseconds by page, and what was no answer."""

    taken: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    errors: Counter[str] = field(default_factory=Counter)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--think", type=float, default=10.0, help="seconds between pages, mean")
    parser.add_argument("--runs", type=int, default=2_000, help="in the database before")
    parser.add_argument("--here", action="store_true", help="the engine computes on this machine")
    parser.add_argument("--queued", type=int, default=40, help="runs queued for it")
    parser.add_argument("--home", type=Path, default=Path("/tmp/assay-users"), help="kept")
    asked = parser.parse_args()
    home: Path = asked.home.resolve()
    home.mkdir(parents=True, exist_ok=True)
    os.environ["ASSAY_SECRET_KEY"] = secrets.token_urlsafe(50)  # signs the users' sessions here too
    filled = fill(home, runs=asked.runs, attempts=2_000, events=8)
    known = addresses(filled)
    os.environ["ASSAY_ARTIFACT_ROOTS"] = str(home / "store")  # where the replayed bundle lies
    _queue(HERE_RUN if asked.here else _replayed(), asked.queued)
    with _up(home) as port:
        before = _ended()
        met = _let_in(port, known, asked)
        ended = _ended() - before
    return _report(met, asked, ended)


def _replayed() -> tuple[str, ...]:
    """A run of ``STUDY`` against what one real run of it recorded, which is carried out if there is none."""
    from assay.archive.paths import home_from_environment
    from assay.ledger.models import Bundle

    known = Bundle.objects.filter(run__study__name=STUDY, run__engine_key="torch", state="sealed")
    if not known.exists():
        _assay("run", f"study={STUDY}")
    digest = known.latest("sealed_at").digest
    folder = home_from_environment().bundle(digest)
    return (
        *(f"study={STUDY}", "engine=replay", "prediction=none"),
        *(f"engine.settings.bundle={folder}", f"engine.settings.bundle_digest={digest}"),
    )


def _queue(overrides: Sequence[str], count: int) -> None:
    """Runs that wait for the worker, beside those left over from an earlier call."""
    _assay("submit", *overrides, f"study.repetitions={count}")


def _assay(*words: str) -> None:
    command = [sys.executable, "-P", "-m", "assay.cli.main", *words]
    environment = os.environ | {"PYTHONPATH": _python_path()}
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)


def _python_path() -> str:
    return os.pathsep.join([str(HERE.parent / "platform"), str(HERE.parent)])


@contextmanager
def _up(home: Path) -> Iterator[int]:
    """Everything, until the end; a run that is under way is aborted as Ctrl-C does it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    command = [
        *(sys.executable, "-P", "-m", "assay.cli.main", "up"),
        *("--port", str(port), "--workers", str(WEB_WORKERS)),
    ]
    environment = os.environ | {"ASSAY_HOME": str(home), "PYTHONPATH": _python_path()}
    with (home / "up.log").open("wb") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        wait_for(port, "/healthz", server)
        time.sleep(5)  # the worker takes its first run
        yield port
    finally:
        server.send_signal(signal.SIGINT)
        try:
            server.wait(60)
        except subprocess.TimeoutExpired:
            server.kill()


def _ended() -> int:
    from assay.ledger.models import Run

    return Run.objects.filter(ended_at__isnull=False).count()


def _let_in(port: int, known: Mapping[str, str], asked: argparse.Namespace) -> list[Seen]:
    cookies = [f"sessionid={signed_in()}" for _ in range(asked.users)]
    met = [Seen() for _ in cookies]
    until = time.monotonic() + asked.seconds
    threads = [
        threading.Thread(
            target=_use,
            args=(port, known, cookie, seen, random.Random(SEED + n), until, asked.think),
        )
        for n, (cookie, seen) in enumerate(zip(cookies, met, strict=True))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return met


def _use(
    port: int,
    known: Mapping[str, str],
    cookie: str,
    seen: Seen,
    rng: random.Random,
    until: float,
    think: float,
) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    names = list(known)
    time.sleep(rng.uniform(0, think))
    while time.monotonic() < until:
        name = rng.choice(OFTEN) if rng.random() < 0.8 else rng.choice(names)
        began = time.perf_counter()
        try:
            answer = _ask(connection, known[name], cookie)
            if answer.status != 200:
                seen.errors[f"{name}: {answer.status}"] += 1
        except (OSError, http.client.HTTPException) as error:
            seen.errors[f"{name}: {type(error).__name__}"] += 1
            connection.close()
        seen.taken[name].append((time.perf_counter() - began) * 1e3)
        time.sleep(min(rng.expovariate(1 / think), 4 * think))
    connection.close()


def _ask(
    connection: http.client.HTTPConnection, path: str, cookie: str
) -> http.client.HTTPResponse:
    """As a browser does: where the server closed the idle connection meanwhile, once more on a new one."""
    try:
        connection.request("GET", path, headers={"Cookie": cookie})
        answer = connection.getresponse()
    except (http.client.RemoteDisconnected, ConnectionError):
        connection.close()
        connection.request("GET", path, headers={"Cookie": cookie})
        answer = connection.getresponse()
    answer.read()
    return answer


def _report(met: list[Seen], asked: argparse.Namespace, ended: int) -> int:
    by_page: dict[str, list[float]] = defaultdict(list)
    errors: Counter[str] = Counter()
    for seen in met:
        errors.update(seen.errors)
        for name, taken in seen.taken.items():
            by_page[name].extend(taken)
    everything = [ms for taken in by_page.values() for ms in taken]
    print(
        f"\n{asked.users} users for {asked.seconds:.0f} s, {len(everything)} pages, "
        f"{ended} runs ended meanwhile"
    )
    print(f"{'':28}{'n':>6}{'p50 ms':>9}{'p95 ms':>9}{'max ms':>9}")
    for name, taken in [*sorted(by_page.items()), ("everything", everything)]:
        print(
            f"{name:28}{len(taken):6}{statistics.median(taken):9.1f}{_p95(taken):9.1f}{max(taken):9.1f}"
        )
    for what, count in errors.most_common():
        print(f"error: {what}: {count} times")
    held = _p95(everything) < TARGET_MS and not errors and ended > 0
    print(f"target p95 {TARGET_MS:.0f} ms, no errors, runs going: {'held' if held else 'missed'}")
    return 0 if held else 1


def _p95(taken: list[float]) -> float:
    return taken[0] if len(taken) < 2 else statistics.quantiles(taken, n=20, method="inclusive")[18]


if __name__ == "__main__":
    sys.exit(main())
