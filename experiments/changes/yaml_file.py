"""A YAML file of ours as its root mapping."""

from pathlib import Path

import yaml

from experiments.changes.node import Node
from experiments.errors import refuse


def root_of(path: Path) -> Node:
    """Raises Refusal, naming the file, for one that cannot be read or is no mapping."""
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise refuse(
            field=path.name, seen=error, allowed="a readable YAML file", remedy="Correct it."
        ) from error
    return Node(path.name, document)
