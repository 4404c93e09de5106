"""What can be wrong with an archive, in words a person can act on."""

from collections.abc import Sequence


class ArchiveError(Exception):
    """Base of all errors of this package."""


class DamagedBundle(ArchiveError):
    """A bundle that does not match its manifest; ``problems`` name the files."""

    def __init__(self, where: str, problems: Sequence[str]) -> None:
        super().__init__(f"{where}: {len(problems)} problem(s): " + "; ".join(problems))
        self.where = where
        self.problems = tuple(problems)


class UnknownBundle(ArchiveError):
    """No bundle of that digest lies in the store."""

    def __init__(self, wanted: str, *, remedy: str) -> None:
        super().__init__(f"bundle: {wanted} (allowed: the digest of a stored bundle). {remedy}")


class RefusedArchive(ArchiveError):
    """An exported file that is not what ``assay export`` writes; nothing of it was kept."""

    def __init__(self, member: str, seen: str, allowed: str) -> None:
        super().__init__(
            f"{member}: {seen} (allowed: {allowed}). "
            "Export it again with `assay export`; nothing was imported"
        )
        self.member = member


class DamagedArchive(RefusedArchive):
    """An exported file one of whose members no longer unpacks; nothing of it was kept."""

    def __init__(self, member: str, problem: str) -> None:
        super().__init__(member, f"changed ({problem})", "the bytes that were exported")
