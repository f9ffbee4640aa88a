"""Netloom: the interconnect of a supercomputer, simulated packet by packet.

>>> import netloom
>>> result = netloom.run("all-to-all", topology__dims=[4, 4, 4])
>>> result.ended
'converged'
>>> result.frame("links").head()
>>> result.figure("latency")

See :func:`run`, :func:`sweep`, :func:`machines`, :func:`validate`, and :class:`Program` for rank programs in Python.
"""

from ._progress import Progress
from .errors import Interrupted, NetloomError, OutputError, ProgramError, StudyError
from .machines import Machine, describe, machine, machine_toml, machines
from .programs import (
    ANY,
    Handle,
    Operation,
    Program,
    allgather,
    allreduce,
    alltoall,
    alltoallv,
    barrier,
    bcast,
    compute,
    irecv,
    isend,
    recv,
    reduce,
    send,
    sendrecv,
    wait,
)
from .results import Figure, Result
from .runs import check, load, run, studies, sweep, validate
from .sweeps import Sweep

__all__ = [
    "ANY",
    "Figure",
    "Handle",
    "Interrupted",
    "Machine",
    "NetloomError",
    "Operation",
    "OutputError",
    "Program",
    "ProgramError",
    "Progress",
    "Result",
    "StudyError",
    "Sweep",
    "allgather",
    "allreduce",
    "alltoall",
    "alltoallv",
    "barrier",
    "bcast",
    "check",
    "compute",
    "describe",
    "irecv",
    "isend",
    "load",
    "machine",
    "machine_toml",
    "machines",
    "recv",
    "reduce",
    "run",
    "send",
    "sendrecv",
    "studies",
    "sweep",
    "validate",
    "wait",
]

__version__ = "0.1.0"
