"""An OpenAI-style endpoint that somebody else runs: nothing is launched, only its socket is seen (E1)."""

import os
from collections.abc import Mapping
from typing import Any

from runners.engines.base import Elsewhere, EvidenceContext, LaunchContext, Printed, PrintedContext
from runners.engines.openai_endpoint import identity
from runners.engines.openai_endpoint.settings import EndpointSettings, endpoint_settings
from runners.protocol.documents import IdentityItem
from runners.protocol.series import SeriesMap

KEY = "openai_endpoint"


class OpenAIEndpointAdapter:
    key = KEY

    def environment_problem(self, spec: Mapping[str, Any]) -> str | None:
        engine = spec["engine"]
        environment = engine["environment"]
        if environment["kind"] != "url" or not environment["url"]:
            return (
                f"engine.environment is {environment['kind']} with url {environment['url']}; an endpoint "
                f"(declared version: {engine['version'] or 'none'}) is reached by its URL. "
                "Set engine.environment.kind=url and engine.environment.url"
            )
        variable = self._settings(spec).authorization_env
        if variable is not None and not os.environ.get(variable):
            return f"{variable}, which holds the endpoint's key, is not set. Run: export {variable}=..."
        return None

    def launch(self, context: LaunchContext) -> Elsewhere:
        return Elsewhere(
            base_url=str(context.spec["engine"]["environment"]["url"]),
            authorization_env=self._settings(context.spec).authorization_env,
        )

    def health_path(self) -> str:
        return "/health"

    def version_path(self) -> str:
        return "/version"

    def info_path(self) -> str | None:
        return "/v1/models"

    def metrics_path(self) -> str | None:
        return None  # counters of a server that others use too would not be this run's

    def series(self) -> SeriesMap:
        return {}

    def profile_start(self) -> tuple[str, str, Mapping[str, Any]] | None:
        return None  # it would slow down everybody's requests

    def profile_stop(self) -> tuple[str, str, Mapping[str, Any]] | None:
        return None

    def printed(self, context: PrintedContext) -> Printed:
        return Printed()  # nothing it prints is seen

    def identity(self, context: EvidenceContext) -> list[IdentityItem]:
        return identity.items(context)

    def _settings(self, spec: Mapping[str, Any]) -> EndpointSettings:
        return endpoint_settings(spec["engine"]["settings"])


ADAPTER = OpenAIEndpointAdapter()
