"""Does this machine have a port and the disk space that a run needs? Each lack comes with its remedy."""

import shutil
import socket
from pathlib import Path

from runners.protocol.errors import EnvironmentLacks, Finding

HOST = "127.0.0.1"
DISK_RESERVE_BYTES = 64 * 2**20  # room to seal what was captured when the estimate is too low


def free_port(asked: int | None) -> int:
    """The asked port if nobody holds it, else one that the kernel gives. Raises EnvironmentLacks."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # A port whose last connections are in TIME_WAIT is free to listen on; the engine sets this too.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, asked or 0))
            probe.listen(1)
        except OSError as error:
            raise EnvironmentLacks(
                Finding(
                    field="engine.port",
                    seen=f"{asked} on {HOST}: {error.strerror}",
                    allowed="a port that nobody listens on",
                    remedy="Leave engine.port out to take a free one, or see who has it: "
                    f"ss -ltnp 'sport = :{asked}'",
                )
            ) from error
        return int(probe.getsockname()[1])


def check_disk(out: Path, *, needed_bytes: int) -> None:
    """Raise EnvironmentLacks if the disk under OUT has too little room for the declared capture."""
    folder = out.parent
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    wanted = needed_bytes + DISK_RESERVE_BYTES
    if free < wanted:
        raise EnvironmentLacks(
            Finding(
                field="evidence.stream_limit_bytes",
                seen=f"{free} bytes free at {folder}",
                allowed=f"{wanted} bytes: {needed_bytes} estimated for the capture, the rest in reserve",
                remedy=f"Free space (du -sh {folder}/*), set ASSAY_HOME elsewhere, or capture less.",
            )
        )
