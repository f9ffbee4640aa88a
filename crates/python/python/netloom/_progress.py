"""Progress of runs: bars in interactive sessions, and callables."""

from __future__ import annotations

import sys
from typing import Any, Callable, NamedTuple, Optional, Union


class Progress(NamedTuple):
    """Where a run or a sweep stands."""

    fraction: Optional[float]
    """The fraction that is done, 0 to 1; None while it is unknown."""
    simulated_us: float
    """Simulated time, us; of a sweep, the sum of its points."""
    packet_hops: int
    """Packet-hops so far."""
    text: str
    """What is running, if it has a name: the table that ``validate`` judges."""


Listen = Union[bool, Callable[[Progress], Any], None]
"""What receives the progress: a callable; True or False for a bar or none; None for a bar in interactive sessions."""


_KNOWN = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}{postfix}"
_UNKNOWN = "{desc}: {elapsed}{postfix}"
"""Formats of a bar: with the fraction that is done, and while it is unknown."""


class Listener:
    """Passes progress on to a callable or a bar. Used with ``with``, which removes the bar at the end."""

    def __init__(self, listen: Listen, title: str) -> None:
        self.callback: Optional[Callable[[Progress], Any]] = None
        self._bar: Any = None
        if callable(listen):
            self.callback = listen
        elif listen or (listen is None and _is_interactive()):
            self._bar = _bar(title)
            self.callback = self._show if self._bar is not None else None

    @property
    def native(self) -> Optional[Callable[..., None]]:
        """The callable for the native part."""
        callback = self.callback
        if callback is None:
            return None
        return lambda *state: (callback(Progress(*state)), None)[1]

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def _show(self, progress: Progress) -> None:
        self._bar.bar_format = _UNKNOWN if progress.fraction is None else _KNOWN
        self._bar.n = round(100 * (progress.fraction or 0.0), 1)
        text = progress.text or f"{progress.simulated_us:,.0f} us simulated, {progress.packet_hops:,} packet-hops"
        self._bar.set_postfix_str(text)


def _in_notebook() -> bool:
    return "ipykernel" in sys.modules


def _is_interactive() -> bool:
    return _in_notebook() or bool(sys.stderr and sys.stderr.isatty())


def _bar(title: str) -> Any:
    """A bar of tqdm, if that is installed: as a widget in notebooks that have widgets."""
    try:
        if _in_notebook():
            import ipywidgets  # type: ignore  # noqa: F401
            from tqdm.notebook import tqdm
        else:
            from tqdm import tqdm
    except ImportError:
        try:
            from tqdm import tqdm
        except ImportError:
            return None
    return tqdm(total=100, desc=title, leave=False, bar_format=_UNKNOWN)
