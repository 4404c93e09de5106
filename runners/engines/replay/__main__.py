"""``python -m runners.engines.replay --bundle DIR --digest SHA256 --port N``: serve a recording."""

import argparse
import asyncio
import signal
import sys
from pathlib import Path

from runners.engines.replay.recording import Recording
from runners.engines.replay.server import HOST, ReplayServer, serve
from runners.engines.replay.versions import VERSION
from runners.protocol.errors import RunnerError


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m runners.engines.replay", description=__doc__)
    parser.add_argument("--bundle", type=Path, required=True)
    parser.add_argument("--digest", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--speed", type=float, default=1.0)
    arguments = parser.parse_args()
    try:
        recording = Recording(arguments.bundle, digest=arguments.digest)
    except RunnerError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 - this is the engine's log
        return error.exit_code
    server = ReplayServer(recording, speed=arguments.speed)
    asyncio.run(_until_told(server, arguments.port))
    return 0


async def _until_told(server: ReplayServer, port: int) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    print(  # noqa: T201 - this is the engine's log
        f"replay {VERSION}: {server.recording.total} replies on http://{HOST}:{port}", flush=True
    )
    await serve(server, port=port, stop=stop)


if __name__ == "__main__":
    sys.exit(main())
