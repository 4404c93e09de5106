"""Compose a declaration from the config groups with Hydra, strictly, and never instantiate anything.

This is the one place that touches Hydra's process-wide state, under a lock. Overrides are checked before
Hydra sees them; the composed tree is searched unresolved for anything that is not plain data, and merged
once more onto the root schema and each group's own schema, so that no key or type slips through.
"""

import threading
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from experiments.composed import Composed
from experiments.composition_errors import ODD_ERRORS, no_such_node, refusal
from experiments.errors import Finding, Refusal, refuse
from experiments.key_findings import missing_field, unknown_key
from experiments.overrides import Cell, cells
from experiments.plain import forbidden, plain
from experiments.schema import fields
from experiments.schema.engine import ENGINE_SCHEMAS
from experiments.schema.root import RootConfig
from experiments.userfiles import read_choices

CONF = Path(__file__).resolve().parent / "conf"
ROOT_FILE = "root"
NO_STUDY = "~study"  # Hydra's own words for study=null
GROUPS = tuple(m.name for m in fields.members(RootConfig) if m.name != "schema_version")

_hydra_lock = threading.Lock()


def compose(overrides: Sequence[str], *, studies: Path | None = None) -> Composed:
    """One declaration. ``studies`` is a folder of further group files. Raises Refusal, naming each field."""
    return _compose(overrides, studies=studies, sweep=False)[0]


def compose_sweep(overrides: Sequence[str], *, studies: Path | None = None) -> list[Composed]:
    """Every cell of a sweep (``-m``), in the order written; ``plan`` puts them in their run order."""
    return _compose(overrides, studies=studies, sweep=True)


def choices(*, studies: Path | None = None) -> dict[str, list[str]]:
    """Config group -> the names that can be chosen for it."""
    shipped = {group: sorted(p.stem for p in (CONF / group).glob("*.yaml")) for group in GROUPS}
    own = read_choices(studies, shipped) if studies is not None else {}
    return {group: sorted([*names, *own.get(group, [])]) for group, names in shipped.items()}


def _compose(overrides: Sequence[str], *, studies: Path | None, sweep: bool) -> list[Composed]:
    groups = choices(studies=studies)
    found = cells(overrides, groups=groups, sweep=sweep)
    with _hydra_lock:
        _register_schemas()
        with initialize_config_dir(str(CONF), job_name="assay", version_base="1.3"):
            return [_one(cell, groups, studies) for cell in found]


@cache  # Hydra keeps them as long as the process lives
def _register_schemas() -> None:
    store = ConfigStore.instance()
    store.store(name="root_schema", node=RootConfig, provider="assay")
    for key, schema in ENGINE_SCHEMAS.items():
        store.store(group="engine", name=f"{key}_schema", node=schema, provider="assay")


def _one(cell: Cell, groups: Mapping[str, Collection[str]], studies: Path | None) -> Composed:
    try:
        tree = hydra_compose(
            ROOT_FILE, overrides=_inside(cell.overrides, studies), return_hydra_config=True
        )
        picked = OmegaConf.to_container(tree.hydra.runtime.choices)
        document = OmegaConf.to_container(
            OmegaConf.masked_copy(tree, [str(k) for k in tree if k != "hydra"])
        )
    except (HydraException, OmegaConfBaseException) as error:
        engine = _chosen_engine(cell, groups, studies)
        raise refusal(error, cell.overrides, groups, engine=engine) from error
    except ODD_ERRORS as error:
        base = _groups_alone(cell, groups, studies)
        raise no_such_node(cell.overrides, OmegaConf.to_container(base)) from error
    assert isinstance(document, dict)
    assert isinstance(picked, dict)
    return Composed(
        document=_typed(plain(document)),
        overrides=cell.overrides,
        choices={g: str(picked[g]) for g in groups if picked.get(g) is not None},
        moved=cell.moved,
    )


def _groups_alone(cell: Cell, groups: Mapping[str, Collection[str]], studies: Path | None) -> Any:
    """What the chosen groups say without any further override."""
    chosen = [o for o in cell.overrides if o.partition("=")[0] in groups]
    return hydra_compose(ROOT_FILE, overrides=_inside(chosen, studies))


def _chosen_engine(
    cell: Cell, groups: Mapping[str, Collection[str]], studies: Path | None
) -> str | None:
    """The key of the engine that the groups choose; None where they do not compose either."""
    try:
        return str(_groups_alone(cell, groups, studies).engine.key)
    except (HydraException, OmegaConfBaseException, *ODD_ERRORS):
        return None


def _inside(overrides: Sequence[str], studies: Path | None) -> list[str]:
    """The overrides as Hydra gets them, with the user's folder on its search path."""
    overrides = [NO_STUDY if o == "study=null" else o for o in overrides]
    if studies is None:
        return overrides
    quoted = str(studies.resolve()).replace("'", "\\'")
    return [*overrides, f"hydra.searchpath=['file://{quoted}']"]


@cache
def _structured() -> dict[type, Any]:
    """Never changed: a merge changes a copy of its first part."""
    schemas: list[type] = [RootConfig, *ENGINE_SCHEMAS.values()]
    return {schema: OmegaConf.structured(schema) for schema in schemas}


def _typed(document: dict[str, Any]) -> dict[str, Any]:
    """The document once more through the root schema and the engine's own, with nothing missing."""
    if findings := [
        Finding(
            field=path,
            seen=value,
            allowed="plain values",
            remedy="Nothing is resolved or instantiated; write the value itself.",
        )
        for path, value in forbidden(document)
    ]:
        raise Refusal(findings)
    engine = document.get("engine")
    key = engine.get("key") if isinstance(engine, dict) else None
    schema: Any = ENGINE_SCHEMAS.get(str(key))
    if schema is None:
        raise refuse(
            field="engine.key",
            seen=key,
            allowed=", ".join(ENGINE_SCHEMAS),
            remedy="Choose an engine group file.",
        )
    if strangers := [unknown_key(path, engine=str(key)) for path in fields.unknown_keys(document)]:
        raise Refusal(strangers)
    try:
        rest: dict[Any, Any] = {**document, "engine": None}
        merged = OmegaConf.merge(_structured()[RootConfig], rest)
        typed = OmegaConf.merge(_structured()[schema], engine)
    except OmegaConfBaseException as error:
        raise refusal(error, (), {}) from error
    missing = [
        *(str(k) for k in OmegaConf.missing_keys(merged)),
        *(f"engine.{k}" for k in OmegaConf.missing_keys(typed)),
    ]
    if missing:
        raise Refusal([missing_field(path) for path in sorted(missing)])
    whole = plain(OmegaConf.to_container(merged, resolve=False))
    whole["engine"] = plain(OmegaConf.to_container(typed, resolve=False))
    return dict(whole)
