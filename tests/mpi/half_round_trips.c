/* Half the round trip of messages of several lengths between ranks 0 and 1, us: a line for each, with the
 * length in bytes first. */
#include "common.h"

#define TIMES 4

int main(int argc, char **argv)
{
	static char data[1 << 20];
	const int lengths[] = {0, 8, 64, 512, 2048, 8192, 16384, 65536, 1 << 20};
	MPI_Init(&argc, &argv);
	int rank;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (size_t n = 0; n < sizeof lengths / sizeof *lengths; n++) {
		double start = 0;
		for (int i = 0; i <= TIMES; i++) {
			/* The first sets up what is needed. */
			if (i == 1)
				start = MPI_Wtime();
			if (rank == 0)
				MPI_Send(data, lengths[n], MPI_CHAR, 1, 0, MPI_COMM_WORLD);
			if (rank < 2)
				MPI_Recv(data, lengths[n], MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD,
					 MPI_STATUS_IGNORE);
			if (rank == 1)
				MPI_Send(data, lengths[n], MPI_CHAR, 0, 0, MPI_COMM_WORLD);
		}
		if (rank == 0)
			printf("%d %.3f\n", lengths[n], 1e6 * (MPI_Wtime() - start) / (2 * TIMES));
	}
	MPI_Finalize();
	return 0;
}
