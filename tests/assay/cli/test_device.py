"""``assay device``: the runner measures, the file is kept for this host, and it is shown."""

import json
from pathlib import Path

import pytest

from assay.archive import benchmarks as stored
from assay.archive.paths import Home
from assay.cli import device
from assay.cli.main import main
from runners.protocol import host
from tests.assay.analysis import benchmarks

FAKE = """
import json, sys
from pathlib import Path
arguments = sys.argv[1:]
assert arguments[0] == "measure-device"
if "--threads" in arguments and arguments[arguments.index("--threads") + 1] == "0":
    sys.stderr.write("error: threads\\n")
    sys.exit(2)
document = json.loads(Path({document!r}).read_text())
document["options"] = arguments[2:]
Path(arguments[1]).write_text(json.dumps(document))
"""


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Home:
    """A home, and a checkout whose ``runners`` is a small stand-in."""
    document = benchmarks.document() | {"fingerprint": host.fingerprint(host.describe())}
    source = tmp_path / "document.json"
    source.write_text(json.dumps(document), encoding="utf-8")
    package = tmp_path / "checkout" / "runners"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(FAKE.format(document=str(source)), encoding="utf-8")
    monkeypatch.setattr(device, "CHECKOUT", tmp_path / "checkout")
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    return Home(tmp_path / "home")


def test_a_measurement_is_stored_for_this_host_by_its_time(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--threads", "2", "--working-set-bytes", "1000", "--groups", "stream"]
    assert main(["device", "measure", *options, "--json"]) == 0

    said = json.loads(capsys.readouterr().out)
    file = Path(said["file"])
    assert file.parent == home.root / "devices" / host.fingerprint(host.describe())
    assert said["benchmark"]["options"] == [
        "--threads", "2", "--working-set-bytes", "1000", "--device", "cpu", "--groups", "stream",
    ]  # fmt: skip
    (kept,) = stored.stored_benchmarks(home)
    assert kept["kind"] == "assay-device-benchmark"


def test_a_refusal_of_the_runner_keeps_its_exit_code(home: Home) -> None:
    assert main(["device", "measure", "--threads", "0"]) == 2
    assert stored.stored_benchmarks(home) == []


def test_stored_measurements_are_shown_with_their_spread(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["device", "show"]) == 1
    assert "Measure it: assay device measure" in capsys.readouterr().err

    assert main(["device", "measure"]) == 0
    capsys.readouterr()

    assert main(["device", "show"]) == 0
    assert "matmul.float32.rows_1" in (text := capsys.readouterr().out)
    assert "20 GB/s [16, 20]" in text


def test_a_torn_file_and_another_hosts_file_are_passed_over(home: Home) -> None:
    folder = stored.host_folder(home)
    folder.mkdir(parents=True)
    (folder / "torn.json").write_text("{", encoding="utf-8")
    (folder / "other.json").write_text(json.dumps(benchmarks.document()), encoding="utf-8")

    assert stored.stored_benchmarks(home) == []


def test_the_catalogue_is_listed_with_sources(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["device", "list", "--json"]) == 0

    listed = json.loads(capsys.readouterr().out)["devices"]
    card = next(d for d in listed if d["name"] == "H100-SXM")
    assert card["bandwidth_bytes_per_s"] == 3.35e12
    assert "data sheet" in card["source"]
    assert card["peaks_flops_per_s"]["bfloat16"]["column"] == "rated"
    assert card["links"][0]["one_way_bytes_per_s"] == 450e9


@pytest.mark.req("12.05")
def test_an_order_names_its_editions_and_who_has_no_place(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["device", "list", "--by", "float8_e4m3fn", "--json"]) == 0

    order = json.loads(capsys.readouterr().out)
    assert (order["places"][0]["name"], order["places"][0]["edition"]) == ("GB200", "2024")
    assert "product page" in order["left_out"]["H20-96GB"]

    assert main(["device", "list", "--by", "memory"]) == 0
    assert "no place: Apple-M3-Ultra: a product page" in capsys.readouterr().out
