"""Storage, network and distances, read from made files of a kernel."""

from pathlib import Path

import pytest

from runners.evidence import attached


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="ascii")


@pytest.mark.req("12.02")
def test_the_speed_that_a_driver_states_is_in_bit_a_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, kind, speed in (("eth0", "1", "25000"), ("eth1", "1", "-1"), ("lo", "772", "")):
        write(tmp_path / name / "type", kind)
        write(tmp_path / name / "speed", speed)
    monkeypatch.setattr(attached, "_NETWORK", tmp_path)

    fact = attached.network()["network_interfaces"]

    # 25,000 Mbit/s; a virtual interface states -1: not known, and not zero
    assert (fact.value, fact.unit) == ({"eth0": 25_000_000_000, "eth1": None}, "bit/s")


def test_the_file_system_is_that_of_the_longest_mount(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / "runs" / "one"
    deep.mkdir(parents=True)
    write(tmp_path / "mounts", f"disk / ext4 rw 0 0\nnet {tmp_path}/runs nfs4 rw 0 0\n")
    monkeypatch.setattr(attached, "_MOUNTS", tmp_path / "mounts")

    found = attached.storage(deep)

    assert found["storage_file_system"].value == "nfs4"
    assert found["storage_total_bytes"].value > 2**20
    assert attached.storage(tmp_path)["storage_file_system"].value == "ext4"


@pytest.mark.req("12.03")
def test_proxies_of_the_client_are_named_without_their_values(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://user:secret@proxy:3128")
    monkeypatch.delenv("http_proxy", raising=False)

    fact = attached.proxies()["proxy_variables"]

    assert "HTTPS_PROXY" in fact.value
    assert "secret" not in str(fact)


def test_distances_between_nodes_are_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "node0/distance", "10 21")
    write(tmp_path / "node1/distance", "21 10")
    monkeypatch.setattr(attached, "_NODES", tmp_path)

    assert attached.distances()["numa_distances"].value == [[10, 21], [21, 10]]
    monkeypatch.setattr(attached, "_NODES", tmp_path / "none")
    assert attached.distances()["numa_distances"].value is None
