"""Exceptions of this package. Their text is what the ``netloom`` command prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional, Union

if TYPE_CHECKING:
    from .results import Result
    from .sweeps import Sweep

__all__ = ["Interrupted", "NetloomError", "OutputError", "ProgramError", "StudyError"]


class NetloomError(Exception):
    """What is refused, and why.

    ``message`` is one sentence, ``help`` the advice. If the mistake stands in a text, ``file`` and ``line`` (from 1) say where, and
    ``expected`` what was expected there. ``str`` of the exception is all of it, with the lines of the text.
    """

    def __init__(
        self,
        text: str,
        message: Optional[str] = None,
        help: Optional[str] = None,
        file: Optional[str] = None,
        line: Optional[int] = None,
        expected: Optional[str] = None,
    ) -> None:
        super().__init__(text, message, help, file, line, expected)
        self.text = text
        self.message = text if message is None else message
        self.help = help
        self.file = file
        self.line = line
        self.expected = expected

    def __str__(self) -> str:
        # A report of several lines begins below the name of the exception, so that its columns stay aligned.
        text = self.text.rstrip()
        return "\n" + text.lstrip("\n") if "\n" in text else text.strip()


class StudyError(NetloomError, ValueError):
    """A mistake in a study, in its machine or in a change of them."""


class ProgramError(NetloomError, ValueError):
    """A mistake in a rank program."""


class OutputError(NetloomError, OSError):
    """A folder or a file that cannot be written, or that is not to be replaced.

    If a run was over by then, ``result`` has it.
    """

    result: Optional[Result] = None

    def __str__(self) -> str:
        return NetloomError.__str__(self)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, or an interrupted cell of a notebook. ``result`` has what there was by then: a partial result or sweep."""

    def __init__(self, text: str, result: Union[Result, Sweep, None] = None) -> None:
        super().__init__(text)
        self.result = result


for _class in (NetloomError, StudyError, ProgramError, OutputError, Interrupted):
    # Shown as it is called by those who use it.
    _class.__module__ = "netloom"
