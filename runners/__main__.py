"""``python -m runners``: prepare, execute or reap one execution; measure this device; say what is here.

Standard output holds one JSON document; everything a person reads goes to standard error. Exit codes: 0
done, 1 ran and failed, 2 refused, 3 the machine lacks something, 130 interrupted.
"""

import argparse
import importlib
import json
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from runners.protocol.arrow_memory import load_arrow_that_keeps_its_memory
from runners.protocol.errors import RunnerError

INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    try:
        return int(arguments.verb(arguments))
    except RunnerError as error:
        findings = [asdict(f) for f in error.findings]
        sys.stdout.write(json.dumps({"ok": False, "state": "refused", "findings": findings}) + "\n")
        for finding in error.findings:
            sys.stderr.write(f"error: {finding}\n")
        return error.exit_code
    except KeyboardInterrupt:
        sys.stderr.write("interrupted before the run began\n")
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m runners", description=__doc__)
    verbs = parser.add_subparsers(required=True, metavar="VERB")

    prepare = verbs.add_parser("prepare", help="verify the pins and materialise the plan")
    prepare.add_argument("request", type=Path, help="JSON of a RunRequest")
    prepare.add_argument("out", type=Path, help="folder to create")
    prepare.set_defaults(verb=_prepare)

    execute = verbs.add_parser("execute", help="run a prepared execution and seal it")
    execute.add_argument("out", type=Path)
    execute.add_argument(
        "--watch",
        type=int,
        action="append",
        default=[],
        metavar="PID",
        help="end the run, sealed as lost, when this process is gone; may be given more than once",
    )
    execute.add_argument(
        "--calibrations",
        type=Path,
        metavar="DIR",
        help="keep calibrations of the load client here, to be used again by later runs",
    )
    execute.set_defaults(verb=_execute)

    perform = verbs.add_parser("perform", help="prepare and execute, in one process")
    perform.add_argument("request", type=Path, help="JSON of a RunRequest")
    perform.add_argument("out", type=Path, help="folder to create")
    perform.add_argument("--watch", type=int, action="append", default=[], metavar="PID")
    perform.add_argument("--calibrations", type=Path, metavar="DIR")
    perform.add_argument(
        "--read-by",
        nargs=2,
        metavar=("MODULE", "DIR"),
        help="then call MODULE.main([BUNDLE, DIR]): for a short reading, which costs less than to load Arrow",
    )
    perform.set_defaults(verb=_perform)

    shard = verbs.add_parser("drive-shard", help="one of several client processes of a run")
    shard.add_argument("config", type=Path)
    shard.set_defaults(verb=_drive_shard)

    reap = verbs.add_parser("reap", help="seal a dead execution from what it left")
    reap.add_argument("out", type=Path)
    reap.add_argument("--state", choices=("lost", "aborted", "failed"), default="lost")
    reap.set_defaults(verb=_reap)

    device = verbs.add_parser("measure-device", help="micro-benchmark of this machine")
    device.add_argument("out", type=Path, help="JSON file to write")
    device.add_argument("options", nargs=argparse.REMAINDER, help="see device_benchmark")
    device.set_defaults(verb=_measure_device)

    convert = verbs.add_parser("convert", help="make an artifact that is derived from another")
    convert.add_argument("name", help="of the config group artifact")
    convert.set_defaults(verb=_convert)

    engines = verbs.add_parser("engines", help="environments of engine versions")
    importlib.import_module("runners.environments.command").add_arguments(engines)
    engines.set_defaults(verb=_engines)

    offer = verbs.add_parser("offer", help="devices, engines and memory of this machine")
    offer.set_defaults(verb=_offer)

    doctor = verbs.add_parser("doctor", help="which engines and artifacts are usable here")
    doctor.add_argument("--json", action="store_true", dest="as_json")
    doctor.set_defaults(verb=_doctor)
    return parser


# Each verb imports its own module: the others' dependencies need not be installed.


def _prepare(arguments: argparse.Namespace) -> int:
    return int(importlib.import_module("runners.prepare").main(arguments.request, arguments.out))


def _execute(arguments: argparse.Namespace) -> int:
    return int(_executed(arguments).exit_code)


def _perform(arguments: argparse.Namespace) -> int:
    load_arrow_that_keeps_its_memory()
    importlib.import_module("runners.prepare").prepare(arguments.request, arguments.out)
    result = _executed(arguments)
    if arguments.read_by is not None:
        _read(result.bundle, *arguments.read_by)
        # What a run left in memory would be given back object by object: a tenth of a second of CPU.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(int(result.exit_code))
    return int(result.exit_code)


def _read(bundle: str, module: str, folder: str) -> None:
    """Have a sealed bundle read. The run is over: there is nothing to interrupt any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    importlib.import_module(module).main([bundle, folder])


def _executed(arguments: argparse.Namespace) -> Any:
    """The ``runners.result.Result`` of a prepared execution, told on standard output."""
    load_arrow_that_keeps_its_memory()
    session = importlib.import_module("runners.session")
    result = session.execute(
        arguments.out, watched=arguments.watch, calibrations=arguments.calibrations
    )
    sys.stdout.write(result.line() + "\n")
    sys.stdout.flush()
    return result


def _drive_shard(arguments: argparse.Namespace) -> int:
    load_arrow_that_keeps_its_memory()
    return int(importlib.import_module("runners.shard").main(arguments.config))


def _reap(arguments: argparse.Namespace) -> int:
    reaping = importlib.import_module("runners.reaping")
    state = importlib.import_module("runners.protocol.events").RunState(arguments.state)
    result = reaping.reap(arguments.out, state=state)
    sys.stdout.write(result.line() + "\n")
    return 0  # the reaping went well, whatever became of the run


def _measure_device(arguments: argparse.Namespace) -> int:
    importlib.import_module("runners.protocol.threads").wait_as_engines_do()
    benchmark = importlib.import_module("runners.evidence.device_benchmark")
    return int(benchmark.main(arguments.out, arguments.options))


def _convert(arguments: argparse.Namespace) -> int:
    return int(importlib.import_module("runners.converting").main(arguments.name))


def _engines(arguments: argparse.Namespace) -> int:
    return int(importlib.import_module("runners.environments.command").run(arguments))


def _offer(_arguments: argparse.Namespace) -> int:
    return int(importlib.import_module("runners.offering").main())


def _doctor(arguments: argparse.Namespace) -> int:
    doctor = importlib.import_module("runners.doctor")
    return int(doctor.main(as_json=arguments.as_json))


if __name__ == "__main__":
    sys.exit(main())
