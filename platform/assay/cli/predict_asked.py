"""From the command line of ``assay predict`` to what is asked of the model: load, layout, links, memory."""

import argparse

from assay.analysis.devices.device_roofs import THIS_HOST, domain_link
from assay.analysis.perfmodel.answer.asked import Asked, EngineMemory, WayBack
from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.parallel.layout import Layout
from assay.analysis.perfmodel.parallel.messages import Account, Link
from runners.protocol.errors import Finding


def asked_from(arguments: argparse.Namespace, *, context: int) -> Asked:
    """The load, the layout with its links and the engine's memory setting."""
    return Asked(
        batch=arguments.batch,
        context=context,
        reused_tokens=arguments.reused_tokens,
        chunk_tokens=arguments.chunk_tokens,
        batches=arguments.batches,
        contexts=arguments.contexts,
        experts_touched=arguments.experts_touched,
        layout=Layout(
            tensor=arguments.tp,
            pipeline=arguments.pp,
            expert=arguments.ep,
            data=arguments.dp,
            domain=arguments.domain,
        ),
        links=_links(arguments),
        engine=_engine(arguments),
        way_back=WayBack(
            storage_bytes_per_s=_rate(arguments.storage_gb_per_s),
            host_link_bytes_per_s=_rate(arguments.host_link_gb_per_s),
            source="command line",
        ),
    )


def _links(arguments: argparse.Namespace) -> dict[Account, Link]:
    """A link needs its fixed time from the caller; only the bandwidth in a domain may be the device's
    own."""
    found: dict[Account, Link] = {}
    if arguments.link_alpha_us is not None:
        bandwidth = _rate(arguments.link_gb_per_s)
        if bandwidth is None and arguments.device in (None, THIS_HOST):
            raise _refused("link-gb-per-s", "absent", "a bandwidth, or a catalogued --device")
        found |= domain_link(
            arguments.device, alpha_s=arguments.link_alpha_us * 1e-6, bytes_per_s=bandwidth
        )
    elif arguments.link_gb_per_s is not None:
        raise _refused("link-alpha-us", "absent", "the fixed time of a message")
    for name, account in (("across", Account.ACROSS_DOMAINS), ("remote", Account.REMOTE_STATE)):
        alpha, rate = getattr(arguments, f"{name}_alpha_us"), getattr(arguments, f"{name}_gb_per_s")
        if (alpha is None) != (rate is None):
            raise _refused(f"{name}-alpha-us, {name}-gb-per-s", "one of them", "both or neither")
        if alpha is not None:
            found[account] = Link(
                alpha_s=alpha * 1e-6, bytes_per_s=rate * 1e9, source="command line"
            )
    return found


def _engine(arguments: argparse.Namespace) -> EngineMemory | None:
    if arguments.utilization is None:
        return None
    if arguments.remainder_bytes is None:
        raise _refused("remainder-bytes", "absent", "bytes beside weights and KV pool")
    return EngineMemory(
        utilization=arguments.utilization,
        remainder_bytes=arguments.remainder_bytes,
        remainder_source="command line",
        total_bytes=arguments.total_bytes,
    )


def _rate(gb_per_s: float | None) -> float | None:
    return None if gb_per_s is None else gb_per_s * 1e9


def _refused(field: str, seen: str, allowed: str) -> ModelRefused:
    return ModelRefused(
        Finding(
            field=field,
            seen=seen,
            allowed=allowed,
            remedy="There is no default for a physical constant.",
        )
    )
