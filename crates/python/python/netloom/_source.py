"""Studies and changes in the forms that Python has of them."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

from . import _toml
from .programs import Program

Study = Union[str, "os.PathLike[str]", Mapping[str, Any], Program]
"""A path, the name of a built-in study, TOML text, a dict, or a program."""

Files = List[Tuple[str, bytes]]
"""Paths and contents of files that a study names."""


def changes(set: Optional[Mapping[str, Any]], overrides: Mapping[str, Any]) -> List[str]:
    """Changes by dotted keys, as the command's ``--set`` takes them. In keyword arguments two underscores stand for a dot."""
    all: Dict[str, Any] = dict(set or {})
    all.update((name.replace("__", "."), value) for name, value in overrides.items())
    return [f"{name}={_toml.value(value)}" for name, value in all.items()]


def read(study: Study, set: Optional[Mapping[str, Any]], overrides: Mapping[str, Any], folder: Path) -> Tuple[Dict[str, Any], Files]:
    """A study with its changes for the native part, and the files that it names, which belong into ``folder``."""
    sets = changes(set, overrides)
    if isinstance(study, Program):
        study = {"name": study.name, "nodes": study.ranks, "workload": study}
    if isinstance(study, Mapping):
        table, files = _with_files(study, folder)
        return {"name": "study (from Python)", "text": _toml.document(table), "sets": sets}, files
    name = os.fspath(study)
    if isinstance(study, str) and _is_text(study):
        return {"name": "study (text)", "text": study, "sets": sets}, []
    return {"name": name, "text": None, "sets": sets}, []


def _is_text(study: str) -> bool:
    """Whether it is TOML text rather than a path or a name."""
    return "\n" in study or ("=" in study and not os.path.exists(study))


def _with_files(table: Mapping[str, Any], folder: Path) -> Tuple[Dict[str, Any], Files]:
    """The same study with programs as traces in files."""
    files: Files = []

    def inner(item: Any) -> Any:
        if isinstance(item, Program):
            # By content: a sweep that is resumed must not take the points of another program for its own.
            digest = hashlib.sha256(item.goal.encode()).hexdigest()[:12]
            path = str(folder.absolute() / f"program-{digest}.goal")
            if path not in (known for known, _ in files):
                files.append((path, item.goal.encode()))
            return {"kind": "trace", "file": path, **item.options}
        if isinstance(item, Mapping):
            return {key: inner(value) for key, value in item.items()}
        if isinstance(item, (list, tuple)):
            return [inner(value) for value in item]
        return item

    return inner(table), files
