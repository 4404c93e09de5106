"""From a bundle's telemetry and declaration to energy and cost of its load window."""

import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.archive.interpretation import interpret
from runners.protocol import layout, tables
from tests.assay.archive import interpretable
from tests.assay.archive.interpretable import at

PRICE = {
    "amount": 36.0, "currency": "EUR", "per": "device_hour", "as_of": "2026-11-30", "source": "a contract",
}  # fmt: skip


def telemetry() -> bytes:
    """A board at 200 W throughout."""
    rows = [
        {"t_ns": at(ms), "subject": "nvml:0", "pid": None, "metric": "power_w", "value": 200.0, "unit": "W"}
        for ms in range(0, 1000, 50)
    ]  # fmt: skip
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=tables.TELEMETRY), out)
    return out.getvalue()


def reading(folder: Path, *, engine: str = "venv", **device: Any) -> dict[str, Any]:
    spec = interpretable.spec() | {
        "device": {"count": 1, "price": None} | device,
        "engine": {"environment": {"kind": engine}},
    }
    facts = {"energy_counters": {"value": None, "reason": "no powercap here"}}
    interpretable.build(
        folder / "bundle",
        **{layout.SPEC: spec},
        more={
            layout.TELEMETRY: telemetry(),
            layout.HOST: json.dumps({"facts": facts}).encode(),
        },
    )
    found: dict[str, Any] = json.loads(
        interpret(folder / "bundle", folder / "derived").read_bytes()
    )
    return found


def test_the_load_window_is_metered_and_priced(tmp_path: Path) -> None:
    found = reading(tmp_path, price=PRICE)

    boards, packages = found["resources"]["energy"]
    window_s = boards["window_s"]
    # sent at 301 and done at 371 ms: 0.07 s at 200 W; of its three tokens the last ends the window
    assert (window_s, boards["output_tokens"]) == (pytest.approx(0.07), 2)
    assert boards["total_j"] == pytest.approx(14.0)
    assert boards["per_output_token_j"] == pytest.approx(7.0)
    assert boards["reasons"] == {"per_request_j": "no completed request in the window"}
    assert packages["reasons"]["total_j"] == "no powercap here"
    # 36 EUR an hour are a cent a second
    assert found["resources"]["cost"]["total"] == pytest.approx(0.01 * window_s)
    rules = {a["rule"]: a for a in found["aggregates"]}
    assert rules["energy.accelerator.total"]["value"] == pytest.approx(14.0)
    assert rules["cost.per_output_token"]["unit"] == "EUR"


def test_meters_of_this_host_say_nothing_of_an_engine_elsewhere(tmp_path: Path) -> None:
    found = reading(tmp_path, engine="url")

    reasons = {row["reasons"]["total_j"] for row in found["resources"]["energy"]}
    assert reasons == {"the engine runs elsewhere: the meters of this host do not see it"}
    assert not any(a["rule"].startswith("energy.") for a in found["aggregates"])
