"""The stand-in's command line: the subcommands, flags, exit codes and error texts of docker 28 that are used.

It takes no other flag: one that docker does not know, or that is missing, ends it as docker ends.
"""

import argparse
import json
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any, NoReturn


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        sys.stderr.write(f"unknown flag or argument: {message}\n")
        sys.exit(125)


def _run_parser() -> Parser:
    parser = Parser(allow_abbrev=False)
    for flag in ("--rm", "--init", "--read-only"):
        parser.add_argument(flag, action="store_true")
    for flag in (
        "--pull",
        "--name",
        "--network",
        "--ipc",
        "--user",
        "--cap-drop",
        "--security-opt",
    ):
        parser.add_argument(flag)
    for flag in ("--tmpfs", "--workdir", "--cpuset-cpus", "--gpus", "--entrypoint"):
        parser.add_argument(flag)
    for flag in ("--label", "--mount", "--env", "--device", "--group-add"):
        parser.add_argument(flag, action="append", default=[])
    parser.add_argument("image")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser


def main(folder: Path, words: list[str]) -> int:
    match words:
        case ["run", *rest]:
            return _run(folder, rest)
        case ["pull", "--quiet", reference]:
            return _ask(folder, do="pull", reference=reference)
        case ["image", "inspect", name]:
            return _ask(folder, do="image", name=name)
        case ["image", "rm", name]:
            return _ask(folder, do="image_rm", name=name)
        case ["container", "inspect", name]:
            return _ask(folder, do="container", name=name)
        case ["ps", "--all", "--quiet", "--no-trunc", "--filter", wanted]:
            return _ask(folder, do="ps", label=wanted.removeprefix("label="))
        case ["stop", "-t", seconds, *names]:
            return _ask(folder, do="end", names=names, patience_s=float(seconds), gently=True)
        case ["kill", *names] | ["rm", "--force", *names]:
            return _ask(folder, do="end", names=names, patience_s=0, gently=False)
        case _:
            sys.stderr.write(f"docker: unknown command: docker {' '.join(words)}\n")
            return 1


def _run(folder: Path, words: list[str]) -> int:
    asked = vars(_run_parser().parse_args(words))
    reference, arguments = asked.pop("image"), asked.pop("arguments")
    asked["labels"] = dict(label.split("=", 1) for label in asked.pop("label"))
    pairs = [entry.partition("=") for entry in asked.pop("env")]
    asked["env"] = {
        name: value if sign else os.environ.get(name, "") for name, sign, value in pairs
    }
    name = asked["name"]
    signal.signal(
        signal.SIGTERM, lambda *_: _ask(folder, do="end", names=[name], patience_s=5, gently=True)
    )
    return _ask(folder, do="run", options=asked, reference=reference, arguments=arguments)


def _ask(folder: Path, **request: Any) -> int:
    with socket.socket(socket.AF_UNIX) as line:
        try:
            line.connect(str(folder / "socket"))
        except OSError:
            sys.stderr.write("Cannot connect to the Docker daemon. Is the docker daemon running?\n")
            return 1
        line.sendall(json.dumps(request).encode() + b"\n")
        code = 1
        for answer in map(json.loads, line.makefile()):
            sys.stdout.buffer.write(answer.get("log", answer.get("out", "")).encode("latin-1"))
            sys.stdout.flush()
            sys.stderr.write(answer.get("err", ""))
            code = answer.get("code", code)
        return code
