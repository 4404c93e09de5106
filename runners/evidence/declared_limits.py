"""What the declaration itself keeps out of the experiment, said with every result of the run.

A mocked dependency does not vary, and a light load shows no queue: neither is wrong, and both limit what the
numbers may be used for. Source: sections 1.1.3 and 1.2.1.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from runners.protocol.documents import Gap

HOP_SETTINGS = (
    "response_buffering",
    "compression",
    "chunk_granularity",
    "protocol_conversion",
    "client_parsing",
    "render_throttling",
)


def declared_limits(spec: Mapping[str, Any]) -> Iterator[Gap]:
    """A gap for each mocked dependency, each hop of unknown settings, and a load of single requests."""
    for dependency in spec["boundary"]["external_dependencies"]:
        if dependency["mocked"]:
            delay = dependency["fixed_delay_s"]
            stand_in = f" (a fixed delay of {delay:g} s stands in)" if delay is not None else ""
            yield Gap(
                what=f"the variability of {dependency['name']}, which is mocked{stand_in}",
                affects="every time that includes a call of it: its variability is outside the experiment",
                needed=f"a run with the real {dependency['name']}",
                state="open",
            )
    for hop in spec["boundary"].get("hops") or ():
        unknown = [name.replace("_", " ") for name in HOP_SETTINGS if hop[name] is None]
        if unknown:
            yield Gap(
                what=f"{', '.join(unknown)} at the hop {hop['name']}",
                affects="where a stream that comes in steps was held back",
                needed=f"the settings of {hop['name']}, declared in boundary.hops",
                state="open",
            )
    if spec["workload"]["requests"] == 0 or spec["load"]["concurrency"] == 1:
        yield Gap(
            what="behaviour under load: this light load, one request at a time, is a baseline and "
            "diagnostic control",
            affects="capacity, and tail latency at high load",
            needed="a run at the load in question",
            state="open",
        )
