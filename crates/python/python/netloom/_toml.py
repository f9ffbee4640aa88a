"""Python values as TOML text."""

from __future__ import annotations

import json
import math
import os
import re
from typing import Any, Iterable, List, Mapping, Tuple

_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")


def key(name: str) -> str:
    """A key, in quotes where it needs them."""
    return name if _BARE.match(name) else _quoted(name)


def value(item: Any) -> str:
    """A value as TOML in one line."""
    if hasattr(item, "tolist"):
        # A number or an array of NumPy.
        item = item.tolist()
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, int):
        return str(item)
    if isinstance(item, float):
        return _float(item)
    if isinstance(item, (str, os.PathLike)):
        return _quoted(os.fspath(item))
    if isinstance(item, Mapping):
        entries = ", ".join(f"{key(str(k))} = {value(v)}" for k, v in item.items() if v is not None)
        return "{ " + entries + " }" if entries else "{}"
    if isinstance(item, Iterable):
        return "[" + ", ".join(value(each) for each in item) + "]"
    raise TypeError(f"a study cannot hold {item!r}, of type {type(item).__name__}")


def document(table: Mapping[str, Any]) -> str:
    """A table as a TOML file. Keys whose value is None are left out."""
    lines: List[str] = []
    _table(table, (), lines)
    return "\n".join(lines) + "\n"


def _table(table: Mapping[str, Any], path: Tuple[str, ...], lines: List[str]) -> None:
    """Values come before tables: what follows a table's heading belongs to it."""
    entries = [(str(k), v) for k, v in table.items() if v is not None]
    tables = [(k, v) for k, v in entries if isinstance(v, Mapping)]
    lines.extend(f"{key(k)} = {value(v)}" for k, v in entries if not isinstance(v, Mapping))
    for name, inner in tables:
        own = (*path, name)
        lines.extend(["", "[" + ".".join(key(part) for part in own) + "]"])
        _table(inner, own, lines)


def _float(number: float) -> str:
    if math.isnan(number):
        return "nan"
    if math.isinf(number):
        return "inf" if number > 0 else "-inf"
    return repr(number)


def _quoted(text: str) -> str:
    # JSON and TOML escape alike, but for DEL and for characters beyond the first plane, which need no escape here.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
