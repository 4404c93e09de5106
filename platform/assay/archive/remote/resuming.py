"""Bring one file up, going on where an earlier try was cut. What is up already is compared, never trusted.

Into a folder: bytes are appended to a partial file that bears the digest of the whole. Into S3: parts of a
multipart upload, whose finished parts the server lists. Either way the file has its name
only once it is whole.
"""

import hashlib
import math
import os
from pathlib import Path
from typing import IO, Any

from assay.archive.remote.location import Remote

_BLOCK = 2**20
PART_BYTES = 8 * 2**20
_MOST_PARTS = 9_000  # S3 takes ten thousand


def send_file(remote: Remote, source: Path, key: str, *, sha256: str) -> int:
    """The number of bytes that had to be sent."""
    if remote.is_folder:
        return _append(source, Path(key), sha256=sha256)
    if source.stat().st_size <= PART_BYTES:
        remote.files.pipe_file(key, source.read_bytes())
        return source.stat().st_size
    return _send_parts(remote, source, key)


def partial_name(target: Path, sha256: str) -> Path:
    return target.with_name(f".{target.name}.{sha256[:16]}.partial")


def _append(source: Path, target: Path, *, sha256: str) -> int:
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = partial_name(target, sha256)
    with source.open("rb") as ours, partial.open("a+b") as theirs:
        kept = _same_beginning(ours, theirs)
        theirs.truncate(kept)
        ours.seek(kept)
        sent = 0
        while block := ours.read(_BLOCK):
            theirs.write(block)
            sent += len(block)
        theirs.flush()
        os.fsync(theirs.fileno())
    partial.replace(target)
    return sent


def _same_beginning(ours: IO[bytes], theirs: IO[bytes]) -> int:
    """How many bytes of the partial file are the beginning of ours, in whole blocks."""
    ours.seek(0)
    theirs.seek(0)
    kept = 0
    while block := theirs.read(_BLOCK):
        if ours.read(len(block)) != block:
            break
        kept += len(block)
    return kept


def part_bytes(size: int) -> int:
    """The same for every try of a file, so that parts of an earlier try fit."""
    return max(PART_BYTES, math.ceil(size / _MOST_PARTS))


def _send_parts(remote: Remote, source: Path, key: str) -> int:
    bucket, _, name = key.partition("/")
    call = remote.files.call_s3
    where = {"Bucket": bucket, "Key": name}
    upload, there = _earlier(call, where) or (_begin(call, where), {})
    size = source.stat().st_size
    length, sent, tags = part_bytes(size), 0, []
    with source.open("rb") as stream:
        for number in range(1, math.ceil(size / length) + 1):
            body = stream.read(length)
            tag = there.get(number)
            if tag != (len(body), _md5(body)):
                answer = call("upload_part", **where, UploadId=upload, PartNumber=number, Body=body)
                tag = (len(body), _plain(answer["ETag"]))
                sent += len(body)
            tags.append({"PartNumber": number, "ETag": f'"{tag[1]}"'})
    call("complete_multipart_upload", **where, UploadId=upload, MultipartUpload={"Parts": tags})
    return sent


def _begin(call: Any, where: dict[str, str]) -> str:
    return str(call("create_multipart_upload", **where)["UploadId"])


def _earlier(call: Any, where: dict[str, str]) -> tuple[str, dict[int, tuple[int, str]]] | None:
    """The newest unfinished upload of this file, with size and tag of its parts by number."""
    listed = call("list_multipart_uploads", Bucket=where["Bucket"], Prefix=where["Key"])
    own = [u for u in listed.get("Uploads", []) if u["Key"] == where["Key"]]
    if not own:
        return None
    upload = str(max(own, key=lambda u: u["Initiated"])["UploadId"])
    parts: dict[int, tuple[int, str]] = {}
    after = 0
    while True:
        answer = call("list_parts", **where, UploadId=upload, PartNumberMarker=after)
        for part in answer.get("Parts", []):
            parts[int(part["PartNumber"])] = (int(part["Size"]), _plain(part["ETag"]))
        if not answer.get("IsTruncated"):
            return upload, parts
        after = answer["NextPartNumberMarker"]


def _md5(body: bytes) -> str:
    """S3's tag of a part. Where a server makes it otherwise (KMS), nothing matches and all is sent again."""
    return hashlib.md5(body, usedforsecurity=False).hexdigest()


def _plain(tag: str) -> str:
    return tag.strip('"')
