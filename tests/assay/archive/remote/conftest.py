"""An empty archive, in a folder and in S3."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.archive.remote.location import Remote, remote_at
from tests.assay.archive.remote.s3_server import S3Server, s3_server


@pytest.fixture(scope="session")
def server() -> Iterator[S3Server]:
    with s3_server() as started:
        yield started


def bucket_on(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> Remote:
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    bucket = f"b{uuid.uuid4().hex[:12]}"
    made = remote_at(f"s3://{bucket}/team")
    made.files.mkdir(bucket)
    return made


@pytest.fixture(params=["folder", pytest.param("s3", marks=pytest.mark.slow)])
def remote(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Remote:
    if request.param == "folder":
        return remote_at(str(tmp_path / "archive"))
    return bucket_on(request.getfixturevalue("server"), monkeypatch)
