"""``assay export RUN --otlp FILE|URL`` and ``--mlflow URI``: a run in the forms of other tools."""

import argparse
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.archive import mlflow_run, otlp
from assay.archive.errors import ArchiveError
from assay.archive.mlflow_run import MlflowRun
from assay.archive.paths import Home
from assay.archive.readers import Bundle
from assay.archive.remote import fetching
from assay.archive.stored_reading import StoredReading
from assay.cli.exits import DONE, FAILED, REFUSED, complain, print_json

TIMEOUT_S = 30.0
_API = "/api/2.0/mlflow"
_BATCH = {"metrics": 1000, "params": 100, "tags": 100}  # what MLflow takes at once


class NotTaken(Exception):
    """The other side did not take it; the message says why."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--otlp",
        metavar="FILE|URL",
        help="OpenTelemetry spans as OTLP JSON: a new file, or a collector such as http://127.0.0.1:4318",
    )
    parser.add_argument(
        "--mlflow", metavar="URI", help="an MLflow server, such as http://127.0.0.1:5000"
    )


def wanted(arguments: argparse.Namespace) -> bool:
    return bool(arguments.otlp or arguments.mlflow)


def run(arguments: argparse.Namespace, home: Home, digest: str) -> int:
    try:
        folder = fetching.get(home, digest)
        bundle = Bundle(folder)
        reading = newest(home, bundle.digest)
        done: dict[str, Any] = {"bundle_digest": bundle.digest}
        if arguments.otlp:
            done |= send_spans(bundle, reading, arguments.otlp)
        if arguments.mlflow:
            done |= send_run(mlflow_run.mlflow_run(bundle, reading), arguments.mlflow.rstrip("/"))
    except ArchiveError as error:
        complain(str(error))
        return REFUSED
    except FileExistsError:
        complain(f"--otlp: {arguments.otlp} exists (allowed: a new file). Name another one")
        return REFUSED
    except (NotTaken, OSError) as error:
        complain(f"export: {error} (allowed: a place that takes it)")
        return FAILED
    if arguments.json:
        print_json(done)
    else:
        print("  ".join(f"{name} {value}" for name, value in done.items()))  # noqa: T201
    return DONE


def newest(home: Home, digest: str) -> StoredReading:
    """The latest reading of a bundle that lies here. Raises ArchiveError."""
    folders = (home.derived / digest).glob("*") if (home.derived / digest).is_dir() else ()
    found = [reading for folder in folders if (reading := StoredReading(folder)).present]
    if not found:
        raise ArchiveError(
            f"bundle: {digest} has no reading here (allowed: an interpreted bundle). "
            f"Make one: assay interpret {digest}"
        )
    return max(found, key=lambda reading: reading.folder.stat().st_mtime)


def send_spans(bundle: Bundle, reading: StoredReading, target: str) -> dict[str, Any]:
    """One line a batch into a new file, or one POST a batch to a collector."""
    count = 0
    if not target.startswith(("http://", "https://")):
        with Path(target).open("x", encoding="utf-8") as stream:
            for request in otlp.requests(bundle, reading):
                stream.write(json.dumps(request, ensure_ascii=False) + "\n")
                count += _spans(request)
        return {"otlp": str(Path(target).resolve()), "spans": count}
    url = target.rstrip("/")
    if not urllib.parse.urlsplit(url).path:
        url += "/v1/traces"
    for request in otlp.requests(bundle, reading):
        _call("POST", url, request)
        count += _spans(request)
    return {"otlp": url, "spans": count}


def send_run(found: MlflowRun, uri: str) -> dict[str, Any]:
    """A new run of the experiment that bears the study's name, with everything logged."""
    if not uri.startswith(("http://", "https://")):
        raise ArchiveError(
            f"--mlflow: {uri} (allowed: http:// or https:// of an MLflow server). "
            "Over a folder: mlflow server --backend-store-uri FOLDER"
        )
    body = {
        "experiment_id": _experiment(found.experiment, uri),
        "run_name": found.name,
        "start_time": found.start_ms,
        "tags": _pairs(found.tags),
    }
    made = _call("POST", f"{uri}{_API}/runs/create", body)["run"]["info"]
    run_id = made["run_id"]
    metrics = [
        {"key": name, "value": value, "timestamp": found.end_ms, "step": 0}
        for name, value in found.metrics.items()
    ]
    for kind, rows in (("metrics", metrics), ("params", _pairs(found.params))):
        for start in range(0, len(rows), _BATCH[kind]):
            part = {"run_id": run_id, kind: rows[start : start + _BATCH[kind]]}
            _call("POST", f"{uri}{_API}/runs/log-batch", part)
    kept = _artifacts(found, uri, str(made["artifact_uri"]))
    end = {"run_id": run_id, "status": found.status, "end_time": found.end_ms}
    _call("POST", f"{uri}{_API}/runs/update", end)
    return {
        "mlflow": f"{uri}/#/experiments/{body['experiment_id']}/runs/{run_id}",
        "metrics": len(metrics),
        "params": len(found.params),
        "artifacts": kept,
    }


def _experiment(name: str, uri: str) -> str:
    query = urllib.parse.urlencode({"experiment_name": name})
    try:
        found = _call("GET", f"{uri}{_API}/experiments/get-by-name?{query}", None)
        return str(found["experiment"]["experiment_id"])
    except NotTaken as error:
        if "RESOURCE_DOES_NOT_EXIST" not in str(error):
            raise
    made = _call("POST", f"{uri}{_API}/experiments/create", {"name": name})
    return str(made["experiment_id"])


def _artifacts(found: MlflowRun, uri: str, artifact_uri: str) -> int:
    """Files through the server's own proxy; a server that has none keeps them elsewhere, and gets none."""
    parts = urllib.parse.urlsplit(artifact_uri)
    if parts.scheme != "mlflow-artifacts":
        complain(f"artifacts: {artifact_uri} is not served by MLflow itself. They were left out")
        return 0
    for name, content in found.artifacts.items():
        path = f"{parts.path.lstrip('/')}/{name}"
        _send("PUT", f"{uri}/api/2.0/mlflow-artifacts/artifacts/{path}", content, {})
    return len(found.artifacts)


def _pairs(found: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"key": key, "value": value} for key, value in found.items()]


def _spans(request: Mapping[str, Any]) -> int:
    return len(request["resourceSpans"][0]["scopeSpans"][0]["spans"])


def _call(method: str, url: str, document: Mapping[str, Any] | None) -> dict[str, Any]:
    body = None if document is None else json.dumps(document, ensure_ascii=False).encode()
    answer = _send(method, url, body, {"Content-Type": "application/json"})
    found: dict[str, Any] = json.loads(answer) if answer.strip() else {}
    return found


def _send(method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> bytes:
    request = urllib.request.Request(url, data=body, method=method, headers=dict(headers))
    try:
        # http and https only: looked at before
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:  # nosec B310
            found: bytes = response.read()
            return found
    except urllib.error.HTTPError as error:
        said = error.read(2000).decode("utf-8", "replace")
        raise NotTaken(f"{method} {url}: {error.code} {said}") from error
    except urllib.error.URLError as error:
        raise NotTaken(f"{method} {url}: {error.reason}") from error
