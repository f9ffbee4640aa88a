"""Pi by the midpoint rule, with mpi4py: each rank sums a part of the rectangles, and rank 0 adds the parts.

See "Python" in docs/mpi.md for how mpi4py is built.
"""

import sys

from mpi4py import MPI

comm = MPI.COMM_WORLD
steps = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
start = MPI.Wtime()
width = 1.0 / steps
part = width * sum(4.0 / (1.0 + ((n + 0.5) * width) ** 2) for n in range(comm.rank, steps, comm.size))
pi = comm.reduce(part, op=MPI.SUM, root=0)
nodes = comm.gather(MPI.Get_processor_name(), root=0)
if comm.rank == 0:
    print(f"pi is about {pi:.10f}")
    print(f"{comm.size} ranks on {len(set(nodes))} nodes, {(MPI.Wtime() - start) * 1e6:.1f} us")
