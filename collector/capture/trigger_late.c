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
	uint64_t began; /* the last of them, ticks */
	struct step waiting[STEPS];
	uint32_t first, cnt; /* of waiting */
	struct piece *pieces;
	uint32_t next_piece;
	struct rank_pace pace;
};

struct trigger_late {
	int fd;
	bool has_steps; /* lines of steps are written */
	int64_t paced;  /* CLOCK_MONOTONIC ns */
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

void trigger_late_to(struct trigger_late *l, int fd, bool has_steps)
{
	l->fd = fd;
	l->has_steps = has_steps;
}

void trigger_late_free(struct trigger_late *l)
{
	for (uint32_t i = 0; l && i < l->cnt; i++) {
		free(l->list[i]->pieces);
		free(l->list[i]);
	}
	free(l);
}

/* Forgets the oldest that makes no steps, or the oldest: most have ended, and workers inherit the variables of ranks. */
static void forget_one(struct trigger_late *l)
{
	uint32_t at = 0;

	while (at < l->cnt && l->list[at]->tid)
		at++;
	at = at < l->cnt ? at : 0;
	free(l->list[at]->pieces);
	free(l->list[at]);
	l->cnt--;
	for (; at < l->cnt; at++)
		l->list[at] = l->list[at + 1];
}

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
	if (l->cnt == PROCESSES)
		forget_one(l);
	p->arena = a->id;
	p->image = t->image->number;
	p->pid = t->image->proc->pid;
	return l->list[l->cnt++] = p;
}

struct rank_pace *trigger_late_pace(struct trigger_late *l, const struct arena *a,
				    const struct thread *t)
{
	for (uint32_t i = 0; i < l->cnt; i++)
		if (l->list[i]->tid == t->id.tid && l->list[i]->arena == a->id &&
		    l->list[i]->image == t->image->number)
			return &l->list[i]->pace;
	return NULL;
}

void trigger_late_step(struct trigger_late *l, const struct arenas *as, const struct arena *a,
		       const struct thread *t, uint64_t start, uint64_t ticks)
{
	struct process *p = process_of(l, a, t);
	struct step *s;

	if (!p || (p->tid && p->tid != (uint32_t)t->id.tid))
		return;
	/* A range that two triggers mean. */
	if (p->tid && p->began == start)
		return;
	p->tid = (uint32_t)t->id.tid;
	p->began = start;
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

/* The value of the first of the variables that is a number, copied. False: there is none. */
static bool find_number(const char *const *names, size_t cnt, const char *bytes, size_t len,
			char *to, size_t room)
{
	size_t best = cnt;

	for (const char *at = bytes; at < bytes + len;) {
		size_t rest = (size_t)(bytes + len - at), one = strnlen(at, rest);

		for (size_t i = 0; i < best; i++) {
			size_t name = strlen(names[i]);

			if (one <= name || one - name >= room || memcmp(at, names[i], name) != 0 ||
			    strspn(at + name, "0123456789") < one - name)
				continue;
			memcpy(to, at + name, one - name);
			to[one - name] = 0;
			best = i;
		}
		at += one + 1;
	}
	return best < cnt;
}

void trigger_late_rank(struct trigger_late *l, const struct arena *a, const struct thread *t,
		       const char *bytes, size_t len)
{
	static const char *const ranks[] = {
		"RANK=", "OMPI_COMM_WORLD_RANK=", "PMIX_RANK=", "PMI_RANK=", "SLURM_PROCID="};
	static const char *const sizes[] = {
		"WORLD_SIZE=", "OMPI_COMM_WORLD_SIZE=", "PMI_SIZE=", "SLURM_NTASKS="};
	struct process *p = process_of(l, a, t);
	char size[10];

	if (!p)
		return;
	find_number(ranks, sizeof(ranks) / sizeof(ranks[0]), bytes, len, p->rank, sizeof(p->rank));
	if (find_number(sizes, sizeof(sizes) / sizeof(sizes[0]), bytes, len, size, sizeof(size)))
		p->pace.sum.size = (uint32_t)strtoul(size, NULL, 10);
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

static void name_of(const struct process *p, char name[NAME_MAX_])
{
	if (p->rank[0])
		snprintf(name, NAME_MAX_, "rank %s", p->rank);
	else
		snprintf(name, NAME_MAX_, "process %u", p->pid);
}

static void put(const struct trigger_late *l, struct process *p, const struct step *s)
{
	int64_t own = s->end - s->start - in_kernels(p, s);
	char line[128], name[NAME_MAX_];
	int len;

	own = own > 0 ? own : 0;
	rank_pace_step(&p->pace, s->end - s->start, own);
	if (l->fd < 0 || !l->has_steps)
		return;
	name_of(p, name);
	len = snprintf(line, sizeof(line), "%s\t%u\t%lld\n", name, s->number, (long long)own);
	/* A step that does not fit into the pipe is left out: the numbers of steps show the gap. */
	if (write(l->fd, line, (size_t)len) != len)
		return;
}

/* Another process of the rank makes its steps, or was there first: workers inherit its variables. */
static bool is_worker(const struct trigger_late *l, const struct process *p)
{
	bool is_first = true;

	if (p->tid)
		return false;
	if (!p->rank[0])
		return true;
	for (uint32_t i = 0; i < l->cnt; i++) {
		const struct process *other = l->list[i];

		is_first = is_first && other != p;
		if (other != p && strcmp(other->rank, p->rank) == 0 && (other->tid || is_first))
			return true;
	}
	return false;
}

static void put_paces(struct trigger_late *l, int64_t now)
{
	for (uint32_t i = 0; i < l->cnt; i++) {
		struct process *p = l->list[i];
		char name[NAME_MAX_], *line = NULL;
		struct job_pace last;
		size_t size;
		FILE *f;

		if (is_worker(l, p) ||
		    !rank_pace_sample(&p->pace, p->pid, p->tid ? p->tid : p->pid, now, &last))
			continue;
		f = open_memstream(&line, &size);
		if (!f)
			return;
		name_of(p, name);
		fputc('@', f);
		job_pace_write(f, name, &last);
		fputc('\n', f);
		/* The next one comes soon. */
		if (fclose(f) == 0 && write(l->fd, line, size) < 0) {
			free(line);
			return;
		}
		free(line);
	}
}

static void take_known(struct trigger_late *l, struct process *p, int64_t now)
{
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

void trigger_late_round(struct trigger_late *l, int64_t now)
{
	for (uint32_t i = 0; i < l->cnt; i++)
		take_known(l, l->list[i], now);
	if (l->fd >= 0 && now - l->paced >= RANK_PACE_NS) {
		l->paced = now;
		put_paces(l, now);
	}
}
