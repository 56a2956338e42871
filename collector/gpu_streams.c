/*
 * gpu_streams.c - names that a program gave to streams by NVTX: it knows them by handles, reports by CUPTI's numbers.
 *
 * Nobody is asked: CUPTI follows a handle that is not one (any more), and a call into the driver would be recorded. Some
 * calls in which a named handle was passed are remembered; what the GPU did for one of them has the number. Handles are
 * used again, so that a name is for calls from its time on, up to the next name for the handle.
 */
#include "collector/gpu_internal.h"

#include <stdlib.h>
#include <string.h>

#include "collector/db_nvtx.h"

#define NAMES_MAX 1024u /* of a process */

struct gpu_named {
	struct gpu_named *next; /* the youngest is the first */
	uint64_t handle;
	int64_t since; /* session ns */
	uint32_t calls;
	bool is_done; /* has its row */
	char text[];
};

static struct gpu_process *find(const struct gpu_arena *g, uint32_t number)
{
	struct gpu_process *p = g ? g->first : NULL;

	while (p && p->number != number)
		p = p->next;
	return p;
}

void gpu_stream_named(struct arena *a, uint32_t number, uint64_t handle, int64_t ns,
		      const char *name)
{
	struct gpu_process *p = find(a->gpu, number);
	size_t len = strlen(name) + 1;
	struct gpu_named *n;

	/* Without a call into CUDA before there is no stream. */
	if (!p || p->named_cnt >= NAMES_MAX)
		return;
	n = calloc(1, sizeof(*n) + len);
	if (!n)
		return;
	n->handle = handle;
	n->since = ns;
	memcpy(n->text, name, len);
	n->next = p->named;
	p->named = n;
	p->named_cnt++;
	p->named_open++;
}

static struct gpu_named *name_for(struct gpu_process *p, uint64_t handle, int64_t ns)
{
	struct gpu_named *n = p->named;

	while (n && (n->handle != handle || n->since > ns))
		n = n->next;
	return n;
}

/* The first ones, and then fewer and fewer: those of a stream that is being captured have no work. */
static bool is_remembered(uint32_t call)
{
	return call < 64 || call % (1u << (26 - __builtin_clz(call))) == 0;
}

void gpu_stream_passed(struct gpu_process *p, uint64_t handle, int64_t start, int64_t id)
{
	struct gpu_named *n = name_for(p, handle, start);
	int64_t *call;

	if (!n || n->is_done || !is_remembered(n->calls++))
		return;
	call = db_map_get(&p->named_calls, id);
	if (call)
		*call = (int64_t)(intptr_t)n;
}

void gpu_stream_seen(struct arenas *as, struct gpu_process *p, int64_t id, int64_t device,
		     uint32_t context, uint32_t stream)
{
	const int64_t row[] = {p->pid, device, context, stream};
	struct gpu_named *n;

	if (stream == SL_GPU_NONE || !p->named_calls.cnt)
		return;
	n = (struct gpu_named *)(intptr_t)*db_map_peek(&p->named_calls, id);
	if (!n || n->is_done)
		return;
	db_nvtx_row(as->db, DB_NVTX_CUDA_STREAM, row, &(const char *){n->text});
	n->is_done = true;
	p->named_open--;
}

void gpu_streams_shift(struct gpu_process *p, int64_t by)
{
	for (struct gpu_named *n = p->named; n; n = n->next)
		n->since -= by;
}

void gpu_streams_release(struct gpu_process *p)
{
	while (p->named) {
		struct gpu_named *n = p->named;

		p->named = n->next;
		free(n);
	}
	db_map_free(&p->named_calls);
}
