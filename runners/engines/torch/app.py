"""The ASGI application: routes, and how an answer is written while its tokens arrive."""

import uuid
from collections.abc import Awaitable, Callable
from logging import Logger
from typing import Any

from runners.engines.torch import scoring_request, scoring_response
from runners.engines.torch.api_request import CHAT, COMPLETIONS, ApiProblem, Asked, parse
from runners.engines.torch.api_response import DONE, Answer
from runners.engines.torch.artifact_text import ArtifactText
from runners.engines.torch.calls import Output
from runners.engines.torch.endings import Endings
from runners.engines.torch.events import EventLog, now_ns
from runners.engines.torch.exchange import (
    EVENT_STREAM,
    ClientGone,
    Exchange,
    Receive,
    Scope,
    Send,
    watch,
)
from runners.engines.torch.link import Expired, LoopLink, Lost
from runners.engines.torch.metrics import Metrics
from runners.engines.torch.questions import Questions
from runners.engines.torch.settings import ServerConfig
from runners.engines.torch.text import TextStream
from runners.protocol.events import EngineEvent

_GONE = object()
_ID_LIMIT = 200
TIME_LIMIT = "request_timeout"


class App:
    def __init__(
        self,
        *,
        config: ServerConfig,
        text: ArtifactText,
        link: LoopLink,
        metrics: Metrics,
        log: EventLog,
        logger: Logger,
    ) -> None:
        self._config = config
        self._text = text
        self._link = link
        self._log = log
        self._endings = Endings(metrics)
        self._logger = logger
        self.stopping = False
        self._generating = {
            "/v1/chat/completions": CHAT,
            "/v1/completions": COMPLETIONS,
        }
        self._scoring = {
            "/v1/embeddings": scoring_request.EMBEDDINGS,
            "/score": scoring_request.SCORE,
            "/v1/score": scoring_request.SCORE,
            "/rerank": scoring_request.RERANK,
            "/v1/rerank": scoring_request.RERANK,
        }
        questions = Questions(
            config=config, link=link, metrics=metrics, log=log, is_up=lambda: not self._is_ending
        )
        self._routes = questions.routes()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        t_ns = now_ns()
        method, path = scope["method"], scope["path"]
        kind = self._generating.get(path) if method == "POST" else None
        scoring = self._scoring.get(path) if method == "POST" else None
        request = _request_id(scope) if kind or scoring else None
        exchange = Exchange(receive, send, log=self._log, request=request, t_ns=t_ns)
        try:
            if kind:
                await self._generate(exchange, kind)
            elif scoring:
                await self._score(exchange, scoring)
            elif handler := self._routes.get((method, path)):
                await handler(exchange)
            else:
                await self._unknown(exchange, method, path)
        except ApiProblem as problem:
            await self._endings.refuse(exchange, problem)
        except ClientGone:
            self._endings.note_gone(exchange)
        except Exception as error:
            self._logger.exception("the front end failed on %s %s", method, path)
            await self._endings.break_off(exchange, f"front end: {error}")

    # Generation

    async def _generate(self, exchange: Exchange, kind: str) -> None:
        exchange.note(EngineEvent.front_received, exchange.received_ns, path=kind)
        body = await exchange.body()
        self._check_state(exchange)
        assert exchange.request is not None
        asked = parse(kind, body, request=exchange.request, config=self._config, text=self._text)
        inbox = self._link.submit(asked.call)
        watcher = watch(exchange, inbox, _GONE)
        try:
            if asked.stream:
                await exchange.start(200, EVENT_STREAM)
            await self._answer(exchange, asked, inbox.get)
        except ClientGone:
            self._link.cancel(asked.call.request)
            raise
        finally:
            watcher.cancel()
            self._link.close_inbox(asked.call.request)

    async def _answer(
        self, exchange: Exchange, asked: Asked, next_item: Callable[[], Awaitable[Any]]
    ) -> None:
        answer = Answer(asked=asked, model=self._config.model_name)
        stream = TextStream(self._text.tokenizer)
        while answer.finish_reason is None:
            item = await next_item()
            if not await self._is_output(exchange, item):
                return
            output: Output = item
            text = output.text  # decoded by the loop where stop strings are watched for
            if text is None:
                text = stream.push(output.token) + (stream.finish() if output.finish else "")
            if asked.stream:
                await self._write_chunk(exchange, answer, output, text)
            else:
                answer.take(output.token, text, output.finish)
        await self._finish(exchange, answer)

    async def _is_output(self, exchange: Exchange, item: Any) -> bool:
        """Whether the loop sent a part of the answer; if it gave up instead, the client is told."""
        if item is _GONE:
            raise ClientGone
        if isinstance(item, Lost):
            await self._endings.break_off(exchange, item.reason)
            return False
        if isinstance(item, Expired):
            limit_s = self._config.settings.max_request_s
            reason = f"the request timed out at the engine's own max_request_s of {limit_s:g} s"
            await self._endings.break_off(exchange, reason, code=TIME_LIMIT)
            return False
        return True

    async def _write_chunk(
        self, exchange: Exchange, answer: Answer, output: Output, text: str
    ) -> None:
        if not answer.token_ids and (opening := answer.opening()):
            await exchange.write(opening, more=True)
        if chunk := answer.chunk(output.token, text, output.finish):
            await exchange.write(chunk, more=True)

    async def _finish(self, exchange: Exchange, answer: Answer) -> None:
        if answer.asked.stream:
            if answer.asked.include_usage:
                await exchange.write(answer.usage_chunk(), more=True)
            await exchange.write(DONE, more=False)
        else:
            await exchange.answer(200, answer.whole())
        self._endings.end(exchange, "completed", str(answer.finish_reason))

    # Vectors and scores

    async def _score(self, exchange: Exchange, kind: str) -> None:
        exchange.note(EngineEvent.front_received, exchange.received_ns, path=kind)
        body = await exchange.body()
        self._check_state(exchange)
        assert exchange.request is not None
        asked = scoring_request.parse(
            kind, body, request=exchange.request, config=self._config, text=self._text
        )
        inbox = self._link.submit_pooled(asked.call)
        watcher = watch(exchange, inbox, _GONE)
        try:
            item = await inbox.get()
            if await self._is_output(exchange, item):
                model = self._config.model_name
                reply = scoring_response.reply(asked, item.vectors, model=model)
                await exchange.answer(200, reply)
                self._endings.end(exchange, "completed", "pooled")
        except ClientGone:
            self._link.cancel(asked.call.request)
            raise
        finally:
            watcher.cancel()
            self._link.close_inbox(asked.call.request)

    @property
    def _is_ending(self) -> bool:
        return self.stopping or self._link.lost is not None

    def _check_state(self, exchange: Exchange) -> None:
        if self._is_ending:
            raise ApiProblem("the engine is stopping", status=503, code="stopping")
        if not self._link.ready.is_set():
            raise ApiProblem("the model is still loading", status=503, code="loading")
        if exchange.request is not None and self._link.knows(exchange.request):
            raise ApiProblem(
                f"X-Request-Id: {exchange.request!r} is in flight (allowed: an id not in use)",
                status=409,
                field="X-Request-Id",
                code="duplicate_request",
            )

    async def _unknown(self, exchange: Exchange, method: str, path: str) -> None:
        known = sorted({*(p for _, p in self._routes), *self._generating, *self._scoring})
        raise ApiProblem(
            f"{method} {path} is unknown (allowed: {', '.join(known)})",
            status=404,
            code="not_found",
        )


def _request_id(scope: Scope) -> str:
    """The client's ``X-Request-Id`` if it is printable and short, else a new one."""
    for name, value in scope["headers"]:
        if name == b"x-request-id":
            text = value.decode("latin-1")
            if text and len(text) <= _ID_LIMIT and text.isascii() and text.isprintable():
                return str(text)
    return uuid.uuid4().hex
