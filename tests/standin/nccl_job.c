/*
 * nccl_job.c - as much of NCCL as tests/gpu/ranks.c needs. No rank waits for another in a call: where one will be late, the
 * program asks for a product in place of a sum, and the kernel lasts so much longer (JOB_LATE_US), as a real one that waits.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct dim3 {
	unsigned x, y, z;
};
void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFatBinaryEnd(void **);
void __cudaRegisterFunction(void **, const void *, char *, const char *, int, void *, void *,
			    void *, void *, int *);
int cudaLaunchKernel(const void *, struct dim3, struct dim3, void **, size_t, void *);

struct unique_id {
	char bytes[128];
};
int ncclGetUniqueId(struct unique_id *id);
int ncclCommInitRank(void **comm, int cnt, struct unique_id id, int rank);
int ncclAllReduce(const void *from, void *to, size_t cnt, int type, int op, void *comm,
		  void *stream);
int ncclCommDestroy(void *comm);

static char kernels[2]; /* their addresses are what nvcc makes handles of */

/* The same on all ranks of the job. */
int ncclGetUniqueId(struct unique_id *id)
{
	const char *job = getenv("JOB_ID");

	memset(id, 0, sizeof(*id));
	snprintf(id->bytes, sizeof(id->bytes), "job %s", job ? job : "");
	return 0;
}

int ncclCommInitRank(void **comm, int cnt, struct unique_id id, int rank)
{
	static const char image[64] = "image";
	static struct {
		int magic, version;
		const void *data, *more;
	} wrapper = {0x466243b1, 1, image, NULL};
	static char names[2][96];
	const char *late = getenv("JOB_LATE_US");
	void **binary = __cudaRegisterFatBinary(&wrapper);

	(void)cnt;
	(void)id;
	(void)rank;
	for (int i = 0; i < 2; i++) {
		snprintf(names[i], sizeof(names[i]), "ncclDevKernel_AllReduce_%s_f32_RING_LL_us%d_",
			 i ? "Prod" : "Sum", 50 + (i && late ? atoi(late) : 0));
		__cudaRegisterFunction(binary, &kernels[i], names[i], names[i], -1, NULL, NULL,
				       NULL, NULL, NULL);
	}
	__cudaRegisterFatBinaryEnd(binary);
	*comm = kernels;
	return 0;
}

int ncclAllReduce(const void *from, void *to, size_t cnt, int type, int op, void *comm,
		  void *stream)
{
	struct dim3 one = {1, 1, 1};

	(void)from;
	(void)to;
	(void)cnt;
	(void)type;
	return comm != kernels || cudaLaunchKernel(&kernels[op != 0], one, one, NULL, 0, stream);
}

int ncclCommDestroy(void *comm)
{
	return comm != kernels;
}
