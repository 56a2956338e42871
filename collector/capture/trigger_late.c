/*
 * trigger_late.c - keeps the last steps of each process until its GPU's records have come that far, and writes them.
 *
 * A kernel of NCCL is known by its name here, which only decides when a report is written; where the name is another one, waiting
 * counts as a rank's own time, ranks look equal, and no trigger fires.
 */
#include "collector/capture/trigger_late.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/decode/gpu/gpu.h"
#include "preload/wire/gpu_wire.h"
#include "collector/model/strings.h"

#define PROCESSES 64u
#define STEPS     512u   /* of a process, that wait for records of its GPU */
#define PIECES    16384u /* kernels of NCCL that are remembered */
#define PATIENCE \
	60000000000ll /* ns; a step whose records do not come is not compared: without them it would look long */
#define NAME_MAX_ 64u

struct piece {
	uint64_t start, end; /* CLOCK_MONOTONIC ns */
};

struct step {
	uint32_t number;
	int64_t start, end; /* likewise */
};

/* A process image and the thread that makes its steps, the first that made one. */
struct process {
	uint32_t arena, image, pid;
	uint32_t tid; /* 0: none yet */
	char rank[16];
	bool has_gpu;
	uint64_t until; /* everything that the GPU did before is known */
	uint32_t steps; /* so far */
	struct step waiting[STEPS];
	uint32_t first, cnt; /* of waiting */
	struct piece *pieces;
	uint32_t next_piece;
};

struct trigger_late {
	int fd;
	struct process *list[PROCESSES];
	uint32_t cnt;
};

struct trigger_late *trigger_late_new(void)
{
	struct trigger_late *l = calloc(1, sizeof(*l));

	if (l)
		l->fd = -1;
	return l;
}

void trigger_late_to(struct trigger_late *l, int fd)
{
	l->fd = fd;
}

void trigger_late_free(struct trigger_late *l)
{
	for (uint32_t i = 0; l && i < l->cnt; i++) {
		free(l->list[i]->pieces);
		free(l->list[i]);
	}
	free(l);
}

/* The oldest is forgotten where there are too many: most have ended. */
static struct process *process_of(struct trigger_late *l, const struct arena *a,
				  const struct thread *t)
{
	struct process *p;

	for (uint32_t i = 0; i < l->cnt; i++)
		if (l->list[i]->arena == a->id && l->list[i]->image == t->image->number)
			return l->list[i];
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	if (l->cnt == PROCESSES) {
		free(l->list[0]->pieces);
		free(l->list[0]);
		l->cnt--;
		for (uint32_t i = 0; i < l->cnt; i++)
			l->list[i] = l->list[i + 1];
	}
	p->arena = a->id;
	p->image = t->image->number;
	p->pid = t->image->proc->pid;
	return l->list[l->cnt++] = p;
}

void trigger_late_step(struct trigger_late *l, const struct arenas *as, const struct arena *a,
		       const struct thread *t, uint64_t start, uint64_t ticks)
{
	struct process *p = process_of(l, a, t);
	struct step *s;

	if (!p || (p->tid && p->tid != (uint32_t)t->id.tid))
		return;
	p->tid = (uint32_t)t->id.tid;
	p->steps++;
	if (p->cnt == STEPS) {
		p->first++;
		p->cnt--;
	}
	s = &p->waiting[(p->first + p->cnt++) % STEPS];
	s->number = p->steps;
	s->start = clock_map_ns(as->clock, start) + as->clock->zero;
	s->end = clock_map_ns(as->clock, start + ticks) + as->clock->zero;
}

void trigger_late_rank(struct trigger_late *l, const struct arena *a, const struct thread *t,
		       const char *bytes, size_t len)
{
	static const char *const names[] = {
		"RANK=", "OMPI_COMM_WORLD_RANK=", "PMIX_RANK=", "PMI_RANK=", "SLURM_PROCID="};
	struct process *p = process_of(l, a, t);
	size_t best = sizeof(names) / sizeof(names[0]);

	for (const char *at = bytes; p && at < bytes + len;) {
		size_t rest = (size_t)(bytes + len - at), one = strnlen(at, rest);

		for (size_t i = 0; i < best; i++) {
			size_t name = strlen(names[i]);

			if (one <= name || one - name >= sizeof(p->rank) ||
			    memcmp(at, names[i], name) != 0 ||
			    strspn(at + name, "0123456789") < one - name)
				continue;
			memcpy(p->rank, at + name, one - name);
			p->rank[one - name] = 0;
			best = i;
		}
		at += one + 1;
	}
}

static bool is_nccl(struct arena *a, uint32_t name)
{
	const char *text = string_find(a, name);

	return text && (strstr(text, "ncclDevKernel") || strstr(text, "ncclKernel"));
}

void trigger_late_gpu(struct trigger_late *l, struct arena *a, const struct thread *t,
		      const struct call *c)
{
	struct process *p = process_of(l, a, t);
	size_t size = gpu_work_size(c->hook);

	if (!p || !size || c->data.words * 8 < size)
		return;
	p->has_gpu = true;
	if (c->hook == SL_GPU_REC_FLUSHED) {
		struct sl_gpu_flushed f;

		memcpy(&f, c->data.payload, sizeof(f));
		p->until = f.is_last ? UINT64_MAX : f.until;
	} else if (c->hook == SL_GPU_REC_KERNEL) {
		struct sl_gpu_kernel k;

		memcpy(&k, c->data.payload, sizeof(k));
		if (!k.start || k.end <= k.start || !is_nccl(a, k.name))
			return;
		if (!p->pieces)
			p->pieces = calloc(PIECES, sizeof(*p->pieces));
		if (p->pieces)
			p->pieces[p->next_piece++ % PIECES] = (struct piece){k.start, k.end};
	}
}

static int by_start(const void *a, const void *b)
{
	uint64_t x = ((const struct piece *)a)->start, y = ((const struct piece *)b)->start;

	return x < y ? -1 : x > y;
}

/* Time in which kernels of NCCL ran; where several did, once. */
static int64_t in_kernels(const struct process *p, const struct step *s)
{
	static struct piece in[PIECES];
	uint64_t from = (uint64_t)s->start, to = (uint64_t)s->end, ns = 0;
	size_t cnt = 0;

	for (uint32_t i = 0; p->pieces && i < PIECES; i++)
		if (p->pieces[i].end > from && p->pieces[i].start < to && p->pieces[i].start)
			in[cnt++] = p->pieces[i];
	qsort(in, cnt, sizeof(*in), by_start);
	for (size_t i = 0; i < cnt; i++) {
		uint64_t begin = in[i].start > from ? in[i].start : from;
		uint64_t end = in[i].end < to ? in[i].end : to;

		if (end > begin) {
			ns += end - begin;
			from = end;
		}
	}
	return (int64_t)ns;
}

/* The kernels of the step have not been forgotten. */
static bool has_kernels(const struct process *p, const struct step *s)
{
	return p->next_piece < PIECES ||
	       p->pieces[p->next_piece % PIECES].end <= (uint64_t)s->start;
}

static void put(const struct trigger_late *l, const struct process *p, const struct step *s)
{
	char line[128], name[NAME_MAX_];
	int64_t own = s->end - s->start - in_kernels(p, s);
	int len;

	if (p->rank[0])
		snprintf(name, sizeof(name), "rank %s", p->rank);
	else
		snprintf(name, sizeof(name), "process %u", p->pid);
	len = snprintf(line, sizeof(line), "%s\t%u\t%lld\n", name, s->number,
		       (long long)(own > 0 ? own : 0));
	/* A step that does not fit into the pipe is left out: the numbers of steps show the gap. */
	if (l->fd >= 0 && write(l->fd, line, (size_t)len) != len)
		return;
}

void trigger_late_round(struct trigger_late *l, int64_t now)
{
	for (uint32_t i = 0; i < l->cnt; i++) {
		struct process *p = l->list[i];

		for (; p->cnt; p->first++, p->cnt--) {
			const struct step *s = &p->waiting[p->first % STEPS];

			bool is_known = !p->has_gpu || p->until >= (uint64_t)s->end;

			if (!is_known && now - s->end < PATIENCE)
				break;
			/* Programs warm up in the first one. */
			if (is_known && s->number > 1 && has_kernels(p, s))
				put(l, p, s);
		}
	}
}
