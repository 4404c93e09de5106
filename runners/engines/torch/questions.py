"""What the engine answers of itself: health, version, metrics, configuration, models; and its profiler."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

from runners.engines.torch import versions
from runners.engines.torch.api_request import ApiProblem
from runners.engines.torch.events import EventLog
from runners.engines.torch.exchange import Exchange
from runners.engines.torch.link import LoopLink
from runners.engines.torch.metrics import CONTENT_TYPE, Metrics
from runners.engines.torch.settings import ServerConfig

Handler = Callable[[Exchange], Awaitable[None]]


class Questions:
    """``is_up`` says whether the engine still takes requests."""

    def __init__(
        self,
        *,
        config: ServerConfig,
        link: LoopLink,
        metrics: Metrics,
        log: EventLog,
        is_up: Callable[[], bool],
    ) -> None:
        self._config = config
        self._link = link
        self._metrics = metrics
        self._log = log
        self._is_up = is_up

    def routes(self) -> dict[tuple[str, str], Handler]:
        return {
            ("GET", "/health"): self._health,
            ("GET", "/version"): self._version,
            ("GET", "/metrics"): self._metrics_page,
            ("GET", "/server_info"): self._server_info,
            ("GET", "/v1/models"): self._models,
            ("POST", "/start_profile"): lambda exchange: self._profile(exchange, "start"),
            ("POST", "/stop_profile"): lambda exchange: self._profile(exchange, "stop"),
        }

    async def _health(self, exchange: Exchange) -> None:
        if not self._is_up():
            await exchange.answer(503, {"status": "stopping"})
        elif not self._link.ready.is_set():
            await exchange.answer(503, {"status": "loading"})
        else:
            await exchange.answer(200, {"status": "ready"})

    async def _version(self, exchange: Exchange) -> None:
        document: dict[str, Any] = {
            "version": versions.public(versions.installed("torch") or "unknown"),
            "engine": versions.NAME,
            "build": versions.build_digest(),
            **versions.recorded(),
        }
        if modification := self._config.settings.modification:
            document["modified"] = modification
        await exchange.answer(200, document)

    async def _metrics_page(self, exchange: Exchange) -> None:
        await exchange.answer_bytes(200, CONTENT_TYPE, self._metrics.render())

    async def _server_info(self, exchange: Exchange) -> None:
        self._check_loaded()
        lost = {"event_lines_dropped_by_front": self._log.dropped}
        await exchange.answer(200, (self._link.info or {}) | lost)

    async def _models(self, exchange: Exchange) -> None:
        model = {
            "id": self._config.model_name,
            "object": "model",
            "owned_by": versions.NAME,
            "max_model_len": self._config.settings.longest_request,
        }
        await exchange.answer(200, {"object": "list", "data": [model]})

    async def _profile(self, exchange: Exchange, action: str) -> None:
        self._check_folder(await exchange.body())
        if not self._is_up():
            raise ApiProblem("the engine is stopping", status=503, code="stopping")
        self._check_loaded()
        reply = await self._link.ask("profile", action=action)
        if "problem" in reply:
            raise ApiProblem(reply["problem"], status=409, code="profiler")
        await exchange.answer(200, reply["result"])

    def _check_folder(self, body: bytes) -> None:
        """A trace goes into the bundle's folder: a client may name it, and cannot choose another."""
        try:
            document = json.loads(body or b"{}")
        except (ValueError, RecursionError) as error:
            raise ApiProblem(f"the body is not JSON: {error}", code="invalid_json") from error
        folder = self._config.trace_folder
        named = document.get("output_dir", folder) if isinstance(document, dict) else document
        if named != folder:
            raise ApiProblem(
                f"output_dir: {json.dumps(named)} (allowed: {json.dumps(folder)}, or leave it out)",
                field="output_dir",
                code="invalid_value",
            )

    def _check_loaded(self) -> None:
        if not self._link.ready.is_set() or self._link.info is None:
            raise ApiProblem("the model is still loading", status=503, code="loading")
