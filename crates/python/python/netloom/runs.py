"""Studies checked, run and swept; published figures compared."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Union

from . import _native, _source
from ._progress import Listen, Listener
from .errors import Interrupted
from .results import Files, Result
from .sweeps import Sweep

if TYPE_CHECKING:
    import pandas

__all__ = ["check", "load", "run", "studies", "sweep", "validate"]

_Path = Union[str, "os.PathLike[str]"]


def studies() -> List[str]:
    """Names of the studies that come with Netloom."""
    return _native.studies()


def check(study: _source.Study, *, set: Optional[Mapping[str, Any]] = None, **overrides: Any) -> Dict[str, Any]:
    """Reads and checks a study without running it. Returns the complete study and its machine."""
    source, _ = _source.read(study, set, overrides, Path("."))
    complete: Dict[str, Any] = json.loads(_native.check(source)[2])
    return complete


def run(
    study: _source.Study,
    out: Optional[_Path] = None,
    threads: Optional[int] = None,
    *,
    set: Optional[Mapping[str, Any]] = None,
    progress: Listen = None,
    force: bool = False,
    force_memory: bool = False,
    **overrides: Any,
) -> Result:
    """Runs a study and returns its result.

    ``study`` is the path of a TOML file, the name of a built-in study, TOML text, a dict like the file, or a
    :class:`Program`, which runs on as many nodes as it has ranks unless ``nodes`` says otherwise.
    ``out`` is a folder that the result is written into, as ``netloom run --out`` does; where it is left out, nothing is written. A folder
    that holds something is refused unless ``force`` is true. ``threads`` are those of this computer where left out; the result does not
    depend on them.

    Any value of the study or its machine is changed by its dotted key: ``set={"topology.dims": [8, 8, 8]}``, or as a keyword argument
    with two underscores for a dot: ``topology__dims=[8, 8, 8]``.

    ``progress`` is called about ten times a second with a :class:`Progress`. True shows a bar of tqdm, False nothing; left out,
    there is a bar in notebooks and on terminals if tqdm is installed.

    Raises :class:`StudyError` for mistakes, :class:`OutputError` if the result cannot be written, and :class:`Interrupted` after Ctrl-C,
    with the partial result. A run that stalls or fails is a result: see :attr:`Result.ended` and :attr:`Result.ok`.
    """
    with tempfile.TemporaryDirectory(prefix="netloom-") as temporary:
        source, files = _source.read(study, set, overrides, Path(temporary if out is None else out))
        with Listener(progress, "netloom") as listener:
            options = _options(out, files, threads, force, force_memory, listener)
            done = _native.run(source, options)
    folder = None if done["folder"] is None else Path(done["folder"])
    result = Result(dict(done["files"]), dict(done["captions"]), done["text"], folder)
    if done["stopped"] is not None:
        _stopped(done["stopped"], result, f"the run was interrupted at {result.value('simulated.us'):.4g} us simulated")
    if done["unwritten"] is not None:
        done["unwritten"].result = result
        raise done["unwritten"]
    return result


def sweep(
    study: _source.Study,
    out: Optional[_Path] = None,
    threads: Optional[int] = None,
    *,
    over: Optional[Mapping[str, Any]] = None,
    set: Optional[Mapping[str, Any]] = None,
    progress: Listen = None,
    force: bool = False,
    force_memory: bool = False,
    **overrides: Any,
) -> Sweep:
    """Runs a study at every combination of the values in its ``[sweep]`` table.

    ``over`` takes the place of that table: ``over={"router.paths": [1, 2]}``. Points run side by side, one thread each. With ``out``, a
    sweep that was stopped resumes when it is called again; where it is left out, the results are in a folder that goes away with the
    sweep. All else is as in :func:`run`.
    """
    temporary = tempfile.TemporaryDirectory(prefix="netloom-") if out is None else None
    into = Path(out or "") if temporary is None else Path(temporary.name)
    source, files = _source.read(study, set, overrides, into)
    source["sets"] += _axes(over)
    with Listener(progress, "netloom sweep") as listener:
        done = _native.sweep(source, _options(into, files, threads, force, force_memory, listener))
    result = Sweep(Path(done["folder"]), done["text"], temporary)
    if done["halted"] is not None:
        raise done["halted"]
    if done["stopped"] is not None:
        _stopped(done["stopped"], result, f"the sweep was interrupted with {done['missing']} of {len(result)} points to go")
    return result


def load(folder: _Path) -> Union[Result, Sweep]:
    """The result of a run or a sweep from its folder, whoever wrote it."""
    path = Path(folder)
    files = Files(path)
    if "sweep.json" in files:
        return Sweep(path)
    if "summary.json" not in files:
        raise FileNotFoundError(f"{path} holds no result: there is neither summary.json nor sweep.json")
    return Result(files, folder=path)


def validate(
    what: Optional[str] = None,
    quick: bool = True,
    threads: Optional[int] = None,
    progress: Listen = None,
) -> pandas.DataFrame:
    """Compares published figures with simulated ones: a frame with a row per figure and its ``verdict``.

    ``what`` is a paper (``"bgl"``, ``"bgq"``, ``"xc"``, ``"th"``), a table or an entry; all where left out. ``quick`` takes smaller
    machines and shorter runs.
    """
    import pandas

    with Listener(progress, "netloom validate") as listener:
        entries, stopped = _native.validate(what, quick, threads, listener.native)
    if stopped is not None:
        raise stopped
    return pandas.DataFrame(json.loads(entries))


def _options(
    out: Optional[_Path], files: _source.Files, threads: Optional[int], force: bool, force_memory: bool, listener: Listener
) -> Dict[str, Any]:
    if threads is not None and not 1 <= threads <= 4096:
        raise ValueError(f"threads are 1 to 4096, not {threads}")
    return {
        "out": None if out is None else os.fspath(out),
        "files": files,
        "threads": threads,
        "force": force,
        "force_memory": force_memory,
        "progress": listener.native,
    }


def _axes(over: Optional[Mapping[str, Any]]) -> List[str]:
    """The changes that put these axes in the place of those of the study."""
    if over is None:
        return []
    return ["sweep={}"] + _source.changes({f"sweep.{path}": list(values) for path, values in over.items()}, {})


def _stopped(error: BaseException, result: Union[Result, Sweep], what: str) -> None:
    """Raises what stopped a run: Ctrl-C with what there is of the result, anything else as it is."""
    if not isinstance(error, KeyboardInterrupt):
        raise error
    where = f"; {result.folder} has what there is" if result.folder is not None else ""
    raise Interrupted(f"{what}{where}", result) from None
