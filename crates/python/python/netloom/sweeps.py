"""Sweeps: a study at many points."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any, Dict, Iterator, List

from .results import Files, Result, WithTables

__all__ = ["Sweep"]


class Sweep(WithTables):
    """A sweep: a table with a row per point, and a result per point."""

    def __init__(self, folder: Path, text: str = "", keep: Any = None) -> None:
        self.folder = folder
        """The folder that holds the sweep."""
        self.files = Files(folder)
        self.captions: Dict[str, str] = {}
        self.text = text
        """The table as the command prints it; empty of a sweep that was read from a folder."""
        self.summary: Dict[str, Any] = json.loads(self.files["sweep.json"])
        """Parameters and figures of all points: what the command writes as ``sweep.json``."""
        self._keep = keep

    def frame(self, name: str = "sweep", library: str = "pandas") -> Any:
        """The table of the sweep, a row per point that has run, as a frame of ``"pandas"`` or ``"polars"``, or ``"arrow"``."""
        return super().frame(name, library)

    @property
    def points(self) -> List[Dict[str, Any]]:
        """The points: ``parameters``, ``ended`` (None if it has not run), ``warnings``, ``figures`` and ``folder`` of each."""
        return list(self.summary["points"])

    @property
    def claims(self) -> List[Dict[str, Any]]:
        """What became of the study's claims."""
        return list(self.summary.get("claims", []))

    @property
    def complete(self) -> bool:
        """Whether all points have run."""
        return self.summary["partial"] is None

    def __len__(self) -> int:
        return len(self.summary["points"])

    def __getitem__(self, index: int) -> Result:
        """The result of a point."""
        point = self.summary["points"][index]
        if point["ended"] is None:
            raise KeyError(f"point {index}, {point['parameters']}, has not run")
        folder = self.folder / point["folder"]
        return Result(Files(folder), folder=folder)

    def __iter__(self) -> Iterator[Result]:
        """The results of the points that have run."""
        return (self[i] for i, point in enumerate(self.summary["points"]) if point["ended"] is not None)

    def __repr__(self) -> str:
        name = self.summary["configuration"]["name"]
        return f"<netloom.Sweep {name}: {len(self)} points{'' if self.complete else ', not complete'}>"

    def __str__(self) -> str:
        return self.text or repr(self)

    def _repr_html_(self) -> str:
        """The table of the points, and the first drawing."""
        table = self.frame().drop(columns=["warnings", "folder"]).to_html(index=False, max_rows=40)
        shown = "".join(f'<div style="max-width:48em">{self.figure(n).svg}</div>' for n in self.figures[:1])
        return f"<p>{html.escape(repr(self))}</p>{table}{shown}"
