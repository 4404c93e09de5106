"""AMD devices as amd-smi prints them: NVML's series, N/A left out, another form named and never guessed."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runners.evidence import amd_smi, host, host_gaps

DATA = Path(__file__).resolve().parents[2] / "data" / "amd_smi"
Program = Callable[..., str]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """An ``amd-smi`` that prints a file for each verb, as the real one would."""

    def make(metric: Any, process: Any = "process.json", static: Any = "static-rocm7.json") -> str:
        said = {"metric": metric, "process": process, "static": static}
        texts = {
            verb: (DATA / what).read_text() if isinstance(what, str) else json.dumps(what)
            for verb, what in said.items()
        }
        path = tmp_path / "amd-smi"
        path.write_text(
            f"#!{sys.executable}\nimport sys\nassert sys.argv[2:] == ['--json']\n"
            f"print({texts!r}[sys.argv[1]])\n"
        )
        path.chmod(0o755)
        return str(path)

    return make


def of(rows: list[Any], device: str) -> dict[str, float]:
    return {row[3]: row[4] for row in rows if row[1] == device and row[2] is None}


@pytest.mark.req("12.03")
def test_two_boards_of_rocm_7_give_the_series_of_nvml_in_base_units(program: Program) -> None:
    rows = amd_smi.rows(program("metric-rocm7.json"))

    first, second = of(rows, "amdsmi:0"), of(rows, "amdsmi:1")
    # 121,344 "MB" of 2**20 bytes; 97 %
    assert first == {
        "power_w": 542.0,
        "energy_j": 812_079.125,
        "sm_mhz": 2100.0,
        "memory_mhz": 1300.0,
        "memory_used_bytes": 121_344 * 2**20,
        "busy_share": pytest.approx(0.97),
        "memory_busy_share": pytest.approx(0.41),
        "uncorrected_ecc_errors": 0.0,
    }
    assert (second["power_w"], second["uncorrected_ecc_errors"]) == (141.0, 2.0)
    (held,) = [row for row in rows if row[2] is not None]
    assert held[1:] == ("amdsmi:0", 4242, "process_memory_bytes", 3.0 * 2**30, "byte")


def test_a_radeon_of_rocm_6_counts_no_energy_and_tells_no_ecc(program: Program) -> None:
    found = of(amd_smi.rows(program("metric-rocm6.json")), "amdsmi:0")

    assert found["power_w"] == 20.0
    assert not {"energy_j", "uncorrected_ecc_errors"} & found.keys()


def test_a_device_that_tells_nothing_is_no_row_and_no_strange_form(program: Program) -> None:
    cli = program("metric-nothing-told.json", process=[{"gpu": 0, "process_list": "N/A"}])

    assert amd_smi.rows(cli) == []
    assert amd_smi.unread(cli) == []


def test_facts_name_the_boards_in_both_forms_of_their_limit(program: Program) -> None:
    first, second = amd_smi.facts(program("metric-rocm7.json"))

    assert (first["name"], first["memory_bytes"]) == ("AMD Instinct MI300X", 196_592 * 2**20)
    assert (first["power_limit_w"], second["power_limit_w"]) == (750.0, 600.0)


@pytest.mark.parametrize(
    ("group", "said", "metric"),
    [
        ("power", {"socket_power": {"value": 542_000, "unit": "mW"}}, "power_w"),  # another unit
        ("power", {"socket_power": 542}, "power_w"),  # no unit at all
        ("power", {"power": {"value": 542, "unit": "W"}}, "power_w"),  # another place
        ("mem_usage", {"used_vram": {"value": 5, "unit": "GB"}}, "memory_used_bytes"),
        ("ecc", {"total_uncorrectable_count": {"value": 1, "unit": "1"}}, "uncorrected_ecc_errors"),
    ],
)
def test_another_form_is_named_and_is_no_reading(
    program: Program, group: str, said: Any, metric: str
) -> None:
    (device,) = json.loads((DATA / "metric-rocm6.json").read_text())
    cli = program([device | {group: said}])

    assert metric not in of(amd_smi.rows(cli), "amdsmi:0")
    assert metric in amd_smi.unread(cli)
    facts = {name: {"value": 1, "reason": None} for name in host.describe()["facts"]}
    (gap,) = host_gaps.gaps(facts, unread=amd_smi.unread(cli))
    assert metric in gap["what"]


@pytest.mark.parametrize("metric", [{"cards": []}, [{"card": 0}], "SOURCE.md"])
def test_an_answer_that_is_no_list_of_devices_is_a_reason(
    program: Program, metric: Any, tmp_path: Path
) -> None:
    cli = program(metric)

    assert amd_smi.rows(cli) == []
    assert "amd-smi metric --json" in str(amd_smi.problem(cli, driver=tmp_path))


def test_without_driver_or_command_there_is_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert "absent" in str(amd_smi.problem(driver=tmp_path / "kfd"))
    assert "no amd-smi command on PATH" in str(amd_smi.problem(driver=tmp_path))
