"""What is recorded for a request with at most one output token, for which TPOT has no interval.

Engine histograms record 0, benchmarks drop the request; a figure of one source is not one of the other, so a
TPOT names its policy.
"""

from enum import StrEnum

from assay.analysis.absence import Absent


class TpotPolicy(StrEnum):
    histogram_zero = "histogram records 0"
    excluded = "excluded"


def tpot_from_end_to_end(
    *, e2e_s: float, ttft_s: float, output_tokens: int, policy: TpotPolicy
) -> float | Absent:
    """(end to end - TTFT) / (N - 1) in s; for N <= 1 what the policy says. Source: section 1.4.2."""
    if output_tokens > 1:
        return (e2e_s - ttft_s) / (output_tokens - 1)
    if policy is TpotPolicy.histogram_zero:
        return 0.0
    return Absent(f"{policy.value}: {output_tokens} output token(s)")
