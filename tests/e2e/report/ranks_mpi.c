/*
 * ranks_mpi.c - one rank of a job of MPI: STEPS steps, in each of which rank LATE_RANK sleeps for LATE_MS before an Allreduce; then the
 * ranks of each half meet, and pass a message around. ranks_mpi.t builds it with each MPI that is there.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int rank, size, steps, late_rank, late_ms, from = 0;
	double in[128] = {0}, out[512];
	MPI_Comm half, none;
	MPI_Request request;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (argc < 4)
		return 2;
	steps = atoi(argv[1]);
	late_rank = atoi(argv[2]);
	late_ms = atoi(argv[3]);
	MPI_Comm_split(MPI_COMM_WORLD, rank * 2 / size, 0, &half);
	MPI_Comm_split(MPI_COMM_WORLD, rank ? MPI_UNDEFINED : 0, 0, &none);
	MPI_Barrier(MPI_COMM_WORLD); /* all are there */
	for (int i = 0; i < steps; i++) {
		usleep(1000);
		if (rank == late_rank)
			usleep((unsigned)late_ms * 1000);
		in[0] = rank;
		MPI_Allreduce(in, out, 128, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		if (out[0] != size * (size - 1) / 2.0)
			return 3;
		MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, 64, MPI_DOUBLE, half);
		MPI_Ibarrier(half, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 7, &from, 1, MPI_INT,
			     (rank + size - 1) % size, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (from != (rank + size - 1) % size)
			return 4;
	}
	printf("rank %d of %d is done\n", rank, size);
	MPI_Finalize();
	return 0;
}
