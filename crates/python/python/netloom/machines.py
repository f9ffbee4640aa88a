"""Machines: listed, read and described."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Union

from . import _native, _source

__all__ = ["Machine", "describe", "machine", "machine_toml", "machines"]


class Machine(NamedTuple):
    """A built-in machine."""

    name: str
    """What a study calls it."""
    title: str
    """A line for people."""
    shape: str
    """Its size where a study says nothing of it: dimensions, or groups."""
    nodes: int
    """How many nodes that is."""


def machines() -> List[Machine]:
    """The built-in machines."""
    return [Machine(*each) for each in _native.machines()]


def machine(name: Union[str, os.PathLike[str]]) -> Dict[str, Any]:
    """A machine's TOML file as a dict, by name or path. Changed, it may be the ``machine`` of a study."""
    table: Dict[str, Any] = json.loads(_native.machine_source(os.fspath(name))[1])
    return table


def machine_toml(name: Union[str, os.PathLike[str]]) -> str:
    """A machine's TOML file as it is written, with the source of each constant."""
    return _native.machine_source(os.fspath(name))[0]


def describe(
    name: Union[str, os.PathLike[str]], set: Optional[Mapping[str, Any]] = None, **overrides: Any
) -> Dict[str, Any]:
    """What a machine has, without a run: nodes, links, bandwidth, latency, buffers. ``overrides`` are as in :func:`run`."""
    found = json.loads(_native.machine_facts(os.fspath(name), _source.changes(set, overrides)))
    facts: Dict[str, Any] = found["facts"]
    return facts
