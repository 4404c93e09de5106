"""What can be wrong with a home: a closed list, each with what it means and what mends it."""

from dataclasses import dataclass
from enum import StrEnum


class FaultKind(StrEnum):
    missing_file = "missing_file"
    altered_file = "altered_file"
    unlisted_file = "unlisted_file"
    unreadable_manifest = "unreadable_manifest"
    wrong_address = "wrong_address"
    half_stored = "half_stored"
    half_sealed = "half_sealed"
    stray = "stray"
    unregistered_bundle = "unregistered_bundle"
    lost_bundle = "lost_bundle"
    no_reading = "no_reading"
    lost_reading = "lost_reading"
    altered_reading = "altered_reading"
    other_definition = "other_definition"
    unregistered_reading = "unregistered_reading"
    half_read = "half_read"
    not_archived = "not_archived"
    half_archived = "half_archived"
    lost_quarantine = "lost_quarantine"


# What may be left as it is: nothing that was recorded is in danger.
NOTES = frozenset(
    {FaultKind.other_definition, FaultKind.not_archived, FaultKind.half_read, FaultKind.no_reading}
)

_A_SOUND_COPY = (
    "restore the bundle from a backup, or import an export of it: the sound copy takes its place and this "
    "one goes to quarantine"
)
REMEDIES: dict[FaultKind, str] = {
    FaultKind.missing_file: _A_SOUND_COPY,
    FaultKind.altered_file: _A_SOUND_COPY,
    FaultKind.unlisted_file: "look at the file and move it away by hand: nobody sealed it",
    FaultKind.unreadable_manifest: "restore the bundle from a backup, or import an export of it",
    FaultKind.wrong_address: "move the folder out of the store and `assay import` it",
    FaultKind.half_stored: "once no run is being stored, remove the folder: nobody was told that it is there",
    FaultKind.half_sealed: "start a worker on this machine: its first sweep seals what a dead one left",
    FaultKind.stray: "look at it and move it away by hand: the store holds bundles only",
    FaultKind.unregistered_bundle: "`assay fsck --register` takes it into the index",
    FaultKind.lost_bundle: "restore it from a backup, or `assay import` an export of it",
    FaultKind.no_reading: "`assay fsck --rebuild-derived` reads the bundle by the present definition",
    FaultKind.lost_reading: "`assay fsck --rebuild-derived` reads the bundle again, if the definition is "
    "the present one; else restore it from a backup",
    FaultKind.altered_reading: "`assay fsck --rebuild-derived` moves it to quarantine and reads the bundle "
    "again",
    FaultKind.other_definition: "none is needed; `assay fsck --rebuild-derived` adds the present one's",
    FaultKind.unregistered_reading: "`assay fsck --rebuild-derived` puts the present definition's into the "
    "index",
    FaultKind.half_read: "once no run is being read, remove the folder",
    FaultKind.not_archived: "`assay archive push` brings it to the archive",
    FaultKind.half_archived: "`assay archive push` on the machine that holds it goes on where it stopped",
    FaultKind.lost_quarantine: "restore the folder from a backup; the record of why it was set aside stays",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that is wrong, and where. ``subject`` is the digest, execution or path it is about."""

    kind: FaultKind
    subject: str
    where: str
    detail: str = ""

    @property
    def is_note(self) -> bool:
        return self.kind in NOTES

    def __str__(self) -> str:
        detail = f" ({self.detail})" if self.detail else ""
        return f"{self.kind}: {self.where}{detail}. Remedy: {REMEDIES[self.kind]}"
