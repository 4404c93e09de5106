"""What the stored micro-benchmarks of one host say, as named parameters with their spread.

Two readings of the same files. A *bound* takes the best figure ever seen on this host, whatever the day. An
*estimate* takes the median of one file: same thread count, undisturbed if there is such a file, newest first.
Files of the host's accelerator lie beside those of its CPU; only those of the device asked for are read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runners.protocol.documents import Parameter

KIND = "assay-device-benchmark"
SOURCE = "micro-benchmark"
CPU = "cpu"
_READS = ("read_sum.", "read_gemv.", "matmul.", "stream.read.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A value with the lowest and highest one seen (or assumed); all three in the same unit."""

    value: float
    low: float
    high: float

    def __add__(self, other: "Interval") -> "Interval":
        return Interval(
            value=self.value + other.value, low=self.low + other.low, high=self.high + other.high
        )

    def times(self, factor: float) -> "Interval":
        """The interval of ``factor`` (not negative) independent-free repetitions: all three scale."""
        return Interval(value=self.value * factor, low=self.low * factor, high=self.high * factor)


ZERO = Interval(value=0.0, low=0.0, high=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Best:
    """The best figure ever seen of a rate, and where."""

    parameter: Parameter
    memory_level: str

    @property
    def value(self) -> float:
        return self.parameter["value"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The file that an estimate takes its medians from, and what is not ideal about it."""

    document: Mapping[str, Any]
    remarks: tuple[str, ...]

    @property
    def disturbed(self) -> bool:
        return self.document["conditions"].get("disturbed") is not False

    def interval(self, name: str, unit: str) -> Interval | None:
        """Median and spread of a measurement in ``unit``; None if the file has no such figure.

        In a disturbed file the best repetition stands for the median: it is the least disturbed one.
        """
        for entry in self.document["measurements"]:
            if entry["name"] == name and unit in entry["rates"]:
                rate = entry["rates"][unit]
                value = rate["best"] if self.disturbed else rate["value"]
                return Interval(value=value, low=rate["spread"][0], high=rate["spread"][1])
        return None

    def seconds_per(self, name: str, unit: str) -> Interval | None:
        """Inverse of a rate (byte/s or FLOP/s): s per byte or per FLOP."""
        found = self.interval(name, unit)
        if found is None:
            return None
        return Interval(value=1 / found.value, low=1 / found.high, high=1 / found.low)

    def names(self, prefix: str) -> list[str]:
        return [e["name"] for e in self.document["measurements"] if e["name"].startswith(prefix)]

    def parameter(self, name: str, interval: Interval, unit: str) -> Parameter:
        return Parameter(
            name=name,
            value=interval.value,
            unit=unit,
            source=SOURCE,
            reference=_reference(self.document),
            date=self.document["measured_at"],
            spread=[interval.low, interval.high],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sustained:
    """A bandwidth by one access pattern: median with quartiles, its level, and how it was got."""

    parameter: Parameter
    pattern: str
    read_share: float
    memory_level: str
    threads: int
    repetitions: int


def of_this_host(
    documents: Sequence[Mapping[str, Any]], *, fingerprint: str | None
) -> list[Mapping[str, Any]]:
    """Benchmark documents of one host; all of them when no fingerprint is given."""
    return [
        document
        for document in documents
        if document.get("kind") == KIND and fingerprint in (None, document.get("fingerprint"))
    ]


def of_device(documents: Sequence[Mapping[str, Any]], device: str) -> list[Mapping[str, Any]]:
    """Benchmark documents of one device of the host: ``cpu`` or ``cuda``."""
    return [document for document in documents if document["device"]["kind"] == device]


def sustained_bandwidths(
    documents: Sequence[Mapping[str, Any]], *, pattern: str, device: str = CPU
) -> list[Sustained]:
    """What was sustained under that very access pattern, newest file first; one entry a memory level.

    No other pattern's figure is taken instead: a copy does not calibrate paged reads.
    """
    prefix = f"stream.{pattern.replace(' ', '_')}."
    newest = sorted(of_device(documents, device), key=lambda d: d["measured_at"], reverse=True)
    found: dict[str, Sustained] = {}
    for document in newest:
        for entry in document["measurements"]:
            if entry["name"].startswith(prefix):
                found.setdefault(entry["memory_level"], _sustained(entry, document))
    return list(found.values())


def best_read_bandwidth(
    documents: Sequence[Mapping[str, Any]], *, working_set_bytes: int, device: str = CPU
) -> Best | None:
    """The highest read-only bandwidth ever seen at this working set or a larger one.

    A smaller set can sit in a faster level, so it says nothing about this one; 5% less is taken as equal.
    """
    candidates = [
        (entry["rates"]["byte/s"]["best"], document, entry)
        for document in of_device(documents, device)
        for entry in document["measurements"]
        if entry["name"].startswith(_READS)
        and "byte/s" in entry["rates"]
        and entry["working_set_bytes"] >= 0.95 * working_set_bytes
    ]
    return _best("read_bandwidth_best", "byte/s", candidates)


def best_flops(
    documents: Sequence[Mapping[str, Any]], *, dtype: str, device: str = CPU
) -> Best | None:
    """The highest FLOP/s ever seen in one element type, by any pattern."""
    candidates = [
        (entry["rates"]["FLOP/s"]["best"], document, entry)
        for document in of_device(documents, device)
        for entry in document["measurements"]
        if entry["dtype"] == dtype and "FLOP/s" in entry["rates"]
    ]
    return _best(f"flops_best_{dtype}", "FLOP/s", candidates)


def choose(documents: Sequence[Mapping[str, Any]], *, threads: int) -> Chosen | None:
    """The file for estimates: same threads before others, undisturbed before disturbed, then the newest."""
    candidates = of_device(documents, CPU)
    if not candidates:
        return None
    document = max(
        candidates,
        key=lambda d: (
            d["threads"] == threads,
            d["conditions"].get("disturbed") is False,
            d["measured_at"],
        ),
    )
    remarks = []
    if document["threads"] != threads:
        remarks.append(
            f"micro-benchmark taken with {document['threads']} threads, the engine has {threads}"
        )
    if document["conditions"].get("disturbed") is not False:
        share = document["conditions"].get("other_cpu_share")
        remarks.append(
            "micro-benchmark disturbed: other processes took "
            + ("an unknown share" if share is None else f"{share:.0%}")
            + " of the CPU time meanwhile; its best repetitions are used"
        )
    return Chosen(document=document, remarks=tuple(remarks))


def _best(
    name: str,
    unit: str,
    candidates: Sequence[tuple[float, Mapping[str, Any], Mapping[str, Any]]],
) -> Best | None:
    if not candidates:
        return None
    value, document, entry = max(candidates, key=lambda found: found[0])
    values = [found[0] for found in candidates]
    return Best(
        parameter=Parameter(
            name=name,
            value=value,
            unit=unit,
            source=SOURCE,
            reference=f"{entry['name']}, {_reference(document)}, best of {len(candidates)} figures",
            date=document["measured_at"],
            spread=[min(values), max(values)],
        ),
        memory_level=entry["memory_level"],
    )


def _sustained(entry: Mapping[str, Any], document: Mapping[str, Any]) -> Sustained:
    rate = entry["rates"]["byte/s"]
    return Sustained(
        parameter=Parameter(
            name=f"sustained_bandwidth.{entry['pattern'].replace(' ', '_')}",
            value=rate["value"],
            unit="byte/s",
            source=SOURCE,
            reference=f"{entry['name']}, {_reference(document)}",
            date=document["measured_at"],
            spread=rate["quartiles"],
        ),
        pattern=entry["pattern"],
        read_share=entry["conditions"]["read_share"],
        memory_level=entry["memory_level"],
        threads=entry["threads"],
        repetitions=entry["repetitions"],
    )


def _reference(document: Mapping[str, Any]) -> str:
    return (
        f"host {document['fingerprint']}, {document['threads']} threads, {document['measured_at']}"
    )
