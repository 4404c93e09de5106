"""``assay device``: measure this machine, show what is stored of it, list the catalogue. No Django."""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from assay.analysis.devices.catalogue import DEVICES
from assay.analysis.devices.ranking import BANDWIDTH, MEMORY, ranking
from assay.archive.benchmarks import host_folder, new_file, stored_benchmarks
from assay.archive.paths import CHECKOUT, PYTHON_PATH, home_from_environment
from assay.cli import device_list
from assay.cli.exits import DONE, FAILED, INTERRUPTED, complain, print_json

HELP = "Take a micro-benchmark of this machine, or show the stored ones and the device catalogue."
ACTIONS = ("measure", "show", "list")
EVERYTHING = "model,stream,gemm,launch"
_OPTIONS = ("threads", "working_set_bytes", "shapes", "device", "groups", "seconds")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=ACTIONS)
    parser.add_argument("--threads", type=int, help="torch threads (default: all processors)")
    parser.add_argument("--working-set-bytes", type=int, help="size of the read-only buffer")
    parser.add_argument("--shapes", help="layers=30,d_model=576,... (default: SmolLM2-135M)")
    parser.add_argument("--device", default="cpu", help="cpu, or cuda (NVIDIA; AMD under ROCm)")
    parser.add_argument("--groups", default=EVERYTHING, help=f"of {EVERYTHING} (the default)")
    parser.add_argument("--seconds", type=float, help="wanted for each group (default: 8)")
    parser.add_argument(
        "--by", help=f"list: in order of {MEMORY}, {BANDWIDTH} or an element type such as bfloat16"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


def run(arguments: argparse.Namespace) -> int:
    if arguments.action == "measure":
        return _measure(arguments)
    if arguments.action == "show":
        return _show(as_json=arguments.json)
    return _list(by=arguments.by, as_json=arguments.json)


def _measure(arguments: argparse.Namespace) -> int:
    out = new_file(home_from_environment(), datetime.now(UTC))
    command = [sys.executable, "-m", "runners", "measure-device", str(out)]
    for name in _OPTIONS:
        value = getattr(arguments, name)
        if value is not None:
            command += [f"--{name.replace('_', '-')}", str(value)]
    sys.stderr.write(f"measuring this machine's {arguments.device}: {arguments.groups}\n")
    try:
        # The runner says on stderr what is wrong; stdout stays ours.
        ended = subprocess.run(
            command, cwd=CHECKOUT, env=_environment(), stdout=subprocess.DEVNULL, check=False
        )
    except KeyboardInterrupt:
        return INTERRUPTED
    if ended.returncode != 0:
        return ended.returncode if ended.returncode > 0 else FAILED
    document = json.loads(out.read_bytes())
    if arguments.json:
        print_json({"file": str(out.resolve()), "benchmark": document})
    else:
        print(_summary(document, out))  # noqa: T201
    return DONE


def _environment() -> dict[str, str]:
    """This checkout first on the path, whatever else is installed."""
    known = os.environ.get("PYTHONPATH")
    path = os.pathsep.join([PYTHON_PATH, known]) if known else PYTHON_PATH
    return {**os.environ, "PYTHONPATH": path}


def _show(*, as_json: bool) -> int:
    home = home_from_environment()
    documents = stored_benchmarks(home)
    if not documents:
        complain(
            f"device: nothing is stored in {host_folder(home)} (allowed: a measured host). "
            "Measure it: assay device measure"
        )
        return FAILED
    if as_json:
        print_json({"folder": str(host_folder(home)), "benchmarks": documents})
    else:
        text = "\n\n".join(_summary(document, host_folder(home)) for document in documents)
        print(text)  # noqa: T201
    return DONE


def _list(*, by: str | None, as_json: bool) -> int:
    if by is not None:
        order = ranking(DEVICES, by=by)
        if as_json:
            print_json(device_list.order_row(order))
        else:
            print("\n".join(device_list.order_lines(order)))  # noqa: T201
    elif as_json:
        print_json({"devices": [device_list.row(entry) for entry in DEVICES]})
    else:
        print("\n".join(device_list.line(entry) for entry in DEVICES))  # noqa: T201
    return DONE


def _summary(document: Mapping[str, Any], where: Path) -> str:
    conditions = document["conditions"]
    share = conditions["other_cpu_share"]
    head = (
        f"{document['measured_at']}  {document['device']['name']}, {document['threads']} threads, "
        f"torch {document['software']['torch']}; others took "
        + ("an unknown share" if share is None else f"{share:.0%}")
        + (" of the CPU (disturbed)" if conditions["disturbed"] else " of the CPU")
    )
    lines = [head, f"  {where}"]
    for entry in document["measurements"]:
        figures = ", ".join(_figure(unit, rate) for unit, rate in entry["rates"].items())
        lines.append(
            f"  {entry['name']:<32} {entry['memory_level']:<12} n={entry['repetitions']:<4} {figures}"
        )
    return "\n".join(lines)


def _figure(unit: str, rate: Mapping[str, Any]) -> str:
    scale, name = {
        "byte/s": (1e-9, "GB/s"),
        "FLOP/s": (1e-9, "GFLOP/s"),
        "s/call": (1e6, "us/call"),
    }[unit]
    low, high = (end * scale for end in rate["spread"])
    text = f"{rate['value'] * scale:.4g} {name} [{low:.4g}, {high:.4g}]"
    if "quartiles" not in rate:  # files of before they were kept
        return text
    first, third = (end * scale for end in rate["quartiles"])
    return f"{text}, quartiles {first:.4g} and {third:.4g}"
