"""The fuzz run of the wire parser: ``python -m tests.fuzz.wire_fuzz --seconds 600``.

Coverage-guided (atheris, which is libFuzzer): inputs that reach new code of the parser are kept and mutated
further, half by libFuzzer and half by mutations that know the form of a stream. With ``--keep`` what was
interesting, reduced to the fewest bytes, goes to ``tests/data/fuzz_corpus/wire.zip``, which every test
run replays. A crash ends the run with the input in ``crash-*`` below ``--work``.
"""

import argparse
import hashlib
import random
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["assay.analysis.wire", "assay.analysis.interchange"]):
    from tests.fuzz import wire_invariants

from tests.fuzz import mutations, reached

_MOST_BYTES = 8_192
_CORPUS_BYTES = 600_000  # uncompressed; the smallest inputs stand for their paths
_COMMON = [f"-max_len={_MOST_BYTES}", "-timeout=30", "-rss_limit_mb=4096"]


def one_input(data: bytes) -> None:
    wire_invariants.check(data)


def _mutator(data: bytes, max_size: int, seed: int) -> bytes:
    draw = random.Random(seed)
    if draw.random() < 0.5:
        return bytes(atheris.Mutate(data, max_size))
    return mutations.mutated(data, draw, _OTHERS)[:max_size]


_OTHERS = mutations.seeds()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.wire_fuzz")
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=Path, help="folder of the run; default: a new one")
    parser.add_argument(
        "--keep", action="store_true", help="write the corpus back when it went well"
    )
    parser.add_argument("--libfuzzer", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.libfuzzer is not None:
        atheris.Setup([sys.argv[0], *asked.libfuzzer], one_input, custom_mutator=_mutator)
        atheris.Fuzz()  # ends the process
    work = asked.work or Path(tempfile.mkdtemp(prefix="assay-fuzz-"))
    found = work / "found"
    found.mkdir(parents=True, exist_ok=True)
    for data in [*_OTHERS, *mutations.corpus()]:
        (found / hashlib.sha1(data).hexdigest()).write_bytes(data)
    _write_dictionary(work / "tokens.dict")
    ran = _libfuzzer(
        f"-max_total_time={asked.seconds}",
        f"-seed={asked.seed}",
        f"-dict={work / 'tokens.dict'}",
        f"-artifact_prefix={work}/",
        "-print_final_stats=1",
        str(found),
    )
    if ran == 0 and asked.keep:
        _keep(found)
    return ran


def _libfuzzer(*arguments: str) -> int:
    command = [sys.executable, "-m", "tests.fuzz.wire_fuzz", "--libfuzzer", *_COMMON, *arguments]
    return subprocess.run(command, check=False).returncode


def _keep(found: Path) -> None:
    """Store the smallest inputs that together reach every step of the parser that any of them reaches."""
    inputs = sorted((path.read_bytes() for path in found.iterdir()), key=lambda d: (len(d), d))
    seen: set[reached.Step] = set()
    size = 0
    with zipfile.ZipFile(mutations.CORPUS, "w") as archive:
        for data in inputs:
            steps = reached.steps(wire_invariants.check, data)
            if steps <= seen or size + len(data) > _CORPUS_BYTES:
                continue
            seen |= steps
            size += len(data)
            entry = zipfile.ZipInfo(hashlib.sha1(data).hexdigest(), (2026, 1, 1, 0, 0, 0))
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED, 9)


def _write_dictionary(path: Path) -> None:
    entries = ("".join(f"\\x{byte:02x}" for byte in token) for token in mutations.TOKENS)
    path.write_text("".join(f'"{entry}"\n' for entry in entries if len(entry) < 4 * 60))


if __name__ == "__main__":
    sys.exit(main())
