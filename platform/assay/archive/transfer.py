"""Take in an exported file that nobody vouches for.

Before a byte is written: the number of members, their names, kinds and declared sizes. While writing: the
sizes really met. Afterwards: the manifest.
"""

import hashlib
import shutil
import stat
import unicodedata
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from assay.archive.errors import DamagedArchive, DamagedBundle, RefusedArchive
from assay.archive.export import BESIDE
from runners.protocol import layout, manifest

_BLOCK = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What an import may cost at most. A deflated stream cannot honestly shrink more than 1032-fold."""

    members: int = 10_000
    member_bytes: int = 8 * 2**30
    total_bytes: int = 32 * 2**30
    ratio: int = 200  # of unpacked to packed bytes, over the whole file
    ratio_from_bytes: int = 16 * 2**20  # small files may compress as well as they like
    depth: int = 4
    name_bytes: int = 240
    beside_bytes: int = 4 * 2**20  # of one file that lies beside the bundle


DEFAULT_LIMITS = Limits()


def unpack(file: Path, target: Path, *, limits: Limits = DEFAULT_LIMITS) -> manifest.Verification:
    """Unpack ``file`` into the new folder ``target`` and verify it.

    Raises RefusedArchive for a file that no export writes; ``target`` does not exist then. Raises
    DamagedBundle for bytes that do not match their manifest; ``target`` stays, for the quarantine.
    """
    target.mkdir(parents=True)
    try:
        _extract(file, target, limits)
    except BaseException:
        shutil.rmtree(target)
        raise
    checked = manifest.verify(target)
    if not checked.ok:
        raise DamagedBundle(str(file), checked.problems)
    return checked


def beside(file: Path, name: str, *, limits: Limits = DEFAULT_LIMITS) -> bytes | None:
    """What an export carries beside its bundle under that name; None when it carries no such thing.

    Raises RefusedArchive when it is too large or does not match its own digest.
    """
    wanted, pinned = f"{BESIDE}{name}", f"{BESIDE}{name}.sha256"
    with zipfile.ZipFile(file) as archive:
        members = {m.filename: m for m in archive.infolist()}
        if wanted not in members:
            return None
        if members[wanted].file_size > limits.beside_bytes:
            seen = f"{members[wanted].file_size} bytes"
            raise RefusedArchive(wanted, seen, f"at most {limits.beside_bytes} bytes")
        if pinned not in members or members[pinned].file_size != 64:
            raise RefusedArchive(pinned, "missing or no digest", "the sha256 of what lies beside")
        content, digest = (_read_whole(archive, members[n]) for n in (wanted, pinned))
    if hashlib.sha256(content).hexdigest().encode() != digest:
        raise DamagedArchive(wanted, "it does not match its digest")
    return content


def _read_whole(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """Never more than the header states, which was checked."""
    with archive.open(member) as source:
        try:
            content = source.read(member.file_size + 1)
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise DamagedArchive(member.filename, str(error) or "it ends early") from error
    if len(content) > member.file_size:
        raise RefusedArchive(member.filename, "more than its header states", "an honest header")
    return content


def _extract(file: Path, target: Path, limits: Limits) -> None:
    try:
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            _check_members(members, file.stat().st_size, limits)
            for member in members:
                if not member.filename.startswith(BESIDE):
                    _write_member(archive, member, target)
    except (zipfile.BadZipFile, NotImplementedError, EOFError, RuntimeError) as error:
        raise RefusedArchive(file.name, str(error), "a zip written by `assay export`") from error


def _check_members(members: list[zipfile.ZipInfo], packed: int, limits: Limits) -> None:
    if len(members) > limits.members:
        raise RefusedArchive("members", str(len(members)), f"at most {limits.members}")
    seen: set[str] = set()
    for member in members:
        _check_name(member, limits)
        _check_kind(member)
        key = unicodedata.normalize("NFC", member.filename).casefold()
        if key in seen:
            raise RefusedArchive(member.filename, "a name that occurs twice", "each name once")
        seen.add(key)
        if member.file_size > limits.member_bytes:
            raise RefusedArchive(
                member.filename,
                f"{member.file_size} bytes",
                f"at most {limits.member_bytes} bytes",
            )
    total = sum(m.file_size for m in members)
    if total > limits.total_bytes:
        raise RefusedArchive("total", f"{total} bytes", f"at most {limits.total_bytes} bytes")
    if total > limits.ratio_from_bytes and total > limits.ratio * packed:
        raise RefusedArchive(
            "total",
            f"{total} bytes out of {packed}",
            f"an expansion of at most {limits.ratio}",
        )
    for name in (layout.MANIFEST, layout.MANIFEST_DIGEST):
        if name not in {m.filename for m in members}:
            raise RefusedArchive(name, "missing", "a bundle with its manifest")


def _check_name(member: zipfile.ZipInfo, limits: Limits) -> None:
    # ``orig_filename`` is what the file says; zipfile itself cuts ``filename`` at a NUL byte.
    name = member.orig_filename
    path = PurePosixPath(name)
    bad = (
        name != member.filename
        or not name
        or "\\" in name
        or ":" in name
        or any(unicodedata.category(c).startswith("C") for c in name)
        or path.is_absolute()
        or name != path.as_posix()
        or any(part in {"..", "."} for part in path.parts)
        or len(path.parts) > limits.depth
        or len(name.encode()) > limits.name_bytes
    )
    if bad:
        raise RefusedArchive(repr(name), "a path that leaves or bends the folder", "plain names")


def _check_kind(member: zipfile.ZipInfo) -> None:
    kind = stat.S_IFMT(member.external_attr >> 16)
    if member.is_dir() or kind not in {0, stat.S_IFREG}:
        raise RefusedArchive(member.filename, "a folder, link or special file", "plain files")
    if member.flag_bits & 0x1:
        raise RefusedArchive(member.filename, "an encrypted member", "plain files")
    if member.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        raise RefusedArchive(
            member.filename, f"compression {member.compress_type}", "stored or deflated"
        )


def _write_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path) -> None:
    """Copy one member; never more than its header states, which was checked against the limits."""
    path = target / member.filename
    path.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    with archive.open(member) as source, path.open("xb") as sink:
        while block := _read_block(source, member):
            written += len(block)
            if written > member.file_size:
                raise RefusedArchive(
                    member.filename, "more bytes than its header states", "an honest header"
                )
            sink.write(block)


def _read_block(source: IO[bytes], member: zipfile.ZipInfo) -> bytes:
    """A flipped byte shows as an impossible code or, at the member's end, as a wrong checksum."""
    try:
        return source.read(_BLOCK)
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise DamagedArchive(member.filename, str(error) or "it ends early") from error
