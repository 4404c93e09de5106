"""What a machine does not let anybody observe, as gaps: none of it is ever reported as zero."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runners.evidence import amd_smi
from runners.protocol.documents import Gap


def gaps(
    facts: Mapping[str, Any], *, rocm_driver: Path = amd_smi.DRIVER, unread: Sequence[str] = ()
) -> list[Gap]:
    """By the facts that ``runners.evidence.host`` read: each a mapping with ``value`` and ``reason``.

    ``unread`` are quantities of AMD devices whose form is not known.
    """
    found = []
    if facts["cpu_governor"]["value"] is None:
        found.append(
            Gap(
                what="core frequency policy and frequency over time are not observable on this machine",
                affects="whether a difference in step time is a difference in core frequency",
                needed="a kernel with cpufreq, or counters of the hypervisor's host",
                state="open",
            )
        )
    if facts["nvml_devices"]["value"] is None and facts["amd_devices"]["value"] is None:
        absent = facts["nvidia_driver"]["value"] is None
        found.append(
            Gap(
                what=f"no accelerator readings: {facts['nvml_devices']['reason']}",
                affects="power, device memory and device clocks; none of them is reported as zero",
                needed="nothing for a CPU run; a machine with a device for a device run",
                state="accepted" if absent else "open",
            )
        )
    if facts["energy_counters"]["value"] is None:
        found.append(
            Gap(
                what=f"the processor's energy is not counted: {facts['energy_counters']['reason']}",
                affects="joules per request and per output token of the processor",
                needed="a kernel with readable RAPL counters, or a meter",
                state="accepted",
            )
        )
    if rocm_driver.exists() and facts["amd_devices"]["value"] is None:
        found.append(
            Gap(
                what=f"an AMD device driver is loaded ({rocm_driver}), and its devices are not read: "
                f"{facts['amd_devices']['reason']}",
                affects="power, device memory and device clocks; none of them is reported as zero",
                needed="amd-smi of ROCm 6.3 to 7.2, or a reader for its form",
                state="open",
            )
        )
    if unread:
        found.append(
            Gap(
                what=f"amd-smi metric --json does not give in the known form: {', '.join(unread)}",
                affects="these series of AMD devices; none of them is reported as zero",
                needed="a reader for the form of this version of amd-smi",
                state="open",
            )
        )
    return found
