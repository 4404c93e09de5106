"""Mend what can be mended without touching a bundle: read it again, or put it into the index."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from assay.analysis.definition import DEFINITION_VERSION
from assay.archive.errors import ArchiveError
from assay.archive.faults import Fault, FaultKind
from assay.archive.paths import Home
from assay.archive.quarantine import quarantine
from assay.execution.importing import import_bundle
from assay.execution.interpreting import Reading, interpret
from assay.ledger import indexing
from assay.ledger.models import Bundle, Interpretation

REBUILT = frozenset(
    {
        FaultKind.no_reading,
        FaultKind.lost_reading,
        FaultKind.altered_reading,
        FaultKind.other_definition,
        FaultKind.unregistered_reading,
    }
)
DAMAGES = frozenset(
    {
        FaultKind.missing_file,
        FaultKind.altered_file,
        FaultKind.unlisted_file,
        FaultKind.unreadable_manifest,
        FaultKind.wrong_address,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mended:
    """What was done about a bundle; ``problem`` says why it could not be."""

    digest: str
    what: str
    problem: str = ""


def rebuild_derived(home: Home, faults: Iterable[Fault]) -> list[Mended]:
    """Read each sound bundle again whose reading by the present definition is missing or altered."""
    found = list(faults)
    damaged = {f.subject for f in found if f.kind in DAMAGES}
    wanted = {f.subject: f for f in found if f.kind in REBUILT and _is_of_present(f)}
    return [
        Mended(digest=digest, what="", problem="the bundle itself is damaged")
        if digest in damaged
        else _read_again(home, digest, fault)
        for digest, fault in sorted(wanted.items())
    ]


def _is_of_present(fault: Fault) -> bool:
    """A reading by an earlier definition can only be read again by that version of Assay."""
    if fault.kind in {FaultKind.no_reading, FaultKind.other_definition}:
        return True
    return DEFINITION_VERSION in Path(fault.where).parts


def _read_again(home: Home, digest: str, fault: Fault) -> Mended:
    folder = home.derived / digest / DEFINITION_VERSION
    if fault.kind is FaultKind.altered_reading:
        quarantine(
            home,
            folder,
            name=f"reading-{digest[:12]}",
            reason="a reading whose bytes are not those that the index knows",
            problems=(fault.detail,),
        )
    home.scratch.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="rebuild-", dir=home.scratch) as scratch:
        reading = interpret(home, home.bundle(digest), digest=digest, scratch=Path(scratch))
    return Mended(digest=digest, what="read again", problem=_index(digest, reading))


def _index(digest: str, reading: Reading) -> str:
    if reading.document is None:
        return reading.problem
    bundle = Bundle.objects.get(digest=digest)
    known = Interpretation.objects.filter(
        bundle=bundle, definition_version=DEFINITION_VERSION
    ).first()
    if known is not None and known.digest != reading.digest:
        return f"its sha256 is now {reading.digest}, the index says {known.digest}"
    indexing.index_interpretation(bundle, reading.document, digest=reading.digest)
    return ""


def register(home: Home, faults: Iterable[Fault], *, owner: str) -> list[Mended]:
    """Take bundles that lie in the store unknown into the index, as an import would."""
    unknown = sorted({f.subject for f in faults if f.kind is FaultKind.unregistered_bundle})
    return [_register(home, digest, owner=owner) for digest in unknown]


def _register(home: Home, digest: str, *, owner: str) -> Mended:
    try:
        found = import_bundle(home.bundle(digest), home, owner=owner)
    except ArchiveError as error:
        return Mended(digest=digest, what="", problem=str(error))
    return Mended(digest=digest, what=f"registered as run {found.run.id}")
