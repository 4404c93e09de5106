"""Limits of a control group, both versions, and no limit as null."""

from pathlib import Path

from runners.evidence import cgroup


def test_version_two_limits_are_read(tmp_path: Path) -> None:
    proc = tmp_path / "cgroup"
    proc.write_text("0::/box\n")
    root = tmp_path / "fs"
    (root / "box").mkdir(parents=True)
    (root / "cgroup.controllers").write_text("cpu memory")
    (root / "box" / "cpu.max").write_text("150000 100000\n")
    (root / "box" / "memory.max").write_text("1073741824\n")
    (root / "box" / "memory.current").write_text("4096\n")
    (root / "box" / "cpu.stat").write_text(
        "usage_usec 5\nnr_periods 9\nnr_throttled 2\nthrottled_usec 1500000\n"
    )

    group = cgroup.find(proc=proc, root=root)

    # 150 ms of each 100 ms is one and a half cores
    assert group.limits().cpu_quota_cores == 1.5
    assert group.limits().memory_limit_bytes == 2**30
    reading = group.reading()
    assert (reading.periods, reading.throttled_periods) == (9, 2)
    assert reading.throttled_s == 1.5
    assert reading.memory_bytes == 4096


def test_version_one_without_limits_has_none(tmp_path: Path) -> None:
    proc = tmp_path / "cgroup"
    proc.write_text("4:memory:/a/b\n1:cpu,cpuacct:/a\n0::/\n")
    root = tmp_path / "fs"
    for folder in ("cpu", "memory"):  # inside a container the named path is not there: the root is
        (root / folder).mkdir(parents=True)
    (root / "cpu" / "cpu.cfs_quota_us").write_text("-1\n")
    (root / "cpu" / "cpu.cfs_period_us").write_text("100000\n")
    (root / "cpu" / "cpu.stat").write_text("nr_periods 0\nnr_throttled 0\nthrottled_time 2000000\n")
    (root / "memory" / "memory.limit_in_bytes").write_text("9223372036854771712\n")

    group = cgroup.find(proc=proc, root=root)

    assert group.limits().version == 1
    assert group.limits().cpu_quota_cores is None
    assert group.limits().memory_limit_bytes is None
    # 2,000,000 ns
    assert group.reading().throttled_s == 0.002
    assert group.reading().memory_bytes is None


def test_no_group_is_null_and_not_zero(tmp_path: Path) -> None:
    group = cgroup.find(proc=tmp_path / "none", root=tmp_path)

    assert group.limits() == cgroup.CgroupLimits(
        version=None, path=None, cpu_quota_cores=None, memory_limit_bytes=None
    )
    assert group.reading().throttled_s is None
