"""What the arguments of ``assay load`` and ``assay search`` declare: a run against somebody's endpoint.

Imports little: what is imported before the load starts disturbs the client.
"""

import argparse
import os
from dataclasses import fields
from typing import Any
from urllib.parse import urlsplit

from experiments.checks.policy import Policy
from experiments.quick_look import QuickLook, declaration
from experiments.schema.contract import ServiceLevel
from experiments.schema.load import LoadKind
from experiments.schema.workload import Endpoint


def add_target(parser: argparse.ArgumentParser, *, is_required: bool = True) -> None:
    """What is asked of which endpoint, apart from how much: shared with ``assay search``."""
    parser.add_argument("--url", required=is_required, help="http://HOST:PORT, with or without /v1")
    parser.add_argument("--model", required=is_required, help="the name that requests ask for")
    parser.add_argument(
        "--tokens", type=int, default=64, help="output tokens of a request, at most"
    )
    parser.add_argument(
        "--input-tokens", type=int, default=32, help="words of a prompt, each about a token"
    )
    parser.add_argument("--endpoint", choices=[e.value for e in Endpoint], default="chat")
    parser.add_argument(
        "--arrivals",
        choices=(LoadKind.constant.value, LoadKind.poisson.value),
        default=LoadKind.poisson.value,
        help="of an open loop",
    )
    parser.add_argument("--warmup", type=int, default=0, metavar="N", help="requests before, apart")
    parser.add_argument("--timeout", type=float, default=120.0, metavar="S", help="of a request")
    parser.add_argument("--processes", type=int, default=1, help="client processes on one plan")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--respect-eos", action="store_true", help="send no ignore_eos, which some refuse"
    )
    parser.add_argument(
        "--authorization-env", metavar="NAME", help="environment variable that holds the key"
    )
    parser.add_argument(
        "--calibrate", action="store_true", help="measure the client's own error first (seconds)"
    )


def declared(
    arguments: argparse.Namespace,
    *,
    concurrency: int | None,
    rate: float | None,
    requests: int,
    seed: int,
    slo: ServiceLevel,
) -> dict[str, Any]:
    """The run document of these arguments; a closed loop of one where neither is given."""
    is_open = rate is not None
    return declaration(
        QuickLook(
            url=arguments.url,
            model=arguments.model,
            kind=LoadKind(arguments.arrivals) if is_open else LoadKind.closed,
            concurrency=None if is_open else (concurrency or 1),
            rate_per_s=rate,
            requests=requests,
            input_tokens=arguments.input_tokens,
            output_tokens=arguments.tokens,
            endpoint=Endpoint(arguments.endpoint),
            warmup_requests=arguments.warmup,
            ignore_eos=not arguments.respect_eos,
            timeout_s=arguments.timeout,
            processes=arguments.processes,
            seed=seed,
            authorization_env=arguments.authorization_env,
            calibrate=arguments.calibrate,
            slo=slo,
        )
    )


def policy_for(url: str) -> Policy:
    """The installation's rules, and beside them the host that a person typed at this terminal.

    The allowlist guards against addresses in other people's studies; whoever types one here could reach it
    without us. Link-local addresses are refused all the same, see runners.evidence.addresses.
    """
    policy = Policy.from_environment(os.environ)
    host = (urlsplit(url).hostname or "").lower()
    hosts = (*policy.url_hosts, host) if host else policy.url_hosts
    return Policy(artifact_roots=policy.artifact_roots, url_hosts=tuple(dict.fromkeys(hosts)))


def service_level(text: str | None) -> ServiceLevel:
    if text is None:
        return ServiceLevel()
    from assay.analysis.asked import service_levels

    asked = service_levels(text)
    known = {f.name for f in fields(ServiceLevel)}
    limits = {f.name: getattr(asked, f.name) for f in fields(asked)}
    if strange := [n for n, limit in limits.items() if limit is not None and n not in known]:
        raise ValueError(
            f"--slo: {', '.join(strange)} (allowed: {', '.join(sorted(known))}). "
            "Leave it out; the contract has no such limit"
        )
    return ServiceLevel(**{n: limit for n, limit in limits.items() if n in known})
