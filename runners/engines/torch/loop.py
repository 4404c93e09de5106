"""The model loop: a process of its own that owns the weights, the cache and the steps.

It ends when the front end's socket closes, when it is asked to, or when a step fails; each time every
unfinished request gets a final event first.
``python -m runners.engines.torch.loop --config FILE --channel FD``.
"""

import argparse
import logging
import os
import signal
import socket
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psutil
import torch

from runners.engines.torch import echoes, logs
from runners.engines.torch.artifact_text import read_text
from runners.engines.torch.calls import (
    Call,
    Sampling,
    call_from_json,
    pooled_call_from_json,
)
from runners.engines.torch.channel import END, LoopChannel
from runners.engines.torch.core import Core
from runners.engines.torch.events import EventLog, now_ns
from runners.engines.torch.kv_blocks import BlockPool
from runners.engines.torch.model import load
from runners.engines.torch.model_runner import ModelRunner
from runners.engines.torch.profiler import Profiler, ProfilerProblem
from runners.engines.torch.scheduler import Running, Segment
from runners.engines.torch.settings import ServerConfig, read_config
from runners.protocol.events import EngineEvent

MEMORY_EVERY_S = 1.0


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--channel", type=int, required=True)
    arguments = parser.parse_args()
    config = read_config(arguments.config)
    logger = logs.configure("loop")
    channel = LoopChannel(socket.socket(fileno=arguments.channel))
    signal.signal(signal.SIGTERM, lambda *_: channel.interrupt())
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C reaches the front end, which ends this process
    log = EventLog(Path(config.events_file), process="loop")
    try:
        loop = _start(config, logger, channel, log)
    except Exception:
        logger.exception("the model loop could not start")
        return 1
    return loop.run()


def _start(
    config: ServerConfig, logger: logging.Logger, channel: LoopChannel, log: EventLog
) -> "Loop":
    torch.set_num_threads(config.settings.threads)
    torch.set_num_interop_threads(1)
    began = time.monotonic()
    loaded = load(config)
    weights_s = time.monotonic() - began
    began = time.monotonic()
    runner = ModelRunner(loaded.model, config.settings)
    cache_s = time.monotonic() - began
    began = time.monotonic()
    warm_up(runner, config)
    warm_up_s = time.monotonic() - began
    load_times = {"weights_s": weights_s, "kv_allocation_s": cache_s, "warm_up_s": warm_up_s}
    text = read_text(config)
    eos = config.generation.eos_token_ids or text.eos_token_ids
    info = echoes.server_info(
        config, model=loaded.facts, cache=runner.cache, load_times=load_times, eos_token_ids=eos
    )
    for label in echoes.LABELS:
        logs.echo(logger, label, info[label])
    log.write(EngineEvent.config, now_ns(), **info)
    core = Core(
        settings=config.settings,
        model=runner,
        log=log,
        eos_token_ids=eos,
        tokenizer=text.tokenizer,
    )
    loop = Loop(config=config, core=core, runner=runner, channel=channel, log=log, logger=logger)
    loop.record_memory()
    channel.send({"kind": "ready", "info": info})
    return loop


def warm_up(runner: ModelRunner, config: ServerConfig) -> None:
    """Touch every shape of step once: the longest prompt chunk, a full decode batch, a single token."""
    settings = config.settings
    tokens = min(settings.token_budget, settings.longest_request - 1)
    for batch, count in ((1, tokens), (settings.max_batch, 1), (1, 1)):
        pool = BlockPool(total=settings.kv_blocks, block_tokens=settings.block_tokens)
        segments = []
        for number in range(min(batch, settings.kv_blocks)):
            call = Call(
                request=f"warm-up-{number}",
                prompt=(0,) * count,
                max_tokens=1,
                sampling=Sampling(
                    temperature=0.0, top_p=1.0, top_k=0, repetition_penalty=1.0, seed=0
                ),
                stop=(),
                ignore_eos=True,
            )
            pool.take(call.request, min(pool.blocks_for(count), pool.free))
            entry = Running(call=call, tokens=list(call.prompt))
            segments.append(
                Segment(running=entry, start=0, count=count, phase="prefill", recomputed=0)
            )
        runner.run(segments, pool)


class Loop:
    def __init__(
        self,
        *,
        config: ServerConfig,
        core: Core,
        runner: ModelRunner,
        channel: LoopChannel,
        log: EventLog,
        logger: logging.Logger,
    ) -> None:
        self._core = core
        self._runner = runner
        self._channel = channel
        self._log = log
        self._logger = logger
        self._profiler = Profiler(Path(config.trace_folder))
        self._process = psutil.Process()
        self._memory_due = 0.0
        self._ending: str | None = None
        self._reported_drops = 0

    def run(self) -> int:
        """Serve until the end is asked for. Returns the exit code."""
        try:
            while self._ending is None:
                self._take_messages()
                self._expire()
                self._step()
                self.record_memory()
        except OSError as error:  # the front end's socket
            self._ending = f"front end gone ({error})"
        except Exception as error:
            self._logger.exception("a step failed; the model loop ends")
            self._core.fail_all(f"step failed: {error}")
            return 1
        self._logger.info("the model loop ends: %s", self._ending)
        self._core.fail_all(f"engine stopped: {self._ending}")
        self._log.close()
        return 0

    def _take_messages(self) -> None:
        """All that arrived; if there is nothing to compute, wait for more, at most until memory is due."""
        wait_s = MEMORY_EVERY_S if self._core.idle else 0.0
        while (arrived := self._channel.receive(wait_s)) is not None:
            self._handle(*arrived)
            wait_s = 0.0

    def _handle(self, t_ns: int, message: dict[str, Any]) -> None:
        kind = message["kind"]
        if kind == "submit":
            self._core.submit(call_from_json(message["call"]), t_ns)
        elif kind == "submit_pooled":
            self._core.submit_pooled(pooled_call_from_json(message["call"]), t_ns)
        elif kind == "cancel":
            self._cancel(message["request"], t_ns)
        elif kind == "profile":
            self._profile(message)
        elif kind == END:
            self._ending = message["reason"]

    def _cancel(self, request: str, t_ns: int) -> None:
        cancelled = self._core.cancel(request, asked_ns=t_ns)
        self._log.flush()
        if cancelled:
            self._channel.send(
                {"kind": "cancelled", "request": request, "stats": asdict(self._core.stats())}
            )

    def _profile(self, message: dict[str, Any]) -> None:
        reply: dict[str, Any] = {"kind": "reply", "id": message["id"]}
        try:
            if message["action"] == "start":
                self._profiler.start()
                reply["result"] = {"profiling": True}
            else:
                summary = self._profiler.stop()
                self._logger.info(
                    "trace written: %s (%d bytes)", summary["trace"], summary["bytes"]
                )
                reply["result"] = {k: v for k, v in summary.items() if k != "operators"}
        except (ProfilerProblem, OSError) as error:
            reply["problem"] = str(error)
        self._channel.send(reply)

    def _expire(self) -> None:
        for request in self._core.expire(now_ns()):
            stats = asdict(self._core.stats())
            self._channel.send({"kind": "expired", "request": request, "stats": stats})

    def _step(self) -> None:
        result = self._core.step()
        if result is None:
            return
        self._channel.send(
            {
                "kind": "step",
                "outputs": [[o.request, o.token, o.text, o.finish] for o in result.outputs],
                "pooled": [[o.request, o.vectors] for o in result.pooled],
                "stats": asdict(result.stats),
            }
        )

    def record_memory(self) -> None:
        now = time.monotonic()
        if now < self._memory_due:
            return
        self._memory_due = now + MEMORY_EVERY_S
        self._log.write(
            EngineEvent.memory,
            now_ns(),
            process="loop",
            rss_bytes=self._process.memory_info().rss,
            kv_bytes_allocated=self._runner.cache.allocated_bytes,
        )
        if self._log.dropped > self._reported_drops:
            self._reported_drops = self._log.dropped
            self._logger.error(
                "%d event lines lost so far: %s", self._log.dropped, self._log.problem
            )


if __name__ == "__main__":
    # Leave without interpreter shutdown: OpenMP threads and the reader thread hold nothing worth waiting for.
    code = main()
    logging.shutdown()
    sys.stdout.flush()
    os._exit(code)
