/*
 * trigger_gpu.c - share of the last seconds in which a GPU was idle (trigger "gpu-idle > 50% over 5s").
 *
 * GPU records arrive a CUPTI flush late and in no order; so a GPU is judged up to the moment until which every
 * process that uses it has delivered all. Time is kept in parts of a window; where work overlaps, each moment counts
 * once. Nothing is judged before a whole window has passed since the GPU's first work.
 */
#include "collector/base/grow.h"
#include "collector/capture/trigger_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/decode/gpu/gpu.h"
#include "preload/wire/gpu_wire.h"

#define GPUS_MAX  64u
#define USERS_MAX 32u
#define PARTS     64u
#define WORK_MAX  (1u << 20) /* pieces of work that wait to be counted */

struct user {
	uint32_t arena, image, device;
	uint32_t gpu; /* index */
	uint64_t until;
	bool is_last;
};

struct piece {
	uint64_t start, end;
};

struct gpu {
	bool has_uuid;
	uint8_t uuid[16];
	uint32_t pid;     /* the process that used it last */
	uint64_t first;   /* its first work, ns; 0 none */
	uint64_t counted; /* up to here work is in busy[] */
	uint64_t busy_to; /* end of the latest work counted */
	struct piece *piece;
	size_t pieces, cap;
	/* Per trigger: ns of work in each part, and the number of that part. */
	uint64_t busy[TRIGGER_MAX][PARTS], part[TRIGGER_MAX][PARTS];
	uint64_t fired[TRIGGER_MAX]; /* the window that fired last ended then */
};

struct trigger_gpu {
	struct triggers *ts;
	trigger_fire_fn *fire;
	void *to;
	struct user *user;
	size_t users;
	struct gpu *gpu;
	uint32_t gpus;
};

struct trigger_gpu *trigger_gpu_new(struct triggers *ts, trigger_fire_fn *fire, void *to)
{
	struct trigger_gpu *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->ts = ts;
	g->fire = fire;
	g->to = to;
	g->user = calloc(GPUS_MAX * USERS_MAX, sizeof(*g->user));
	g->gpu = calloc(GPUS_MAX, sizeof(*g->gpu));
	if (g->user && g->gpu)
		return g;
	trigger_gpu_free(g);
	return NULL;
}

void trigger_gpu_free(struct trigger_gpu *g)
{
	if (!g)
		return;
	for (uint32_t i = 0; g->gpu && i < g->gpus; i++)
		free(g->gpu[i].piece);
	free(g->gpu);
	free(g->user);
	free(g);
}

/* ---- who uses which ---- */

static uint32_t gpu_of(struct trigger_gpu *g, const uint8_t *uuid)
{
	for (uint32_t i = 0; uuid && i < g->gpus; i++)
		if (g->gpu[i].has_uuid && memcmp(g->gpu[i].uuid, uuid, 16) == 0)
			return i;
	if (g->gpus == GPUS_MAX)
		return GPUS_MAX - 1;
	if (uuid)
		memcpy(g->gpu[g->gpus].uuid, uuid, 16);
	g->gpu[g->gpus].has_uuid = uuid != NULL;
	return g->gpus++;
}

static struct user *user_of(struct trigger_gpu *g, uint32_t arena, uint32_t image, uint32_t device,
			    const uint8_t *uuid)
{
	struct user *u;

	for (size_t i = 0; i < g->users; i++) {
		u = &g->user[i];
		if (u->arena == arena && u->image == image && u->device == device)
			return u;
	}
	if (g->users == GPUS_MAX * USERS_MAX)
		return NULL;
	u = &g->user[g->users++];
	*u = (struct user){.arena = arena, .image = image, .device = device};
	u->gpu = gpu_of(g, uuid);
	return u;
}

/* ---- the GPU's work ---- */

static void add(struct gpu *gpu, uint64_t start, uint64_t end)
{
	if (!start || end <= start || gpu->pieces == WORK_MAX)
		return;
	if (!grow(&gpu->piece, gpu->pieces, &gpu->cap, sizeof(*gpu->piece)))
		return;
	gpu->piece[gpu->pieces++] = (struct piece){start, end};
	if (!gpu->first || start < gpu->first)
		gpu->first = start;
}

static uint64_t part_ns(const struct trigger *t)
{
	return (uint64_t)t->over_ns / PARTS;
}

/* [start, end), of which nothing was counted before. */
static void count(struct trigger_gpu *g, struct gpu *gpu, uint64_t start, uint64_t end)
{
	for (uint32_t k = 0; k < g->ts->cnt; k++) {
		uint64_t len = part_ns(&g->ts->at[k]), from = start;

		if (g->ts->at[k].kind != TRIGGER_GPU_IDLE)
			continue;
		/* Longer than the window: only its end matters. */
		if (end - from > len * PARTS)
			from = end - len * PARTS;
		while (from < end) {
			uint64_t part = from / len, next = (part + 1) * len;
			uint64_t to = next < end ? next : end;
			uint32_t i = (uint32_t)(part % PARTS);

			if (gpu->part[k][i] != part) {
				gpu->part[k][i] = part;
				gpu->busy[k][i] = 0;
			}
			gpu->busy[k][i] += to - from;
			from = to;
		}
	}
}

static int by_start(const void *a, const void *b)
{
	uint64_t x = ((const struct piece *)a)->start, y = ((const struct piece *)b)->start;

	return x < y ? -1 : x > y;
}

/* Counts work before @until; work that reaches beyond is cut, and its rest stays. */
static void count_until(struct trigger_gpu *g, struct gpu *gpu, uint64_t until)
{
	size_t left = 0;

	if (gpu->pieces)
		qsort(gpu->piece, gpu->pieces, sizeof(*gpu->piece), by_start);
	for (size_t i = 0; i < gpu->pieces; i++) {
		struct piece p = gpu->piece[i];
		uint64_t end = p.end < until ? p.end : until;

		if (p.start < gpu->busy_to)
			p.start = gpu->busy_to;
		if (p.start < end) {
			count(g, gpu, p.start, end);
			gpu->busy_to = end;
		}
		if (p.end > until)
			gpu->piece[left++] =
				(struct piece){p.start > until ? p.start : until, p.end};
	}
	gpu->pieces = left;
	gpu->counted = until;
}

/* The share of the window that ends with the last whole part before @until. */
static void judge(struct trigger_gpu *g, struct gpu *gpu, uint32_t k, uint64_t until)
{
	struct trigger *t = &g->ts->at[k];
	uint64_t len = part_ns(t), last = until / len, busy = 0;
	char why[400], over[32];
	double idle;

	if (!gpu->first || last < PARTS || (last - PARTS) * len < gpu->first ||
	    until < gpu->fired[k] + (uint64_t)t->over_ns)
		return;
	for (uint64_t part = last - PARTS; part < last; part++)
		if (gpu->part[k][part % PARTS] == part)
			busy += gpu->busy[k][part % PARTS];
	idle = 1 - (double)busy / (double)(len * PARTS);
	if (idle <= t->idle)
		return;
	gpu->fired[k] = until;
	snprintf(why, sizeof(why), "trigger '%s': GPU %u was idle for %.1f %% of %s (process %u)",
		 t->text, (uint32_t)(gpu - g->gpu), idle * 100,
		 trigger_time(t->over_ns, over, sizeof(over)), gpu->pid);
	g->fire(g->to, why, 0);
}

static void on_flushed(struct trigger_gpu *g, uint32_t arena, uint32_t image,
		       const struct sl_gpu_flushed *f)
{
	bool touched[GPUS_MAX] = {false};

	for (size_t i = 0; i < g->users; i++) {
		struct user *u = &g->user[i];

		if (u->arena != arena || u->image != image)
			continue;
		u->until = f->until;
		u->is_last = f->is_last != 0;
		touched[u->gpu] = true;
	}
	for (uint32_t n = 0; n < g->gpus; n++) {
		uint64_t until = UINT64_MAX;

		for (size_t i = 0; touched[n] && i < g->users; i++)
			if (g->user[i].gpu == n && !g->user[i].is_last && g->user[i].until < until)
				until = g->user[i].until;
		if (until == UINT64_MAX || until <= g->gpu[n].counted)
			continue;
		count_until(g, &g->gpu[n], until);
		for (uint32_t k = 0; k < g->ts->cnt; k++)
			if (g->ts->at[k].kind == TRIGGER_GPU_IDLE)
				judge(g, &g->gpu[n], k, until);
	}
	/* A process that has delivered its last records is not waited for. */
	for (size_t i = 0; i < g->users;)
		if (g->user[i].is_last)
			g->user[i] = g->user[--g->users];
		else
			i++;
}

void trigger_gpu_record(struct trigger_gpu *g, uint32_t arena, uint32_t image, uint32_t pid,
			const struct call *c)
{
	union {
		struct sl_gpu_kernel kernel;
		struct sl_gpu_memcpy memcpy;
		struct sl_gpu_memset memset;
		struct sl_gpu_graph graph;
		struct sl_gpu_device device;
		struct sl_gpu_flushed flushed;
	} r;
	size_t size = gpu_work_size(c->hook);
	uint64_t start = 0, end = 0;
	uint32_t device = 0;
	struct user *u;

	if (!size || size > sizeof(r) || c->data.words * 8 < size)
		return;
	memcpy(&r, c->data.payload, size);
	switch (c->hook) {
	case SL_GPU_REC_KERNEL:
		start = r.kernel.start, end = r.kernel.end, device = r.kernel.device;
		break;
	case SL_GPU_REC_MEMCPY:
		start = r.memcpy.start, end = r.memcpy.end, device = r.memcpy.device;
		break;
	case SL_GPU_REC_MEMSET:
		start = r.memset.start, end = r.memset.end, device = r.memset.device;
		break;
	case SL_GPU_REC_GRAPH:
		start = r.graph.start, end = r.graph.end, device = r.graph.device;
		break;
	case SL_GPU_REC_DEVICE:
		user_of(g, arena, image, r.device.id, r.device.uuid);
		return;
	case SL_GPU_REC_FLUSHED:
		on_flushed(g, arena, image, &r.flushed);
		return;
	default:
		return;
	}
	u = user_of(g, arena, image, device, NULL);
	if (!u)
		return;
	g->gpu[u->gpu].pid = pid;
	add(&g->gpu[u->gpu], start, end);
}
