"""A real nginx in front of a real server: an unprivileged process, with a generated configuration."""

import contextlib
import json
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.runners.engines.torch.launched import free_port

_CONFIGURATION = """
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/error.log info;
events {{ worker_connections 256; }}
http {{
  log_format gateway escape=json '{{"request":"$http_x_request_id","status":$status,'
    '"upstream_status":"$upstream_status","upstream_addr":"$upstream_addr",'
    '"grpc_timeout":"$http_grpc_timeout"}}';
  access_log {folder}/access.log gateway;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  upstream engine {{ {servers} keepalive 4; }}
  server {{
    listen {listen};
    keepalive_timeout {keepalive_timeout};
    location / {{
{location}
    }}
  }}
}}
"""
_START_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Gateway:
    """A started nginx. ``access`` holds what it says of each request it has finished."""

    port: int
    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def errors(self) -> str:
        return (self.folder / "error.log").read_text()

    def access(self, *, count: int, timeout_s: float = 10.0) -> list[dict[str, Any]]:
        """The first ``count`` log rows; nginx writes one when a request is over."""
        deadline = time.monotonic() + timeout_s
        rows: list[dict[str, Any]] = []
        while time.monotonic() < deadline:
            rows = [
                json.loads(line) for line in (self.folder / "access.log").read_text().splitlines()
            ]
            if len(rows) >= count:
                return rows
            time.sleep(0.02)
        raise AssertionError(f"nginx logged {len(rows)} of {count} requests:\n{self.errors}")


@contextlib.contextmanager
def gateway(
    *upstream_ports: int,
    keepalive_timeout: str = "30s",
    to_upstream: str = "1.1",
    **directives: str,
) -> Iterator[Gateway]:
    """nginx before the given ports; ``directives`` go into its location (``proxy_buffering="off"``).

    ``to_upstream`` is the HTTP version it speaks to them; nginx's own default is 1.0.
    """
    location = {
        "proxy_pass": "http://engine",
        "proxy_http_version": to_upstream,
        "proxy_set_header": 'Connection ""',
        **directives,
    }
    with _started(upstream_ports, "", keepalive_timeout, location) as started:
        yield started


@contextlib.contextmanager
def grpc_gateway(upstream_port: int, **directives: str) -> Iterator[Gateway]:
    """nginx before a gRPC service; its log shows the ``grpc-timeout`` header that went through."""
    location = {"grpc_pass": "grpc://engine", **directives}
    with _started((upstream_port,), " http2", "30s", location) as started:
        yield started


@contextlib.contextmanager
def _started(
    upstream_ports: Sequence[int],
    listen: str,
    keepalive_timeout: str,
    location: Mapping[str, str],
) -> Iterator[Gateway]:
    binary = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    assert binary, "nginx is missing: make nginx"
    with tempfile.TemporaryDirectory(prefix="assay-nginx-") as name:
        folder, port = Path(name), free_port()
        text = _CONFIGURATION.format(
            folder=folder,
            listen=f"127.0.0.1:{port}{listen}",
            # never taken out of rotation: each test decides itself what its upstream does
            servers=" ".join(f"server 127.0.0.1:{p} max_fails=0;" for p in upstream_ports),
            keepalive_timeout=keepalive_timeout,
            location="\n".join(f"      {k} {v};" for k, v in location.items()),
        )
        (folder / "nginx.conf").write_text(text)
        process = subprocess.Popen(
            [binary, "-p", name, "-e", f"{name}/error.log", "-c", f"{name}/nginx.conf"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **_unprivileged(folder),
        )
        started = Gateway(port=port, folder=folder, process=process)
        try:
            _await_listening(started)
            yield started
        finally:
            process.terminate()
            process.wait(10)


def _unprivileged(folder: Path) -> dict[str, Any]:
    """Who nginx runs as: nobody where the tests run as root, else the tests' own user."""
    if os.getuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    for path in (folder, *folder.iterdir()):
        os.chown(path, nobody.pw_uid, nobody.pw_gid)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _await_listening(started: Gateway) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", started.port), timeout=1).close()
            return
        if started.process.poll() is not None:
            break
        time.sleep(0.02)
    log = started.folder / "error.log"
    raise AssertionError(f"nginx did not start:\n{log.read_text() if log.exists() else 'no log'}")
