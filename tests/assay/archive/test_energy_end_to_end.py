"""A real run beside counters that really run: from powercap files to joules by request and token."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from assay.archive.interpretation import interpret
from assay.archive.readers import Bundle
from runners.evidence import energy_counters
from runners.protocol import layout
from tests.runners.real_runs import execute, prepare

pytestmark = [pytest.mark.engine, pytest.mark.slow, pytest.mark.timeout(600)]
WATTS, RANGE_J = 10.0, 30.0
PRICE = {
    "amount": 0.36, "currency": "EUR", "per": "kilowatt_hour", "as_of": "2026-11-30", "source": "a contract",
}  # fmt: skip
# A package that draws 10 W whatever happens, and a part of it that must not be counted again. The counter
# wraps at 30 J, that is every three seconds, as a real one does every few minutes.
TICKER = f"""
import os, sys, time
from pathlib import Path
root = Path(sys.argv[1])
start = time.monotonic()
while True:
    for name, watts in (("intel-rapl:0", {WATTS}), ("intel-rapl:0:0", 4.0)):
        joules = watts * (time.monotonic() - start) % {RANGE_J}
        (root / name / "next").write_text(f"{{int(joules * 1e6)}}\\n")
        os.replace(root / name / "next", root / name / "energy_uj")
    time.sleep(0.01)
"""


@pytest.fixture
def counters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    root = tmp_path / "powercap"
    for folder, name in (("intel-rapl:0", "package-0"), ("intel-rapl:0:0", "core")):
        (root / folder).mkdir(parents=True)
        (root / folder / "name").write_text(f"{name}\n")
        (root / folder / "max_energy_range_uj").write_text(f"{int(RANGE_J * 1e6)}\n")
        (root / folder / "energy_uj").write_text("0\n")
    monkeypatch.setenv(energy_counters.VARIABLE, str(root))
    with subprocess.Popen([sys.executable, "-c", TICKER, str(root)]) as ticker:
        yield root
        ticker.kill()


def idle_s(bundle: Path, *, window_ns: list[int]) -> float:
    """Time of the load window in which no attempt was in flight; attempts of one worker follow each other."""
    from_ns, to_ns = (Bundle(bundle).origin_ns + t_ns for t_ns in window_ns)
    rows = pl.read_parquet(bundle / layout.ATTEMPTS).filter(pl.col("segment") == "load")
    spans = rows.select("sent_ns", "ended_ns").iter_rows()
    busy_ns = sum(max(min(end, to_ns) - max(start, from_ns), 0) for start, end in spans)
    return float(to_ns - from_ns - busy_ns) / 1e9


def test_a_metered_run_gives_joules_by_request_and_token_and_a_price(
    counters: Path, tmp_path: Path
) -> None:
    out = prepare(
        tmp_path,
        "load.concurrency=1",
        "load.think_time_s=0.4",
        "evidence.telemetry_interval_s=0.1",
        price=PRICE,
    )
    output, _ = execute(out).communicate(timeout=500)
    assert json.loads(output)["state"] == "sealed", output

    found = json.loads(interpret(out / "bundle", tmp_path / "derived").read_bytes())

    packages = next(r for r in found["resources"]["energy"] if r["meter"] == "processor packages")
    window_s, total_j = packages["window_s"], packages["total_j"]
    assert (packages["devices"], packages["counted_by"]) == (["rapl:package-0"], "its own counter")
    # 10 W throughout, whatever wrapped meanwhile; the files are up to some ticks old
    assert total_j == pytest.approx(WATTS * window_s, rel=0.1)
    assert packages["requests"] in (3, 4)  # the last one may end the window
    assert packages["per_request_j"] == pytest.approx(total_j / packages["requests"])
    assert packages["per_output_token_j"] == pytest.approx(total_j / packages["output_tokens"])
    rules = {a["rule"]: a for a in found["aggregates"]}
    # three pauses of 0.4 s between four requests, drawn at 10 W while nothing was asked
    resting_s = idle_s(out / "bundle", window_ns=rules["energy.cpu_package.total"]["window_ns"])
    assert resting_s == pytest.approx(1.2, abs=0.3)
    assert packages["idle_j"] == pytest.approx(WATTS * resting_s, rel=0.2)
    # 0.36 EUR for 3.6 MJ are 1e-7 EUR a joule
    assert found["resources"]["cost"]["total"] == pytest.approx(total_j * 1e-7)
    values = {name: entry["value"] for name, entry in rules.items()}
    assert values["energy.cpu_package.total"] == total_j
    assert values["energy.cpu_package.per_request"] == packages["per_request_j"]
    assert values["cost.per_output_token"] == pytest.approx(packages["per_output_token_j"] * 1e-7)
    assert not any(rule.startswith("energy.accelerator") for rule in rules)
    host = json.loads((out / "bundle" / layout.HOST).read_bytes())["facts"]["energy_counters"]
    assert host["source"] == str(counters)
    assert os.environ[energy_counters.VARIABLE] == host["source"]
