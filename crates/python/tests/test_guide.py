"""The Python in `docs/python.md` and in the README runs, from the first block to the last."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Dict

import pytest

ROOT = Path(__file__).parents[3]
LEFT_OUT = ("netloom.Interrupted", "posted = yield")
"""Blocks with these take long, or are a part of a program."""


@pytest.mark.parametrize("name", ["docs/python.md", "crates/python/README.md"])
def test_guide(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / name).read_text(), re.MULTILINE | re.DOTALL)
    assert blocks
    values: Dict[str, Any] = {}
    for block in blocks:
        if not any(words in block for words in LEFT_OUT):
            exec(compile(block, name, "exec"), values)
    assert values["result"].value("links.mean_utilization") == 0.9889669867621528
