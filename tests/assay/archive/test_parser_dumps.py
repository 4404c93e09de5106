"""Two parsers, as their installations dumped them, compared flag by flag."""

import json
from pathlib import Path
from typing import Any

from assay.archive.parser_dumps import compare, dump_of, dumps
from assay.archive.paths import Home

REST: dict[str, Any] = {
    "takes_value": True,
    "choices": None,
    "default": "None",
    "deprecated": False,
}


def install(home: Home, version: str, *flags: dict[str, Any], engine: str = "vllm") -> Path:
    """The two files that an installation leaves, as far as a comparison reads them."""
    folder = home.engines / f"{engine}-{version}-cpu"
    folder.mkdir(parents=True)
    pin = {"key": engine, "version": version, "variant": "cpu"}
    (folder / "environment.json").write_text(json.dumps({"pin": pin}))
    rows = [REST | flag for flag in flags]
    document = {"version": version, "build": "g1234", "flags": rows}
    (folder / "parser.json").write_text(json.dumps(document))
    return folder


def test_added_and_removed_flags_and_changed_defaults_choices_and_marks_are_told(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path)
    kept = {"names": ["-d", "--dtype"], "choices": ["auto", "half"], "default": "'auto'"}
    install(home, "1.0.0", kept, {"names": ["--old"]}, {"names": ["--same"]})
    newer = kept | {"choices": ["auto"], "default": "'half'", "deprecated": True}
    install(home, "1.1.0", newer, {"names": ["--new"]}, {"names": ["--same"]})
    older_dump, newer_dump = (dump_of(home, "vllm", v) for v in ("1.0.0", "1.1.0"))
    assert older_dump is not None
    assert newer_dump is not None

    found = [(d.name, d.what, d.older, d.newer) for d in compare(older_dump, newer_dump)]

    assert found == [
        ("--dtype", "default", "'auto'", "'half'"),
        ("--dtype", "choices", "auto, half", "auto"),
        ("--dtype", "deprecated", "false", "true"),
        ("--new", "added", "", ""),
        ("--old", "removed", "", ""),
    ]


def test_an_environment_that_is_not_whole_is_left_out(tmp_path: Path) -> None:
    home = Home(tmp_path)
    install(home, "1.0.0", {"names": ["--old"]})
    (install(home, "1.1.0") / "parser.json").write_text('{"version": "1.1.0"')
    (install(home, "1.2.0") / "environment.json").unlink()
    install(home, "1.3.0", engine="sglang")
    image = install(home, "1.4.0")
    (image / "environment.json").rename(image / "image.json")

    assert [d.version for d in dumps(home, "vllm")] == ["1.0.0", "1.4.0"]
