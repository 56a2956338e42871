/* Two processes reduce together, and one comes late. reason: SLEEP */
#include "gpu_pair.h"

struct unique_id {
	char bytes[128];
};
int ncclGetUniqueId(struct unique_id *);
int ncclCommInitRank(void **, int, struct unique_id, int);
int ncclAllReduce(const void *, void *, size_t, int, int, void *, stream_t);
int ncclCommDestroy(void *);

static void steps(struct unique_id id, int rank, bool bad)
{
	float *from, *to;
	stream_t s;
	void *comm;

	gpu_begin();
	s = new_stream();
	from = (float *)on_gpu(4 * KIB);
	to = (float *)on_gpu(4 * KIB);
	DO(ncclCommInitRank(&comm, 2, id, rank));
	for (int i = 0; i < 25; i++) {
		LAUNCH(US_500, s);
		if (bad && rank == 1)
			wait_ms(15); /* CULPRIT */
		DO(ncclAllReduce(from, to, KIB, 7, 0, comm, s));
		DO(cudaStreamSynchronize(s));
	}
	DO(ncclCommDestroy(comm));
}

int main(int argc, char **argv)
{
	bool bad = is_bad(argc, argv);
	struct unique_id id;
	pid_t child;
	int status;

	DO(ncclGetUniqueId(&id));
	child = fork();
	steps(id, child ? 0 : 1, bad);
	if (!child)
		_exit(0);
	waitpid(child, &status, 0);
	printf("%d\n", status);
	return 0;
}
