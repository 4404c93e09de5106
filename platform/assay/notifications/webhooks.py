"""Send one signed request: to the address that was checked, within a time, following nothing."""

import hashlib
import hmac
import http.client
import json
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from typing import Any

from assay.notifications.addresses import Target

TIMEOUT_S = 5.0  # of each step
LIMIT_S = 10.0  # of the whole: a receiver that trickles is cut off
SIGNATURE = "X-Assay-Signature"
TIMESTAMP = "X-Assay-Timestamp"
DELIVERY = "X-Assay-Delivery"


class NotDelivered(Exception):
    """The receiver was not reached, or did not accept it."""


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """HMAC-SHA256 over timestamp, a dot and the body, in hex."""
    message = timestamp.encode() + b"." + body
    return "sha256=" + hmac.new(secret.encode(), message, hashlib.sha256).hexdigest()


def post(target: Target, document: Mapping[str, Any], *, secret: str, delivery: str) -> str:
    """The receiver's answer in words when it was 2xx. Raises NotDelivered."""
    body = json.dumps(document, ensure_ascii=False, sort_keys=True).encode()
    timestamp = str(int(time.time()))
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "assay-notifications",
        TIMESTAMP: timestamp,
        SIGNATURE: signature(secret, timestamp, body),
        DELIVERY: delivery,
    }
    connection = _Pinned(target)
    cut = threading.Timer(LIMIT_S, connection.cut)
    cut.start()
    try:
        connection.request("POST", target.path, body=body, headers=headers)
        answer = connection.getresponse()
        status = answer.status
    except (OSError, http.client.HTTPException) as error:
        raise NotDelivered(f"{type(error).__name__}: {error}"[:300]) from error
    finally:
        cut.cancel()
        connection.close()
    if not 200 <= status < 300:
        raise NotDelivered(f"the receiver answered {status}; redirections are not followed")
    return f"the receiver answered {status}"


class _Pinned(http.client.HTTPConnection):
    """A connection to one resolved address; TLS is checked against the host's name."""

    def __init__(self, target: Target) -> None:
        super().__init__(target.host, target.port, timeout=TIMEOUT_S)
        self._target = target

    def connect(self) -> None:
        plain = socket.create_connection((self._target.address, self._target.port), TIMEOUT_S)
        if self._target.scheme == "https":
            context = ssl.create_default_context()
            self.sock = context.wrap_socket(plain, server_hostname=self._target.host)
        else:
            self.sock = plain

    def cut(self) -> None:
        """End whatever is still going on with the receiver."""
        if self.sock is not None:
            with_shutdown = self.sock
            try:
                with_shutdown.shutdown(socket.SHUT_RDWR)
            except OSError:
                return  # it was over already
