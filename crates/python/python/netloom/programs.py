"""Rank programs as Python generators.

A program is a function of a rank and the number of ranks that yields operations::

    def ring(rank, size):
        for step in range(10):
            yield netloom.compute(us=5)
            yield netloom.sendrecv(to=(rank + 1) % size, source=(rank - 1) % size, bytes=4096)
        yield netloom.allreduce(8)

    result = netloom.run(netloom.Program(ring, ranks=64), machine="bgl", nodes=64)

The generators run once, before the simulation, rank after rank: what they yield is recorded as a trace, and the trace is simulated.
So a program sees neither simulated time nor the data of messages, and cannot do one thing or another depending on them. What it does may
depend on its rank, the number of ranks and its own arguments.
"""

from __future__ import annotations

import operator
import os
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

from .errors import ProgramError

__all__ = [
    "Handle",
    "Operation",
    "Program",
    "allgather",
    "allreduce",
    "alltoall",
    "alltoallv",
    "barrier",
    "bcast",
    "compute",
    "irecv",
    "isend",
    "recv",
    "reduce",
    "send",
    "sendrecv",
    "wait",
]

ANY = -1
"""Any rank, of a receive's ``source``; any tag, of its ``tag``."""

_TAG_END = 2**32 - 1
_SIZE_END = 2**64


class Handle(NamedTuple):
    """A pending send or receive: what ``yield isend(...)`` and ``yield irecv(...)`` return."""

    number: int


class Operation:
    """What a rank does next. Made by the functions of this module."""

    def record(self, rank: _Recorder) -> Any:
        """Adds the operation to a rank's trace; the value is that of ``yield``."""
        raise NotImplementedError


class _Statement(Operation):
    """An operation that is one statement of the trace: the rank resumes when it has finished."""

    def __init__(self, text: str, peer: Optional[int] = None, blocks: Optional[int] = None) -> None:
        self.text = text
        self.peer = peer
        self.blocks = blocks

    def record(self, rank: _Recorder) -> None:
        rank.after_finish([rank.add(self._checked(rank))])

    def _checked(self, rank: _Recorder) -> str:
        if self.peer is not None and not (self.peer == ANY or 0 <= self.peer < rank.size):
            rank.refuse(f"`{self.text}`: there is no rank {self.peer} among {rank.size}")
        if self.blocks is not None and self.blocks != rank.size:
            rank.refuse(f"an alltoallv needs a number of bytes for each of {rank.size} ranks, not {self.blocks}")
        return self.text


class _Nonblocking(_Statement):
    """A nonblocking send or receive: the rank resumes when it has begun."""

    def record(self, rank: _Recorder) -> Handle:  # type: ignore[override]
        number = rank.add(self._checked(rank))
        rank.after_start(number)
        return Handle(number)


class _Wait(Operation):
    def __init__(self, handles: Sequence[Handle]) -> None:
        self.handles = handles

    def record(self, rank: _Recorder) -> None:
        rank.also_after_finish([handle.number for handle in self.handles])


class _SendReceive(Operation):
    def __init__(self, receive: _Nonblocking, send: _Nonblocking) -> None:
        self.parts = (receive, send)

    def record(self, rank: _Recorder) -> None:
        rank.also_after_finish([part.record(rank).number for part in self.parts])


def compute(us: Optional[float] = None, *, ns: Optional[float] = None) -> Operation:
    """The rank computes for this long: ``us`` or ``ns``. Times are rounded to whole ns."""
    if (us is None) == (ns is None):
        raise ProgramError("compute needs one time: us=… or ns=…")
    time = round(us * 1000 if us is not None else ns)  # type: ignore[arg-type]
    return _Statement(f"calc {_number('a time in ns', time, _SIZE_END)}")


def send(to: int, bytes: int, tag: int = 0) -> Operation:
    """Sends a message of ``bytes`` to rank ``to``. The rank resumes when its data may be overwritten."""
    return _Statement(_send(to, bytes, tag), to)


def recv(source: int, bytes: int, tag: int = ANY) -> Operation:
    """Receives a message of at most ``bytes`` from rank ``source``. ``ANY`` stands for any rank and any tag."""
    return _Statement(_receive(source, bytes, tag), source)


def isend(to: int, bytes: int, tag: int = 0) -> Operation:
    """Begins to send a message; ``yield`` returns a handle to wait for. A rank does not end before its messages are sent."""
    return _Nonblocking(_send(to, bytes, tag), to)


def irecv(source: int, bytes: int, tag: int = ANY) -> Operation:
    """Posts a receive; ``yield`` returns a handle to wait for."""
    return _Nonblocking(_receive(source, bytes, tag), source)


def wait(*handles: Union[Handle, Iterable[Handle]]) -> Operation:
    """Waits until all of these have finished: handles, or lists of them."""
    flat: List[Any] = []
    for handle in handles:
        is_list = isinstance(handle, Iterable) and not isinstance(handle, Handle)
        flat.extend(handle if is_list else [handle])
    if not all(isinstance(handle, Handle) for handle in flat):
        raise ProgramError("wait takes what `yield isend(...)` and `yield irecv(...)` return")
    return _Wait(flat)


def sendrecv(
    to: int, bytes: int, source: int, receive_bytes: Optional[int] = None, tag: int = 0, receive_tag: Optional[int] = None
) -> Operation:
    """Sends and receives at once. What is received is as long and has the same tag, unless said otherwise."""
    expected = bytes if receive_bytes is None else receive_bytes
    receive = _receive(source, expected, tag if receive_tag is None else receive_tag)
    return _SendReceive(_Nonblocking(receive, source), _Nonblocking(_send(to, bytes, tag), to))


def barrier() -> Operation:
    """Waits until all ranks have called it."""
    return _Statement("barrier")


def bcast(bytes: int) -> Operation:
    """Rank 0 sends ``bytes`` to all ranks."""
    return _Statement(f"bcast {_bytes(bytes)}b")


def reduce(bytes: int) -> Operation:
    """Data of ``bytes`` of all ranks is combined at rank 0."""
    return _Statement(f"reduce {_bytes(bytes)}b")


def allreduce(bytes: int) -> Operation:
    """Data of ``bytes`` of all ranks is combined for all."""
    return _Statement(f"allreduce {_bytes(bytes)}b")


def allgather(bytes: int) -> Operation:
    """Each rank gets the ``bytes`` of every rank."""
    return _Statement(f"allgather {_bytes(bytes)}b")


def alltoall(bytes: int) -> Operation:
    """Each rank sends ``bytes`` to every rank."""
    return _Statement(f"alltoall {_bytes(bytes)}b")


def alltoallv(bytes: Sequence[int]) -> Operation:
    """Each rank sends ``bytes[i]`` to rank i."""
    lengths = list(bytes)
    return _Statement("alltoallv " + " ".join(f"{_bytes(n)}b" for n in lengths), blocks=len(lengths))


def _number(what: str, number: Any, end: int) -> int:
    try:
        whole = operator.index(number)
    except TypeError:
        raise ProgramError(f"expected {what}, found {number!r}") from None
    if not 0 <= whole < end:
        raise ProgramError(f"expected {what} of 0 or more, below {end}, found {whole}")
    return whole


def _bytes(number: Any) -> int:
    return _number("a number of bytes", number, _SIZE_END)


def _tag(tag: Any) -> int:
    return _number("a tag", tag, _TAG_END)


def _send(to: Any, bytes: Any, tag: Any) -> str:
    return f"send {_bytes(bytes)}b to {_number('a rank', to, _TAG_END)} tag {_tag(tag)}"


def _receive(source: Any, bytes: Any, tag: Any) -> str:
    any_tag = tag if tag == ANY else _tag(tag)
    rank = source if source == ANY else _number("a rank", source, _TAG_END)
    return f"recv {_bytes(bytes)}b from {rank} tag {any_tag}"


class _Recorder:
    """The trace of one rank, as its program yields operations."""

    def __init__(self, rank: int, size: int) -> None:
        self.rank = rank
        self.size = size
        self.lines: List[str] = []
        self.count = 0
        self._after: List[Tuple[int, str]] = []

    def add(self, statement: str) -> int:
        """A statement that begins after all that the rank waits for."""
        self.count += 1
        self.lines.append(f"l{self.count}: {statement}")
        self.lines.extend(f"l{self.count} {word} l{number}" for number, word in self._after)
        return self.count

    def after_finish(self, numbers: Sequence[int]) -> None:
        """What follows begins when these have finished; they themselves began after all before them."""
        self._after = [(number, "requires") for number in numbers]

    def after_start(self, number: int) -> None:
        """What follows begins when this has begun, which it did after all before it."""
        self._after = [(number, "irequires")]

    def also_after_finish(self, numbers: Sequence[int]) -> None:
        """What follows begins when these have finished, too."""
        known = {number for number, word in self._after if word == "requires"}
        self._after += [(number, "requires") for number in dict.fromkeys(numbers) if number not in known]

    def refuse(self, why: str) -> None:
        """Refuses what the program yielded last."""
        raise ProgramError(f"rank {self.rank}, operation {self.count + 1}: {why}")

    def run(self, operations: Iterable[Any]) -> None:
        """Records all operations of a program."""
        steps = iter(operations)
        send = getattr(steps, "send", None) or (lambda _: next(steps))
        value = None
        while True:
            try:
                operation = send(value)
            except StopIteration:
                return
            if not isinstance(operation, Operation):
                self.refuse(f"expected an operation such as netloom.send(...), found {operation!r}")
            value = operation.record(self)


class Program:
    """A rank program, recorded: the ``workload`` of a study, or a study by itself.

    ``function(rank, size, *arguments, **named)`` returns a generator, or any iterable, of operations. It is called once for each of
    ``ranks`` ranks. ``collectives`` says how collective operations are done: ``{"allreduce": "ring", "barrier": "hardware"}``.
    """

    def __init__(
        self,
        function: Callable[..., Iterable[Operation]],
        ranks: int,
        *arguments: Any,
        name: Optional[str] = None,
        collectives: Optional[Dict[str, Any]] = None,
        **named: Any,
    ) -> None:
        self.ranks = _number("a number of ranks", ranks, _TAG_END)
        self.name = name or getattr(function, "__name__", "program").strip("<>")
        self.options: Dict[str, Any] = {"collectives": collectives} if collectives else {}
        self.goal = "".join(self._lines(lambda rank: function(rank, self.ranks, *arguments, **named)))
        """The trace as text, in the GOAL format."""

    def _lines(self, program: Callable[[int], Iterable[Operation]]) -> Iterator[str]:
        yield f"num_ranks {self.ranks}\n"
        for rank in range(self.ranks):
            recorder = _Recorder(rank, self.ranks)
            recorder.run(program(rank))
            yield f"\nrank {rank} {{\n" + "".join(line + "\n" for line in recorder.lines) + "}\n"

    def save(self, path: Union[str, os.PathLike[str]]) -> Path:
        """Writes the trace: a study names it as ``workload = { kind = "trace", file = "…" }``."""
        target = Path(path)
        target.write_text(self.goal, encoding="ascii")
        return target

    def __repr__(self) -> str:
        return f"<netloom.Program {self.name}: {self.ranks} ranks>"
