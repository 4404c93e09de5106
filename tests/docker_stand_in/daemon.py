"""What stands where docker's engine would: images by name, containers as plain processes, its children.

``python daemon.py FOLDER``: FOLDER/images.json is what is here and what can be pulled; requests come as one
JSON line each over FOLDER/socket. A container is a process of this one, as docker's are of its engine: it
outlives the command that asked for it. Nothing is isolated: mounts, users and read-only roots do nothing.
"""

import json
import os
import signal
import socketserver
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path
from typing import Any

FOLDER = Path(sys.argv[1])
LOCK = threading.Lock()
CONTAINERS: dict[str, dict[str, Any]] = {}


def _images() -> dict[str, Any]:
    return dict(json.loads((FOLDER / "images.json").read_text()))


class Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        asked = json.loads(self.rfile.readline())
        try:
            getattr(self, "do_" + asked.pop("do"))(**asked)
        except BrokenPipeError:
            return  # the command was killed; what it started goes on

    def say(self, **fields: Any) -> None:
        self.wfile.write(json.dumps(fields).encode() + b"\n")

    def fail(self, words: str) -> None:
        self.say(code=1, err=f"Error response from daemon: {words}\n")

    def do_pull(self, reference: str) -> None:
        images = _images()
        if reference not in images:
            return self.fail(f"manifest for {reference} not found: manifest unknown")
        images[reference]["here"] = True
        (FOLDER / "images.json").write_text(json.dumps(images))
        return self.say(code=0, out=f"{reference}\n")

    def do_image(self, name: str) -> None:
        for reference, image in _images().items():
            if image["here"] and name in (reference, image["inspect"]["Id"]):
                return self.say(code=0, out=json.dumps([image["inspect"]], indent=4) + "\n")
        return self.say(
            code=1, out="[]\n", err=f"Error response from daemon: No such image: {name}\n"
        )

    def do_image_rm(self, name: str) -> None:
        images = _images()
        images[name]["here"] = False
        (FOLDER / "images.json").write_text(json.dumps(images))
        self.say(code=0, out=f"Untagged: {name}\n")

    def do_run(self, options: dict[str, Any], reference: str, arguments: list[str]) -> None:
        image = _images().get(reference)
        if image is None or not image["here"]:
            return self.say(
                code=125, err=f"docker: Error response from daemon: No such image: {reference}\n"
            )
        program = image["programs"].get(options["entrypoint"])
        if program is None:
            words = f'exec: "{options["entrypoint"]}": executable file not found in $PATH'
            return self.say(code=127, err=f"docker: Error response from daemon: {words}\n")
        child = subprocess.Popen(
            [program, *arguments],
            cwd=options["workdir"] or "/",
            env={"PATH": os.defpath, **options["env"]},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        identifier = uuid.uuid4().hex * 2
        with LOCK:
            CONTAINERS[identifier] = {
                "name": options["name"], "labels": options["labels"], "child": child,
                "image": image.get("runs_as", image["inspect"]["Id"]),
            }  # fmt: skip
        return self._attach(identifier, child)

    def _attach(self, identifier: str, child: subprocess.Popen[bytes]) -> None:
        assert child.stdout is not None
        listening = True
        while data := os.read(child.stdout.fileno(), 1 << 16):
            if listening:
                try:
                    self.say(log=data.decode("latin-1"))
                except BrokenPipeError:
                    listening = False
        code = child.wait()
        with LOCK:
            CONTAINERS.pop(identifier, None)  # --rm
        if listening:
            self.say(code=128 - code if code < 0 else code)

    def do_container(self, name: str) -> None:
        with LOCK:
            found = _named(name)
            if found is None:
                return self.say(
                    code=1,
                    out="[]\n",
                    err=f"Error response from daemon: No such container: {name}\n",
                )
            identifier, known = found
            alive = known["child"].poll() is None
            document = {
                "Id": identifier,
                "State": {
                    "Status": "running" if alive else "exited",
                    "Running": alive,
                    "Paused": False,
                    "OOMKilled": False,
                    "Pid": known["child"].pid if alive else 0,
                    "ExitCode": 0,
                },
                "Image": known["image"],
                "Name": f"/{known['name']}",
                "Config": {"Labels": known["labels"]},
            }
        return self.say(code=0, out=json.dumps([document], indent=4) + "\n")

    def do_ps(self, label: str) -> None:
        key, _, value = label.partition("=")
        with LOCK:
            found = [i for i, known in CONTAINERS.items() if known["labels"].get(key) == value]
        self.say(code=0, out="".join(f"{identifier}\n" for identifier in found))

    def do_end(self, names: list[str], patience_s: float, gently: bool) -> None:
        for name in names:
            with LOCK:
                found = _named(name)
            if found is None:
                self.fail(f"No such container: {name}")
                continue
            child = found[1]["child"]
            if gently:
                child.send_signal(signal.SIGTERM)
                deadline = time.monotonic() + patience_s
                while child.poll() is None and time.monotonic() < deadline:
                    time.sleep(0.02)
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
            self.say(out=f"{name}\n")
        self.say(code=0)


def _named(name: str) -> tuple[str, dict[str, Any]] | None:
    return next(((i, c) for i, c in CONTAINERS.items() if name in (i, c["name"])), None)


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


def main() -> None:
    with Server(str(FOLDER / "socket"), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        sys.stdin.read()  # until whoever started it lets go
        for known in list(CONTAINERS.values()):
            if known["child"].poll() is None:
                os.killpg(known["child"].pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
