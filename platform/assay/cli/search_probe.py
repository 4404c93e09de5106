"""One probe of a search: what is asked of it, what came back, and how a search ends early."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from assay.analysis.capacity_search import Probe
from assay.analysis.slo_verdict import judged
from assay.cli.exits import INTERRUPTED, complain
from assay.cli.search_words import Words


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """One probe as it stands in the record."""

    probe: Probe
    run: str
    state: str
    bundle: str | None
    bundle_digest: str | None


Prober = Callable[[float, int, int], Probed]  # value, requests, number of the probe from 0


class Stopped(Exception):
    """A probe could not be made; the search ends with what it has. ``exit_code`` is the verb's."""

    def __init__(self, exit_code: int) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code


def interrupted() -> Stopped:
    complain("interrupted (allowed: waiting). The probes made so far are in the record")
    return Stopped(INTERRUPTED)


def probe_of(
    value: float,
    words: Words,
    *,
    reading: Mapping[str, Any] | None,
    state: str,
    reason: str,
    client_limits: list[str],
) -> Probe:
    return judged(
        value,
        reading,
        state=state,
        reason=reason,
        client_limits=client_limits,
        share=words.rule.share,
    )
