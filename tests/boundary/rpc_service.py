"""A gRPC service as a process of its own: ``python -m tests.boundary.rpc_service``.

Each call works for as many seconds as it is asked to. ``/work/Obedient`` looks whether it was cancelled, as
an application must; ``/work/Deaf`` never looks. What happened goes to standard output, a JSON object a line.
"""

import json
import sys
import threading
import time
from concurrent import futures
from typing import Any

import grpc

_LOOK_EVERY_S = 0.01


def say(event: str, **value: object) -> None:
    sys.stdout.write(json.dumps({"event": event, "t_ns": time.monotonic_ns(), **value}) + "\n")
    sys.stdout.flush()


def work(request: bytes, context: Any, *, looks: bool) -> bytes:
    asked = json.loads(request)
    ended = threading.Event()
    say("received", call=asked["call"], remaining_s=context.time_remaining())

    def over() -> None:
        # The framework calls this at every end; a cancel is one that comes before the work is done.
        if not ended.is_set():
            say("cancelled", call=asked["call"])

    context.add_callback(over)
    until = time.monotonic() + asked["seconds"]
    while (left := until - time.monotonic()) > 0 and (context.is_active() or not looks):
        time.sleep(min(left, _LOOK_EVERY_S))
    finished = left <= 0
    if context.is_active():
        ended.set()
    say("work_ended", call=asked["call"], finished=finished)
    return b"done"


def main() -> None:
    server = grpc.server(futures.ThreadPoolExecutor(4))
    handlers = {
        name: grpc.unary_unary_rpc_method_handler(
            lambda request, context, looks=looks: work(request, context, looks=looks)
        )
        for name, looks in (("Obedient", True), ("Deaf", False))
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("work", handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    say("serving", port=port)
    sys.stdin.read()  # the end of standard input is the order to stop
    server.stop(0)


if __name__ == "__main__":
    main()
