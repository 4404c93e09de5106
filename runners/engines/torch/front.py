"""The front end: the process that owns the sockets, starts the model loop and answers for both.

It ends with 0 after SIGTERM or SIGINT, with 1 when the model loop failed, with 3 when the port is taken.
"""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import psutil
import uvicorn
import uvloop

from runners.artifacts.gguf_header import GgufError
from runners.artifacts.tokenizer import TokenizerProblem
from runners.engines.torch import logs, versions
from runners.engines.torch.app import App
from runners.engines.torch.artifact_text import read_text
from runners.engines.torch.events import EventLog, now_ns
from runners.engines.torch.link import LINE_LIMIT_BYTES, LoopLink
from runners.engines.torch.metrics import Metrics
from runners.engines.torch.settings import ServerConfig
from runners.protocol.events import EngineEvent

BACKLOG = 1024
LOOP_GRACE_S = 0.9  # a step may be running; after this it is not waited for
EXIT_GRACE_S = 0.2  # from the closed socket to the end of the process
CLOSE_GRACE_S = 0.3
SIGNAL_GRACE_S = 0.1
MEMORY_EVERY_S = 1.0


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers: the front end decides what a signal means."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


class Front:
    def __init__(self, config: ServerConfig, config_file: Path) -> None:
        self._config = config
        self._config_file = config_file
        self._logger = logs.configure("front")
        self._log = EventLog(Path(config.events_file), process="front")
        self._metrics = Metrics()
        self._stop = asyncio.Event()
        self._process: subprocess.Popen[bytes] | None = None

    async def run(self) -> int:
        """Serve until a signal or the end of the loop. Returns the exit code."""
        self._logger.info(
            "%s, torch %s, build %s",
            versions.NAME,
            versions.installed("torch"),
            versions.build_digest(),
        )
        try:
            listener = socket.create_server((self._config.host, self._config.port), backlog=BACKLOG)
        except OSError as error:
            self._logger.error("port %d cannot be used: %s", self._config.port, error.strerror)
            return 3
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._asked_to_stop, number)
        link = await self._start_loop()
        try:
            text = read_text(self._config)  # while the loop loads the weights
        except (TokenizerProblem, GgufError, OSError) as error:
            self._logger.error("the tokenizer cannot be read: %s", error)
            self._loop_process().kill()
            return 1
        app = App(
            config=self._config,
            text=text,
            link=link,
            metrics=self._metrics,
            log=self._log,
            logger=self._logger,
        )
        server = _Server(
            uvicorn.Config(
                app,
                http="httptools",
                loop="none",
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=1,
            )
        )
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        reading = asyncio.create_task(link.serve())
        announcing = asyncio.create_task(self._announce(link))
        memory = asyncio.create_task(self._record_memory())
        stopping = asyncio.create_task(self._stop.wait())
        await asyncio.wait({reading, stopping, serving}, return_when=asyncio.FIRST_COMPLETED)
        code = await self._end(app, link, reading)
        announcing.cancel()
        memory.cancel()
        server.should_exit = True
        await serving
        self._log.close()
        self._logger.info("front end ends with %d", code)
        return code

    async def _start_loop(self) -> LoopLink:
        mine, other = socket.socketpair()
        command = [
            sys.executable,
            "-m",
            "runners.engines.torch.loop",
            "--config",
            str(self._config_file),
            "--channel",
            str(other.fileno()),
        ]
        self._process = subprocess.Popen(  # noqa: ASYNC220 - returns at once, and nothing is served yet
            command, pass_fds=[other.fileno()], stdin=subprocess.DEVNULL
        )
        other.close()
        self._logger.info("model loop started as process %d", self._process.pid)
        self._metrics.loop_process(self._process.pid)
        reader, writer = await asyncio.open_connection(sock=mine, limit=LINE_LIMIT_BYTES)
        return LoopLink(reader, writer, self._metrics)

    async def _announce(self, link: LoopLink) -> None:
        await link.ready.wait()
        self._logger.info(
            "ready on http://%s:%d, serving %r",
            self._config.host,
            self._config.port,
            self._config.model_name,
        )

    async def _record_memory(self) -> None:
        process = psutil.Process(os.getpid())
        while True:
            self._log.write(
                EngineEvent.memory,
                now_ns(),
                process="front",
                rss_bytes=process.memory_info().rss,
                kv_bytes_allocated=None,
            )
            await asyncio.sleep(MEMORY_EVERY_S)

    def _asked_to_stop(self, number: int) -> None:
        self._logger.info("asked to stop by %s", signal.Signals(number).name)
        self._stop.set()

    async def _end(self, app: App, link: LoopLink, reading: "asyncio.Task[None]") -> int:
        """End the loop if it still runs, give every open request its error, and say how it went."""
        app.stopping = True
        asked = self._stop.is_set()
        if asked:
            link.stop()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(reading, LOOP_GRACE_S)
        returncode = await self._reap()
        if (
            not asked and returncode == 0
        ):  # a keeper signals all of the tree: our own may be on its way
            await asyncio.sleep(SIGNAL_GRACE_S)
            asked = self._stop.is_set()
        if asked:
            reason = "the engine was stopped"
        else:
            reason = f"the model loop ended ({_ending(returncode)})"
            self._logger.error("%s with %d requests in flight", reason, link.in_flight)
        link.lose(reason)
        for _ in range(int(CLOSE_GRACE_S / 0.01)):
            if not link.in_flight:
                break
            await asyncio.sleep(0.01)
        return 0 if asked else 1

    def _loop_process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process

    async def _reap(self) -> int:
        process = self._loop_process()
        for _ in range(int(EXIT_GRACE_S / 0.01)):
            if (returncode := process.poll()) is not None:
                return returncode
            await asyncio.sleep(0.01)
        process.kill()
        return process.wait()


def _ending(returncode: int) -> str:
    if returncode < 0:
        return f"signal {-returncode}, {signal.Signals(-returncode).name}"
    return f"exit code {returncode}"


def serve(config: ServerConfig, config_file: Path) -> int:
    async def main() -> int:
        return await Front(config, config_file).run()

    code = uvloop.run(main())
    logging.shutdown()
    return code
