"""What the record says of load workers: their clocks, what was seen from there, and what is not known."""

from collections.abc import Callable

from runners.protocol import clocks, distant
from runners.protocol.documents import ClockDomain, Gap, ObservationPoint
from runners.protocol.events import ResourceLimit
from runners.protocol.workspace import Workspace


def domains(workspace: Workspace) -> list[ClockDomain]:
    """The clock domain of each, tied to the reference as far as round trips could."""
    return [
        ClockDomain(
            id=clock["domain"],
            host=clock["host"],
            boot_id=clock["boot_id"],
            time_namespace=clock["time_namespace"],
            clock=clocks.CLOCK_KIND,
            calibration="bounded",
            error_ns=distant.error_ns(clock),
            worker=worker,
            offset_ns=[clock["low_ns"], clock["high_ns"]],
            exchanges=clock["exchanges"],
        )
        for worker, clock in distant.known_clocks(workspace.root).items()
    ]


def points(
    workspace: Workspace, *, level: ResourceLimit, lost: Callable[[int], int | None]
) -> list[ObservationPoint]:
    """The sockets of each one's client. ``lost`` counts the reads that a process could not keep."""
    return [
        ObservationPoint(
            point=f"client_socket_{worker}",
            sees=f"reads of client process {worker} on {clock['host']}, a load worker",
            layer="client_socket",
            perspective="client",
            clock_domain=clock["domain"],
            rate_hz=None,
            dropped=lost(worker),
            level=level.value,
        )
        for worker, clock in distant.known_clocks(workspace.root).items()
    ]


def gaps(workspace: Workspace) -> list[Gap]:
    """Their clients were not calibrated; a clock may not have been tied at the end."""
    found = []
    for worker, clock in distant.known_clocks(workspace.root).items():
        who = f"load worker of client process {worker} on {clock['host']}"
        found.append(
            Gap(
                what=f"{who}: its client's own error was not measured against a mock",
                affects="client times of its attempts; its loop lag and send lag are known",
                needed="a calibration on that machine",
                state="open",
            )
        )
        if all(exchange["when"] != "end" for exchange in clock["exchanges"]):
            found.append(
                Gap(
                    what=f"{who}: its clock was tied at the barrier only",
                    affects="how far the two clocks drifted apart while it sent",
                    needed="a load worker that lives to the end of the load",
                    state="open",
                )
            )
    return found
