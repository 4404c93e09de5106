"""What identifies a host's performance, and what does not."""

from pathlib import Path

import pytest

from runners.protocol import host


def test_readings_and_held_back_memory_do_not_change_the_fingerprint() -> None:
    described = host.describe()
    memory = described["memory_bytes"]

    assert host.fingerprint(described) == host.fingerprint(host.describe())
    if memory is not None:
        held_back = host.HostDescription(**{**described, "memory_bytes": memory - 2**20})  # type: ignore[typeddict-item]
        assert host.fingerprint(held_back) == host.fingerprint(described)


@pytest.mark.parametrize(
    ("field", "value"),
    [("logical_cpus", 1024), ("cpu_model", "another"), ("cpu_quota", "50000 100000")],
)
def test_what_bounds_performance_changes_the_fingerprint(field: str, value: object) -> None:
    described = host.describe()

    other = host.HostDescription(**{**described, field: value})  # type: ignore[typeddict-item]

    assert host.fingerprint(other) != host.fingerprint(described)


def test_caches_are_read_with_their_instances(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for index, (kind, level, size, shared) in enumerate(
        [
            ("Data", "1", "48K", "0"),
            ("Instruction", "1", "32K", "0"),
            ("Unified", "3", "30M", "0-3,8"),
        ]
    ):
        folder = tmp_path / f"index{index}"
        folder.mkdir()
        for name, text in (
            ("type", kind),
            ("level", level),
            ("size", size),
            ("shared_cpu_list", shared),
        ):
            (folder / name).write_text(text + "\n", encoding="utf-8")
    monkeypatch.setattr(host, "_CACHE", tmp_path)
    monkeypatch.setattr(host.os, "cpu_count", lambda: 10)

    # the L3 is shared by five of ten processors, the L1 by one
    assert host.describe()["caches"] == [
        {"level": 1, "bytes": 49152, "instances": 10},
        {"level": 3, "bytes": 30 * 2**20, "instances": 2},
    ]


def test_a_host_without_proc_is_described_as_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_CPUINFO", "_MEMINFO", "_CACHE", "_CGROUP_QUOTA"):
        monkeypatch.setattr(host, name, tmp_path / "nothing")

    described = host.describe()

    assert (described["cpu_model"], described["memory_bytes"], described["caches"]) == (
        None,
        None,
        [],
    )
    assert len(host.fingerprint(described)) == 16
