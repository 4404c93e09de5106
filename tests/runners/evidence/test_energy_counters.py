"""RAPL as the kernel shows it: packages with their range; what cannot be read is a reason."""

from pathlib import Path

from runners.evidence import energy_counters, host, host_gaps


def package(root: Path, folder: str, name: str, energy_uj: str | None) -> None:
    (root / folder).mkdir(parents=True)
    (root / folder / "name").write_text(f"{name}\n")
    (root / folder / "max_energy_range_uj").write_text("262143328850\n")
    if energy_uj is not None:
        (root / folder / "energy_uj").write_text(f"{energy_uj}\n")


def test_a_package_is_read_in_joules_with_the_range_at_which_it_wraps(tmp_path: Path) -> None:
    package(tmp_path, "intel-rapl:0", "package-0", "1500000")
    package(tmp_path, "intel-rapl:0:0", "core", "900000")  # a part of the package
    package(tmp_path, "intel-rapl:1", "package-1", "250000")

    found = [(row[1], row[3], row[4], row[5]) for row in energy_counters.rows(tmp_path)]

    assert found == [
        ("rapl:package-0", "energy_j", 1.5, "J"),
        ("rapl:package-0", "energy_range_j", 262143.32885, "J"),
        ("rapl:package-1", "energy_j", 0.25, "J"),
        ("rapl:package-1", "energy_range_j", 262143.32885, "J"),
    ]
    assert energy_counters.problem(tmp_path) is None


def test_what_cannot_be_read_is_a_reason_and_no_row(tmp_path: Path) -> None:
    assert "offers no" in str(energy_counters.problem(tmp_path / "powercap"))
    assert "holds no RAPL package" in str(energy_counters.problem(tmp_path))
    package(tmp_path, "intel-rapl:0", "package-0", None)
    assert "is not readable by this user" in str(energy_counters.problem(tmp_path))
    assert energy_counters.rows(tmp_path) == []


def test_a_host_without_meters_says_so_in_gaps(tmp_path: Path) -> None:
    facts = host.describe()["facts"]
    absent = {"value": None, "reason": "the kernel offers no powercap"}

    found = host_gaps.gaps(
        facts | {"energy_counters": absent},
        rocm_driver=tmp_path / "kfd",  # type: ignore[dict-item]
    )

    (gap,) = [gap for gap in found if "energy" in gap["what"]]
    assert gap["what"].endswith("the kernel offers no powercap")
    assert "joules" in gap["affects"]


def test_an_unread_device_of_another_maker_is_a_gap(tmp_path: Path) -> None:
    (tmp_path / "kfd").touch()

    found = host_gaps.gaps(host.describe()["facts"], rocm_driver=tmp_path / "kfd")

    assert any("AMD device driver" in gap["what"] for gap in found)
