"""``assay --server URL VERB`` against a real gunicorn: the same words and exit codes as here."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from assay.archive.export import export_bundle
from assay.cli.main import main
from tests.assay.archive.bundles import RUN_ID, sealed_bundle
from tests.e2e import site as sites
from tests.e2e.site import Site

pytestmark = pytest.mark.slow

CAPTURE = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A dashboard with the made-up laboratory, and one sealed bundle that really is one."""
    home = tmp_path_factory.mktemp("home")
    ids = sites.made_up(home)
    sealed_bundle(home / "bundle")
    file = export_bundle(home / "bundle", home / "one.assay.zip").file
    sites.python(home, "-m", "assay.cli.main", "import", str(file))
    sealed = json.loads(
        sites.python(home, "-m", "assay.cli.main", "list", "study:smollm2_concurrency", "--json")
    )
    other = next(row["run"] for row in sealed["runs"] if row["run"] != ids["run"])
    with sites.serving(home, {**ids, "sealed": RUN_ID, "other": other}) as running:
        yield running


@pytest.fixture(scope="module")
def token(site: Site) -> str:
    return here(site, "token", "new", "test").strip()


@pytest.fixture(autouse=True)
def _token(token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_TOKEN", token)


def here(site: Site, *arguments: str) -> str:
    """What the verb prints on the server's own machine."""
    return sites.python(site.home, "-m", "assay.cli.main", *arguments)


def there(site: Site, *arguments: str) -> int:
    return main(["--server", site.url, *arguments])


@pytest.mark.parametrize(
    "verb",
    [
        ("list",),
        ("list", "state:sealed", "--json"),
        ("show", "{run}"),
        ("show", "{run}", "--all"),
        ("ledgers", "{run}", "--at", "2s"),
        ("ledgers", "{run}", "--at", "2s", "--json"),
        ("compare", "{run}", "{other}"),
        ("compare", "{run}", "{other}", "--json"),
        ("schedule", "list"),
        ("schedule", "list", "--json"),
        ("schedule", "show", "smollm2 nightly"),
    ],
    ids=" ".join,
)
def test_a_verb_prints_there_what_it_prints_here(
    site: Site, verb: tuple[str, ...], capsys: CAPTURE
) -> None:
    ids = {"run": site.ids["run"], "other": site.ids["other"]}
    arguments = [part.format(**ids) for part in verb]

    code = there(site, *arguments)

    printed = capsys.readouterr().out
    at = f"{site.home}/store"
    expected = [line for line in here(site, *arguments).splitlines() if at not in line]
    assert [line for line in printed.splitlines() if site.url not in line] == expected
    assert code == 0


def test_the_object_of_a_run_differs_only_in_where_its_bundle_lies(
    site: Site, capsys: CAPTURE
) -> None:
    assert there(site, "show", site.ids["run"], "--json") == 0

    found = json.loads(capsys.readouterr().out)
    expected = json.loads(here(site, "show", site.ids["run"], "--json"))
    assert found.pop("bundle") == f"{site.url}/api/v1/bundles/{found['bundle_digest']}"
    expected.pop("bundle")
    assert found == expected


def test_a_bundle_comes_as_the_file_that_export_writes_there(
    site: Site, tmp_path: Path, capsys: CAPTURE
) -> None:
    run = json.loads(here(site, "show", site.ids["sealed"], "--json"))
    assert there(site, "export", site.ids["sealed"], str(tmp_path / "a.zip"), "--json") == 0

    found = json.loads(capsys.readouterr().out)
    here(site, "export", site.ids["sealed"], str(tmp_path / "b.zip"))
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    assert found["bundle_digest"] == run["bundle_digest"]
    assert there(site, "export", site.ids["sealed"], str(tmp_path / "a.zip")) == 2


def test_a_study_that_is_refused_there_is_refused_in_the_same_words(
    site: Site, capsys: CAPTURE
) -> None:
    wrong = ("study=smollm2_torch", "load.concurency=2")

    assert there(site, "submit", *wrong, "--json") == 2

    said = capsys.readouterr()
    main(["submit", *wrong, "--json"])
    assert json.loads(said.out) == json.loads(capsys.readouterr().out)
    assert "load.concurency" in said.err


def test_a_study_is_queued_there_and_ended_again(site: Site, capsys: CAPTURE) -> None:
    assert there(site, "submit", "study=smollm2_torch", "--json") == 0
    run = json.loads(capsys.readouterr().out)["runs"][0]["run"]

    assert there(site, "cancel", run) == 0
    assert there(site, "cancel", run) == 1

    assert "is aborted (allowed: queued or running)" in capsys.readouterr().err
    assert there(site, "show", run, "--json") == 0
    assert json.loads(capsys.readouterr().out)["state"] == "aborted"


def test_a_project_that_one_may_not_write_in_is_refused(site: Site, capsys: CAPTURE) -> None:
    assert there(site, "submit", "study=smollm2_torch", "--project", "elsewhere") == 2

    assert "project: elsewhere (allowed: one of main)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("show", "00000000"), "run: 00000000 (allowed: the id of a run there"),
        (("submit", "study=x", "--studies", "/tmp"), "--studies: /tmp lies here"),
        (("list", "stat:sealed"), "stat:sealed: no field stat"),
        (("ledgers", "00000000", "--at", "soon"), "--at"),
    ],
)
def test_bad_input_ends_with_two_and_says_what_is_allowed(
    site: Site, arguments: tuple[str, ...], words: str, capsys: CAPTURE
) -> None:
    assert there(site, *arguments) == 2

    assert words in capsys.readouterr().err


def test_a_token_that_does_not_count_is_named_and_not_shown(
    site: Site, monkeypatch: pytest.MonkeyPatch, capsys: CAPTURE
) -> None:
    monkeypatch.setenv("ASSAY_TOKEN", "assay_not-a-token")

    assert there(site, "list") == 3

    said = capsys.readouterr().err
    assert "ASSAY_TOKEN: a token that does not count there" in said
    assert "not-a-token" not in said


def test_a_token_of_too_small_a_scope_may_look_and_not_submit(
    site: Site, monkeypatch: pytest.MonkeyPatch, capsys: CAPTURE
) -> None:
    small = here(site, "token", "new", "small", "--scopes", "view").strip()
    monkeypatch.setenv("ASSAY_TOKEN", small)

    assert there(site, "list") == 0
    assert there(site, "cancel", site.ids["run"]) == 2

    assert "right: without write" in capsys.readouterr().err


def test_without_a_token_nothing_is_asked(
    site: Site, monkeypatch: pytest.MonkeyPatch, capsys: CAPTURE
) -> None:
    monkeypatch.delenv("ASSAY_TOKEN")

    assert there(site, "list") == 3

    assert "ASSAY_TOKEN: not set" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://127.0.0.1:1", "does not answer"),
        ("ftp://127.0.0.1", "ftp://127.0.0.1 (allowed: http://HOST:PORT"),
        ("http://assay.example", "would carry the token in the clear"),
        ("http://me:secret@127.0.0.1:1", "an address with a name in it"),
    ],
)
def test_an_address_that_cannot_be_asked_is_an_environment_that_lacks_something(
    url: str, words: str, capsys: CAPTURE
) -> None:
    assert main(["--server", url, "list"]) == 3

    said = capsys.readouterr().err
    assert words in said
    assert "secret" not in said


class Other(BaseHTTPRequestHandler):
    """A server of something else; ``version`` makes it an Assay of another age."""

    version = ""

    def do_GET(self) -> None:
        self.send_response(200)
        if self.version:
            self.send_header("Assay-Api", self.version)
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize(
    ("version", "words"),
    [("", "no Assay API"), ("0.9", "has API 0.9"), ("2.0", "has API 2.0")],
)
def test_a_server_that_is_none_or_too_old_is_said_to_be(
    version: str, words: str, capsys: CAPTURE
) -> None:
    handler = type("Handler", (Other,), {"version": version})
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()

        code = main(["--server", f"http://127.0.0.1:{server.server_port}", "list"])

        server.shutdown()
    assert code == 3
    assert words in capsys.readouterr().err


def test_the_environment_names_a_server_too(
    site: Site, monkeypatch: pytest.MonkeyPatch, capsys: CAPTURE
) -> None:
    monkeypatch.setenv("ASSAY_SERVER", site.url)

    assert main(["show", site.ids["run"], "--json"]) == 0

    assert json.loads(capsys.readouterr().out)["run"] == site.ids["run"]


def test_a_verb_of_this_machine_alone_is_refused_on_a_server(capsys: CAPTURE) -> None:
    assert main(["--server", "http://127.0.0.1:1", "up"]) == 2

    assert "--server: up (allowed: list, show" in capsys.readouterr().err


def test_a_schedule_is_added_there_and_what_is_refused_here_is_refused_there(
    site: Site, capsys: CAPTURE, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = here(site, "token", "new", "wide", "--scopes", "view,write,review,manage").strip()
    monkeypatch.setenv("ASSAY_TOKEN", wide)
    wanted = ("schedule", "add", "weekly", "study=smollm2_torch", "--cron", "30 2 * * 1", "--json")

    assert there(site, *wanted) == 0
    (made,) = json.loads(capsys.readouterr().out)["schedules"]
    assert made in json.loads(here(site, "schedule", "list", "--json"))["schedules"]
    assert there(site, *wanted) == 2
    assert "no other schedule" in capsys.readouterr().err
    assert there(site, "schedule", "pause", "weekly") == 0
    assert there(site, "schedule", "approve", "weekly") == 2
