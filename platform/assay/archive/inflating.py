"""Unpack a gzip file of a bundle, up to a limit: it may come from anybody, and hold a flood."""

import gzip
from pathlib import Path

from assay.archive.errors import ArchiveError

MOST_BYTES = 1 << 28  # a tokenizer has a few million, a trace a few hundred million


class Flood(ArchiveError, ValueError):
    """A packed file that holds more than any honest one."""


def gunzip(path: Path, *, most: int = MOST_BYTES) -> bytes:
    """The content. Raises Flood beyond ``most`` bytes, OSError or EOFError for what is no gzip or was cut."""
    with gzip.open(path, "rb") as stream:
        content = stream.read(most + 1)
    if len(content) > most:
        raise Flood(
            f"{path.name}: more than {most} bytes out of {path.stat().st_size} (allowed: at most {most}). "
            "It is not read; its bytes stay as they are"
        )
    return content
