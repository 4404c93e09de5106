"""A step's time from its amounts and the values of their parameters."""

from collections.abc import Mapping

from assay.analysis.device_estimate.parameters import known
from assay.analysis.device_estimate.terms import Amounts


def estimate_s(values: Mapping[str, float], amounts: Amounts, *, overlapped: bool = False) -> float:
    """Work and messages in turn; of two overlapped micro-batches the longer of both.

    Raises ClaimRefused for an amount whose parameter nothing is known of.
    """
    for name in amounts.together():
        known(name)
    work = sum(values[name] * amount for name, amount in amounts.work.items())
    sent = sum(values[name] * amount for name, amount in amounts.messages.items())
    return max(work, sent) if overlapped else work + sent
