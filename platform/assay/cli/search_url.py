"""Probes of a search against a URL: each a quick look, as ``assay load`` makes it."""

import argparse

from assay.analysis.capacity_search import Over
from assay.cli.load import carry_out
from assay.cli.load_declared import declared, policy_for
from assay.cli.load_found import client_limits
from assay.cli.search_probe import Probed, Prober, interrupted, probe_of
from assay.cli.search_words import Words
from experiments.errors import Finding, Refusal
from experiments.plan import check
from experiments.schema.contract import ServiceLevel
from runners.protocol.exit_codes import INTERRUPTED


def url_prober(arguments: argparse.Namespace, words: Words) -> Prober:
    """Raises Refusal where the endpoint or the words cannot be declared."""
    if words.overrides or arguments.model is None:
        raise Refusal(
            [
                Finding(
                    field="search",
                    seen=", ".join(words.overrides) or "no --model",
                    allowed="--url with --model and words of search alone, or a study",
                    remedy="Overrides belong to a study; a URL has options, see --help.",
                )
            ]
        )
    policy, slo = policy_for(arguments.url), ServiceLevel(**words.slo)

    def probe(value: float, requests: int, number: int) -> Probed:
        is_rate = words.rule.over is Over.rate
        document = declared(
            arguments,
            concurrency=None if is_rate else int(value),
            rate=value if is_rate else None,
            requests=requests,
            seed=arguments.seed + number,  # other prompts in every probe
            slo=slo,
        )
        if findings := check(document, policy=policy):
            raise Refusal(findings)
        looked = carry_out(document, policy, title=f"{value:g}")
        if looked.findings and looked.bundle is None:
            raise Refusal(list(looked.findings))
        if looked.exit_code == INTERRUPTED:
            raise interrupted()
        return Probed(
            probe=probe_of(
                value,
                words,
                reading=looked.reading,
                state=looked.state,
                reason=looked.reason,
                client_limits=client_limits(looked.bundle),
            ),
            run=looked.run_id,
            state=looked.state,
            bundle=str(looked.bundle) if looked.bundle else None,
            bundle_digest=looked.digest,
        )

    return probe
