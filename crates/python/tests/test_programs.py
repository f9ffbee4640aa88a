"""Rank programs in Python: what is recorded, and how it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Generator, List

import pytest

import netloom

Steps = Generator[Any, Any, None]


def statements(program: netloom.Program) -> List[str]:
    """The lines of the last rank's trace."""
    return program.goal.split("\nrank ")[-1].splitlines()[1:-1]


def run_us(program: netloom.Program, machine: str = "bgl") -> float:
    result = netloom.run(program, machine=machine)
    assert result.ended == "finished"
    return float(result.value("simulated.run_time_us"))


def test_operations_follow_one_another() -> None:
    def program(rank: int, size: int) -> Steps:
        yield netloom.compute(us=1.5)
        yield netloom.send(1 - rank, 64, tag=7)
        yield netloom.recv(1 - rank, 64, 7)

    assert statements(netloom.Program(program, 2)) == [
        "l1: calc 1500",
        "l2: send 64b to 0 tag 7",
        "l2 requires l1",
        "l3: recv 64b from 0 tag 7",
        "l3 requires l2",
    ]


def test_what_does_not_block_is_waited_for() -> None:
    def program(rank: int, size: int) -> Steps:
        posted = yield netloom.irecv(1 - rank, 64)
        sent = yield netloom.isend(1 - rank, 64)
        yield netloom.compute(ns=10)
        yield netloom.wait([posted, sent])
        yield netloom.barrier()

    assert statements(netloom.Program(program, 2)) == [
        "l1: recv 64b from 0 tag -1",
        "l2: send 64b to 0 tag 0",
        "l2 irequires l1",
        "l3: calc 10",
        "l3 irequires l2",
        "l4: barrier",
        "l4 requires l3",
        "l4 requires l1",
        "l4 requires l2",
    ]


def test_computing_takes_its_time() -> None:
    def program(rank: int, size: int) -> Steps:
        for _ in range(10):
            yield netloom.compute(us=10)

    assert run_us(netloom.Program(program, 8)) == pytest.approx(100, rel=0.01)


def test_messages_overlap_with_computing_only_if_they_may() -> None:
    def program(rank: int, size: int, overlap: bool) -> Steps:
        other = rank ^ 1
        if overlap:
            handles = [(yield netloom.irecv(other, 100_000)), (yield netloom.isend(other, 100_000))]
            yield netloom.compute(us=500)
            yield netloom.wait(handles)
        else:
            yield netloom.sendrecv(other, 100_000, other)
            yield netloom.compute(us=500)

    apart, together = (run_us(netloom.Program(program, 8, overlap)) for overlap in (False, True))
    assert together < apart - 100


@pytest.mark.parametrize("machine", ["bgl", "bgq", "xc", "th", "dragonfly", "fat-tree"])
def test_all_operations_run_on_all_machines(machine: str) -> None:
    def program(rank: int, size: int) -> Steps:
        yield netloom.sendrecv((rank + 1) % size, 1000, (rank - 1) % size)
        yield netloom.barrier()
        yield netloom.bcast(64)
        yield netloom.reduce(64)
        yield netloom.allreduce(8)
        yield netloom.allgather(16)
        yield netloom.alltoall(32)
        yield netloom.alltoallv([rank + 1] * size)
        if rank == 0:
            for _ in range(size - 1):
                yield netloom.recv(netloom.ANY, 8)
        else:
            yield netloom.send(0, 8, tag=rank)

    assert run_us(netloom.Program(program, 8), machine) > 0


def test_functions_may_return_lists() -> None:
    program = netloom.Program(lambda rank, size: [netloom.allreduce(8)] * 3, 8, name="sums")
    assert program.name == "sums"
    assert run_us(program) > 0


def test_collectives_are_done_as_asked_for() -> None:
    def times(algorithm: str) -> float:
        collectives = {"allreduce": algorithm}
        return run_us(netloom.Program(lambda rank, size: [netloom.allreduce(65536)], 32, collectives=collectives), "bgq")

    assert times("hardware") < times("ring")


def test_a_saved_program_runs_again(tmp_path: Path) -> None:
    program = netloom.Program(lambda rank, size: [netloom.sendrecv(rank ^ 1, 256, rank ^ 1)], 8, name="pairs")
    out = tmp_path / "out"
    first = netloom.run(program, out, machine="bgl")
    again = netloom.run(out / "study.toml")
    assert again.summary["programs"] == first.summary["programs"]
    path = program.save(tmp_path / "pairs.goal")
    study = {"name": "pairs", "machine": "bgl", "nodes": 8, "workload": {"kind": "trace", "file": str(path)}}
    assert netloom.run(study).summary["programs"] == first.summary["programs"]


def test_programs_run_side_by_side_as_jobs() -> None:
    program = netloom.Program(lambda rank, size: [netloom.alltoall(512)], 8)
    jobs = [{"name": name, "nodes": 8, "workload": program} for name in ("a", "b")]
    study = {"name": "two", "machine": "bgl", "nodes": 16, "workload": {"kind": "jobs", "jobs": jobs}}
    result = netloom.run(study)
    assert [job["name"] for job in result.summary["jobs"]] == ["a", "b"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: netloom.send(1, -5), "a number of bytes"),
        (lambda: netloom.send(1, "x"), "a number of bytes"),  # type: ignore[arg-type]
        (lambda: netloom.send(-1, 8), "a rank"),
        (lambda: netloom.send(8, 8), "rank 0, operation 1: .*no rank 8 among 8"),
        (lambda: netloom.compute(), "needs one time"),
        (lambda: netloom.compute(us=-1), "a time in ns"),
        (lambda: netloom.wait(3), "wait takes"),  # type: ignore[arg-type]
        (lambda: netloom.alltoallv([1, 2]), "for each of 8 ranks, not 2"),
        (lambda: 17, "rank 0, operation 1: expected an operation"),
    ],
)
def test_mistakes_are_reported(make: Any, message: str) -> None:
    with pytest.raises((netloom.ProgramError, TypeError), match=message):
        netloom.Program(lambda rank, size: [make()], 8)


def test_ranks_that_disagree_are_refused() -> None:
    program = netloom.Program(lambda rank, size: [netloom.barrier()] * (rank + 1), 2)
    with pytest.raises(netloom.StudyError):
        netloom.run(program, machine="bgl", nodes=8)
