"""A client of Assay's API for the command line: what went wrong is said, with the exit code of the verbs."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import urllib3
from urllib3.exceptions import HTTPError

from assay.cli.exits import FAILED, LACKING, REFUSED
from assay.cli.server_choice import OPTION, TOKEN
from experiments.errors import Finding

API = "/api/v1"
VERSION_HEADER = "Assay-Api"
NEEDED = (1, 0)  # the API of which this client makes use
TIMEOUT = urllib3.Timeout(connect=5.0, read=120.0)  # a submission checks pins before it answers
BLOCK = 2**20
PAGE_ROWS = 200
LOOPBACK = {"127.0.0.1", "localhost", "::1"}
# Of an answer that is no success: what a verb ends with.
EXIT_CODES = {
    401: LACKING,
    403: REFUSED,
    404: REFUSED,
    409: FAILED,
    422: REFUSED,
    429: LACKING,
    503: LACKING,
}


class ServerProblem(Exception):
    """The server cannot be asked, or says no: findings in its words, and the exit code for it."""

    def __init__(
        self, findings: list[Finding], *, exit_code: int, status: int | None = None
    ) -> None:
        super().__init__("; ".join(map(str, findings)))
        self.findings = findings
        self.exit_code = exit_code
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Where the server is, without a slash at the end, and the token that stands for the caller."""

    url: str
    token: str
    pool: urllib3.PoolManager

    def get(self, path: str, **parameters: Any) -> dict[str, Any]:
        given = {name: value for name, value in parameters.items() if value is not None}
        query = f"?{urlencode(given, doseq=True)}" if given else ""
        return self._document("GET", path + query)

    def post(self, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        return self._document("POST", path, body or {})

    def pages(self, path: str, rows: str, **parameters: Any) -> Iterator[dict[str, Any]]:
        """Every page of a list, one after the other; ``rows`` is the field that holds a page's rows."""
        page: int | None = 1
        while page is not None:
            found = self.get(path, page=page, **parameters)
            yield found
            page = found["next"] if found[rows] else None

    def download(self, path: str, file: Path, **parameters: Any) -> int:
        """Write an answer's bytes to a new file, or nothing at all. Raises FileExistsError."""
        if file.exists():
            raise FileExistsError(file)
        partial = file.with_name(f".{file.name}.partial")
        query = f"?{urlencode(parameters)}" if parameters else ""
        response = self._answer("GET", path + query, None)
        try:
            if response.status != 200:
                raise _problem(response.status, response.data)
            with partial.open("wb") as target:
                for block in response.stream(BLOCK):
                    target.write(block)
            partial.rename(file)
        except HTTPError as error:
            raise self._unreachable(error) from error
        finally:
            response.release_conn()
            partial.unlink(missing_ok=True)
        return file.stat().st_size

    def _document(
        self, method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        response = self._answer(method, path, body)
        try:
            data = response.data
        except HTTPError as error:
            raise self._unreachable(error) from error
        if response.status >= 300:
            raise _problem(response.status, data)
        found: dict[str, Any] = json.loads(data)
        return found

    def _answer(
        self, method: str, path: str, body: Mapping[str, Any] | None
    ) -> urllib3.BaseHTTPResponse:
        try:
            response = self.pool.request(
                method,
                f"{self.url}{API}{path}",
                body=None if body is None else json.dumps(body).encode(),
                headers={
                    "Authorization": f"Bearer {self.token}",
                    "Accept": "application/json",
                    **({} if body is None else {"Content-Type": "application/json"}),
                },
                timeout=TIMEOUT,
                redirect=False,  # a token follows nobody to another address
                retries=False,
                preload_content=False,
            )
        except HTTPError as error:
            raise self._unreachable(error) from error
        self._check_version(response)
        return response

    def _check_version(self, response: urllib3.BaseHTTPResponse) -> None:
        said = response.headers.get(VERSION_HEADER, "")
        needed = ".".join(map(str, NEEDED))
        if not said:
            raise _lacking(
                seen=f"{self.url} answers {response.status} and no Assay API",
                allowed=f"a server with Assay's API {needed} or later",
                remedy="Check the address; an older Assay has no API.",
            )
        major, _, minor = said.partition(".")
        version = (int(major), int(minor)) if major.isdigit() and minor.isdigit() else (0, 0)
        if version[0] != NEEDED[0] or version < NEEDED:
            raise _lacking(
                seen=f"{self.url} has API {said}",
                allowed=f"API {needed} or later, below {NEEDED[0] + 1}.0",
                remedy="Bring the server or this command line to the other's version.",
            )

    def _unreachable(self, error: HTTPError) -> ServerProblem:
        return _lacking(
            seen=f"{self.url} does not answer ({type(error).__name__})",
            allowed="the address of a running Assay server",
            remedy="Check the address and the network; `assay web` starts a server.",
        )


def server_at(url: str) -> Server:
    """Raises ServerProblem for no address, one that would carry the token openly, or no token."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username:
        raise _lacking(
            seen=url if not parts.username else "an address with a name in it",
            allowed="http://HOST:PORT or https://HOST",
            remedy="The token goes into ASSAY_TOKEN.",
        )
    is_open = parts.scheme == "http" and parts.hostname not in LOOPBACK
    if is_open and os.environ.get("ASSAY_PLAIN_HTTP") != "1":
        raise _lacking(
            seen=f"{url}, which would carry the token in the clear",
            allowed="https, or this machine",
            remedy="On a network that you trust, set ASSAY_PLAIN_HTTP=1.",
        )
    token = os.environ.get(TOKEN, "").strip()
    if not token:
        raise ServerProblem(
            [
                Finding(
                    field=TOKEN,
                    seen="not set",
                    allowed="a token of yours on that server",
                    remedy="Make one on its page /account, or there: assay token new NAME.",
                )
            ],
            exit_code=LACKING,
        )
    return Server(url=url.rstrip("/"), token=token, pool=urllib3.PoolManager())


def part(text: str) -> str:
    """A text as one part of a path."""
    return quote(text, safe="")


def _problem(status: int, data: bytes) -> ServerProblem:
    error = _error(data)
    findings = [Finding(**{k: str(row[k]) for k in row}) for row in error.get("findings", ())]
    if status == 401:
        findings = [
            Finding(
                field=TOKEN,
                seen="a token that does not count there",
                allowed="one that is neither revoked nor expired",
                remedy="Make one on the server's page /account.",
            )
        ]
    if not findings:
        reference = f", reference {error['reference']}" if error.get("reference") else ""
        findings = [
            Finding(
                field="server",
                seen=f"{status} {error.get('code', '')}{reference}".strip(),
                allowed="an answer",
                remedy="There is no such thing there, or not for you."
                if status == 404
                else "Its log says more.",
            )
        ]
    return ServerProblem(findings, exit_code=EXIT_CODES.get(status, FAILED), status=status)


def _error(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data)["error"]
    except (ValueError, KeyError, TypeError):
        return {}
    return found if isinstance(found, dict) else {}


def _lacking(*, seen: str, allowed: str, remedy: str) -> ServerProblem:
    finding = Finding(field=OPTION, seen=seen, allowed=allowed, remedy=remedy)
    return ServerProblem([finding], exit_code=LACKING)
