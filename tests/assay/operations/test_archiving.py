"""Bringing bundles to the archive: account is kept, what fails is tried again, and room can be made here."""

import json
from pathlib import Path

import pytest

from assay.archive.paths import Home
from assay.archive.remote.location import Remote, remote_at
from assay.cli.main import main
from assay.execution.machine import machine_to_itself
from assay.ledger.models import Bundle
from assay.operations import archiving, tasks
from assay.operations.archiving import pending, push
from assay.operations.models import Upload
from assay.operations.trimming import trim
from runners.protocol import layout
from tests.assay.operations.conftest import TakeIn


@pytest.fixture
def remote(tmp_path: Path) -> Remote:
    return remote_at(str(tmp_path / "archive"))


def test_what_was_sealed_is_brought_once(home: Home, remote: Remote, take_in: TakeIn) -> None:
    bundles = [take_in(), take_in()]

    first, second = push(home, remote), push(home, remote)

    assert first is not None
    assert second is not None
    assert (first.sent, first.left, second.sent, second.left) == (2, 0, 0, 0)
    assert {u.bundle_id for u in Upload.objects.filter(sent_at__isnull=False)} == {
        b.digest for b in bundles
    }


def test_what_could_not_be_sent_stays_on_the_list_with_its_reason(
    home: Home, remote: Remote, take_in: TakeIn
) -> None:
    damaged, _sound = take_in(), take_in()
    (home.bundle(damaged.digest) / layout.SESSION).unlink()

    done = push(home, remote)

    assert done is not None
    assert (done.sent, done.left, len(done.failed)) == (1, 1, 1)
    assert [b.digest for b in pending(remote)] == [damaged.digest]
    assert "session" in Upload.objects.get(sent_at=None).problem


def test_two_do_not_push_at_once(home: Home, remote: Remote, bundle: Bundle) -> None:
    with archiving._alone(home):
        assert push(home, remote) is None


def test_room_is_made_only_of_what_the_archive_holds(
    home: Home, remote: Remote, take_in: TakeIn
) -> None:
    archived = take_in()
    push(home, remote)
    alone = take_in()

    done = trim(home, remote, keep_bytes=0)

    assert done.copies == 1
    assert not home.bundle(archived.digest).exists()
    assert home.bundle(alone.digest).is_dir()


def test_the_verb_pushes_trims_and_fetches(
    home: Home,
    remote: Remote,
    bundle: Bundle,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("ASSAY_ARCHIVE", remote.url)

    done = [
        (main(["archive", *words, "--json"]), json.loads(capsys.readouterr().out))
        for words in (["push"], ["status"], ["trim", "--keep", "0"], ["fetch", bundle.digest])
    ]

    assert [code for code, _ in done] == [0, 0, 0, 0]
    assert done[0][1]["sent"] == 1
    assert done[1][1]["whole"] == 1
    assert done[2][1]["copies"] == 1
    assert done[3][1]["bundle"] == str(home.bundle(bundle.digest))


@pytest.mark.forbids
def test_without_an_archive_the_verb_is_refused(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["archive", "push"]) == 2
    assert "ASSAY_ARCHIVE: not set" in capsys.readouterr().err


def test_a_push_waits_while_a_run_is_measured_and_goes_when_the_machine_is_idle(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[list[str]] = []

    class Started:
        def __init__(self, command: list[str], **_asked: object) -> None:
            started.append(command)

        def poll(self) -> None:
            """It goes on."""

    monkeypatch.setattr("assay.operations.tasks.subprocess.Popen", Started)
    monkeypatch.setattr(tasks, "_pushing", [])

    with machine_to_itself(home) as is_ours:
        tasks.push_archive()
        while_measuring = len(started)
    tasks.push_archive()
    tasks.push_archive()

    assert is_ours
    assert while_measuring == 0
    assert [command[-4:-2] for command in started] == [["archive", "push"]]
