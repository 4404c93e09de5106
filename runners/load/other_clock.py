"""Carry a drive's report from the clock that stamped it to ours, by the middle of what the offset can be."""

from dataclasses import replace

from runners.load.pace import StageSpan
from runners.load.report import DriveReport
from runners.protocol.distant import DistantClock, error_ns, offset_ns


def on_our_clock(report: DriveReport, clock: DistantClock) -> DriveReport:
    """Every time of it less the offset; ``times_error_ns`` says by how much each may be off."""
    ahead = offset_ns(clock)

    def ours(t_ns: int | None) -> int | None:
        return None if t_ns is None else t_ns - ahead

    return replace(
        report,
        stages=tuple(_span(span, ahead) for span in report.stages),
        origin_ns=report.origin_ns - ahead,
        first_sent_ns=ours(report.first_sent_ns),
        last_sent_ns=ours(report.last_sent_ns),
        drain_start_ns=ours(report.drain_start_ns),
        ended_ns=report.ended_ns - ahead,
        times_error_ns=error_ns(clock),
    )


def _span(span: StageSpan, ahead: int) -> StageSpan:
    return replace(span, from_ns=span.from_ns - ahead, to_ns=span.to_ns - ahead)
