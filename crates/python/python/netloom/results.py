"""Results of runs: the summary, tables as frames, drawings."""

from __future__ import annotations

import html
import io
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Union

if TYPE_CHECKING:
    import pandas
    import pyarrow

__all__ = ["Figure", "Files", "Frames", "Result", "frame_of"]

_TABLE = ".parquet"
_DRAWING = ".svg"


class Files(Mapping[str, bytes]):
    """The files of a folder by name, read when they are asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __getitem__(self, name: str) -> bytes:
        try:
            return (self._folder / name).read_bytes()
        except (FileNotFoundError, IsADirectoryError):
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(p.name for p in self._folder.iterdir() if p.is_file() and not p.name.startswith(".")))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def frame_of(table: pyarrow.Table, library: str = "pandas") -> Any:
    """An Arrow table as a frame of ``"pandas"`` or ``"polars"``; ``"arrow"`` leaves it as it is."""
    if library == "pandas":
        return table.to_pandas()
    if library == "polars":
        import polars

        return polars.from_arrow(table)
    if library == "arrow":
        return table
    raise ValueError(f'frames are of "pandas", "polars" or "arrow", not of {library!r}')


class Figure:
    """A drawing. Notebooks show it inline."""

    def __init__(self, name: str, svg: str, caption: str = "") -> None:
        self.name = name
        self.svg = svg
        """The drawing as SVG."""
        self.caption = caption
        """What stands beneath it."""

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes the drawing as an SVG file."""
        Path(path).write_text(self.svg, encoding="utf-8")

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<netloom.Figure {self.name}: {self.caption}>" if self.caption else f"<netloom.Figure {self.name}>"


class Frames(Mapping[str, Any]):
    """Frames by the names of their tables. Each is made when it is asked for."""

    def __init__(self, tables: WithTables) -> None:
        self._tables = tables

    def __getitem__(self, name: str) -> Any:
        return self._tables.frame(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables.tables)

    def __len__(self) -> int:
        return len(self._tables.tables)

    def __repr__(self) -> str:
        return f"<netloom.Frames {', '.join(self)}>"


class WithTables:
    """What runs and sweeps have in common: files with tables and drawings."""

    files: Mapping[str, bytes]
    """Contents of the files by name: what the command writes into the folder."""
    captions: Mapping[str, str]
    """Captions of the drawings by name; none of a result that was read from a folder."""

    @property
    def tables(self) -> List[str]:
        """Names of the tables."""
        return _without(_TABLE, self.files)

    def table(self, name: str) -> pyarrow.Table:
        """A table as an Arrow table."""
        import pyarrow.parquet

        return pyarrow.parquet.read_table(io.BytesIO(self._file(name, _TABLE, self.tables)))

    def frame(self, name: str, library: str = "pandas") -> Any:
        """A table as a frame of ``"pandas"`` or ``"polars"``; ``"arrow"`` gives the Arrow table."""
        return frame_of(self.table(name), library)

    @property
    def frames(self) -> Frames:
        """All tables as frames of pandas, by name."""
        return Frames(self)

    @property
    def figures(self) -> List[str]:
        """Names of the drawings."""
        return _without(_DRAWING, self.files)

    def figure(self, name: str) -> Figure:
        """A drawing by name."""
        svg = self._file(name, _DRAWING, self.figures).decode()
        return Figure(name, svg, self.captions.get(name, ""))

    @property
    def report(self) -> str:
        """The report as one HTML page."""
        return self.files["report.html"].decode()

    def _file(self, name: str, kind: str, known: List[str]) -> bytes:
        if name not in known:
            raise KeyError(f"there is no {name!r} here, but {', '.join(known) or 'nothing'}")
        return self.files[name + kind]


def _without(ending: str, names: Mapping[str, bytes]) -> List[str]:
    return [name[: -len(ending)] for name in names if name.endswith(ending)]


class Result(WithTables):
    """The result of a run.

    Numbers are means over the measured part of the run, after the warm-up, unless they say otherwise; units are in the names.
    """

    def __init__(
        self,
        files: Mapping[str, bytes],
        captions: Optional[Mapping[str, str]] = None,
        text: str = "",
        folder: Optional[Path] = None,
    ) -> None:
        self.files = files
        self.captions = captions or {}
        self.text = text
        """The summary as the command prints it; empty of a result that was read from a folder."""
        self.folder = folder
        """The folder that holds the result; None if it was not written."""
        self.summary: Dict[str, Any] = json.loads(files["summary.json"])
        """All figures: what the command writes as ``summary.json``."""

    @property
    def ended(self) -> str:
        """How the run ended: ``finished``, ``converged``, ``time-limit``, ``stalled``, ``interrupted`` or ``failed``."""
        return str(self.summary["simulated"]["ended"])

    @property
    def ok(self) -> bool:
        """Whether the command would exit with status 0: the run ended well, and all claims and expectations hold."""
        claims = (claim["verdict"] for claim in self.summary.get("claims", []))
        bad = self.ended in ("stalled", "failed", "interrupted") or "fails" in claims
        return not bad and not self.summary.get("unmet_expectations")

    @property
    def partial(self) -> Optional[str]:
        """Why the run is not complete; None if it is."""
        partial: Optional[str] = self.summary["partial"]
        return partial

    @property
    def warnings(self) -> List[str]:
        """What must be known before the figures are used."""
        return list(self.summary["warnings"])

    @property
    def study(self) -> str:
        """The complete study as TOML text. Running it repeats the run."""
        return self.files["study.toml"].decode()

    @property
    def measured(self) -> Dict[str, pandas.DataFrame]:
        """What programs measured themselves (a benchmark's figures), as frames by title."""
        import pandas

        def frame(table: Mapping[str, Any]) -> pandas.DataFrame:
            return pandas.DataFrame(table["rows"], columns=[_heading(c) for c in table["columns"]])

        return {table["title"]: frame(table) for table in self.summary["measured"]}

    def value(self, path: str) -> Any:
        """A figure of the summary by its dotted path, such as ``links.mean_utilization``."""
        at: Any = self.summary
        for key in path.split("."):
            at = at[int(key)] if isinstance(at, list) else at[key]
        return at

    def save(self, folder: Union[str, os.PathLike[str]]) -> Path:
        """Writes all files into a folder, which is created if need be, and returns its path. Files of these names are replaced."""
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        for name, content in self.files.items():
            (path / name).write_bytes(content)
        return path

    def __repr__(self) -> str:
        return f"<netloom.Result {self.summary['configuration']['name']}: {self.ended}>"

    def __str__(self) -> str:
        return self.text or repr(self)

    def _repr_html_(self) -> str:
        """The summary, and the drawings of use and latency; ``figure`` shows the others."""
        text = html.escape(self.text or repr(self))
        shown = [name for name in self.figures if not name.startswith("links-")][:2]
        drawings = "".join(f'<div style="max-width:48em">{self.figure(name).svg}</div>' for name in shown)
        return f'<pre style="line-height:1.3">{text}</pre>{drawings}'


def _heading(column: Mapping[str, Any]) -> str:
    """The name of a measured column, with its unit."""
    return f"{column['label']} {column.get('unit', '')}".strip()
