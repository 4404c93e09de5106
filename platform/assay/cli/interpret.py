"""``assay interpret``: read any recorded stream. Needs no database and no model."""

import argparse
import contextlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from rich.console import Console
from rich.table import Table

from assay.analysis.absence import Absent
from assay.analysis.asked import reasoning_tags, service_levels, window
from assay.analysis.documents import InterpretationDocument
from assay.analysis.errors import AnalysisError, BadRecord
from assay.analysis.levels import Levels
from assay.analysis.rates import ServiceLevels
from assay.analysis.recorded import RecordedStream, interpret_recorded
from assay.analysis.retokenized import NO_TOKENIZER, TextCounter
from assay.analysis.wire.declared import Declared
from assay.analysis.wire.dialects.table import DIALECTS
from assay.archive.tokenizer import counter_of
from runners.protocol.events import ResourceLimit

HELP = "read a recorded stream: client states, ledgers, metrics, gaps"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--wire", required=True, metavar="FILE", help="wire.jsonl; - is stdin")
    parser.add_argument("--events", metavar="FILE", help="events of server and client beside it")
    parser.add_argument("--slo", metavar="ttft=500ms,tpot=50ms", help="limits for goodput")
    parser.add_argument("--window", metavar="A:B", help="instants of the input's clock, ns or 5s")
    parser.add_argument(
        "--level",
        choices=[ResourceLimit.E0.value, ResourceLimit.E1.value],
        default=ResourceLimit.E1.value,
        help="E0: constructed or replayed without a device; nothing in it counts as verified beyond E0",
    )
    parser.add_argument(
        "--dialect", choices=list(DIALECTS), help="of the replies; default: what their events show"
    )
    parser.add_argument(
        "--reasoning-tags",
        metavar="<think>,</think>",
        help="the tags between which the server left its reasoning in the answer",
    )
    parser.add_argument(
        "--tokenizer", metavar="FILE", help="tokenizer.json, to count the answers' tokens again"
    )
    parser.add_argument("--json", action="store_true", help="print the whole reading as JSON")


def run(arguments: argparse.Namespace) -> int:
    try:
        document = _read(arguments)
    except AnalysisError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    if arguments.json:
        json.dump(document, sys.stdout, ensure_ascii=False, allow_nan=False)
        sys.stdout.write("\n")
    else:
        _show(document)
    return 0


def _read(arguments: argparse.Namespace) -> InterpretationDocument:
    slo = service_levels(arguments.slo) if arguments.slo else ServiceLevels()
    asked = window(arguments.window) if arguments.window else None
    is_e0 = arguments.level == ResourceLimit.E0
    levels = Levels(client=ResourceLimit.E0, server=ResourceLimit.E0) if is_e0 else Levels()
    with contextlib.ExitStack() as files:
        wire = files.enter_context(_opened(arguments.wire, "--wire"))
        events = (
            files.enter_context(_opened(arguments.events, "--events")) if arguments.events else ()
        )
        stream = RecordedStream(
            wire,
            events,
            wire_file=Path(arguments.wire).name,
            events_file=Path(arguments.events or "events.jsonl").name,
            declared=Declared(
                dialect=arguments.dialect, reasoning_tags=reasoning_tags(arguments.reasoning_tags)
            ),
            counter=_counter(arguments.tokenizer),
        )
    return interpret_recorded(stream, slo=slo, window=asked, levels=levels)


def _counter(name: str | None) -> TextCounter | Absent:
    if name is None:
        return NO_TOKENIZER
    with _opened(name, "--tokenizer") as file:
        try:
            return counter_of(file.read().decode())
        except Exception as error:  # the library raises bare Exception for a bad file
            raise BadRecord(
                field="--tokenizer",
                seen=f"{name}: {error}",
                allowed="a tokenizer.json of the Hugging Face tokenizers library",
                remedy="Give the tokenizer of the model that answered.",
            ) from error


@contextlib.contextmanager
def _opened(name: str, option: str) -> Iterator[IO[bytes]]:
    if name == "-":
        yield sys.stdin.buffer
        return
    path = Path(name)
    if not path.is_file():
        raise BadRecord(
            field=option,
            seen=f"{name}: no such file",
            allowed="a readable file",
            remedy="Give the path of a recorded stream.",
        )
    with path.open("rb") as stream:
        yield stream


def _show(document: InterpretationDocument) -> None:
    console = Console()
    attempts = Table(title=f"attempts, read by definition {document['definition_version']}")
    for column in ("attempt", "client", "server", "TTFT, s", "TPOT, s", "tokens", "failure"):
        attempts.add_column(column)
    server = {row["subject"]: row["state"] for row in document["ledgers"]["server"]}
    for reading in document["attempts"]:
        attempts.add_row(
            reading["attempt_id"],
            reading["client_state"],
            server.get(reading["attempt_id"], ""),
            _metric(reading["metrics"]["ttft.first_content.client"].get("value")),
            _metric(reading["metrics"]["tpot.last_token"].get("value")),
            str(reading["counts"]["usage"] or reading["counts"]["token_ids"] or "unknown"),
            reading["failure"] or "",
        )
    console.print(attempts)
    for ghost in document["ghost_load"]:
        total = ghost["total_ns"]
        words = f"{total / 1e6:g} ms" if total is not None else f"unknown: {ghost['absent']}"
        console.print(f"ghost load of {ghost['attempt_id']}: {words}")
    for difference in document["reconciliation"]["differences"]:
        console.print(f"difference: {difference}")
    for gap in document["gaps"]:
        console.print(f"gap ({gap['state']}): {gap['what']}. Affects {gap['affects']}.")


def _metric(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.6g}"
