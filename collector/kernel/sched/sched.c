/* sched.c - picks the backend, merges its streams by time. The rows: sched_track.c. */
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/base/now.h"
#include "collector/kernel/perf/perf_rings.h"
#include "collector/kernel/sched/sched_internal.h"

struct sched_tuning sched_tuning;

uint8_t sched_state(uint32_t bits)
{
	if (!bits)
		return SCHED_STATE_RUNNING;
	if (bits & (0x10 | 0x20 | 0x80)) /* EXIT_DEAD, EXIT_ZOMBIE, TASK_DEAD */
		return SCHED_STATE_TERMINATED;
	if (bits & (0x4 | 0x8 | 0x40)) /* stopped, traced, parked */
		return SCHED_STATE_STOPPED;
	/* TASK_IDLE, a kernel thread without work, is 2 with TASK_NOLOAD so as not to count as load */
	if (bits & 0x1 || (bits & 0x402) == 0x402)
		return SCHED_STATE_INTERRUPTIBLE;
	if (bits & (0x2 | 0x1000)) /* 0x1000: waits for a spinlock, PREEMPT_RT */
		return SCHED_STATE_UNINTERRUPTIBLE;
	return SCHED_STATE_UNKNOWN;
}

/* ---- merging ---- */

static void sift_down(unsigned *heap, unsigned cnt, unsigned at, const uint64_t *next_ns)
{
	for (;;) {
		unsigned child = 2 * at + 1, stream = heap[at];

		if (child >= cnt)
			return;
		if (child + 1 < cnt && next_ns[heap[child + 1]] < next_ns[heap[child]])
			child++;
		if (next_ns[stream] <= next_ns[heap[child]])
			return;
		heap[at] = heap[child];
		heap[child] = stream;
		at = child;
	}
}

void sched_merge(struct sched *s, uint64_t *next_ns, unsigned cnt, uint64_t horizon_ns,
		 uint64_t (*take)(struct sched *s, unsigned stream))
{
	unsigned *heap = malloc(cnt * sizeof(*heap));

	if (!heap)
		return; /* the records stay where they are until the next poll */
	for (unsigned i = 0; i < cnt; i++)
		heap[i] = i;
	for (unsigned i = cnt / 2; i-- > 0;)
		sift_down(heap, cnt, i, next_ns);
	while (next_ns[heap[0]] <= horizon_ns && next_ns[heap[0]] != SCHED_DRAINED) {
		if (s->edge.list)
			sched_pass(s, next_ns[heap[0]]);
		next_ns[heap[0]] = take(s, heap[0]);
		sift_down(heap, cnt, 0, next_ns);
	}
	if (s->edge.list)
		sched_pass(s, horizon_ns);
	s->out.told_ns = horizon_ns;
	free(heap);
}

/* ---- the interface ---- */

static struct sched *open_with(const struct sched_driver *driver, const struct sched_ask *ask,
			       char *why, size_t why_len, char *fix, size_t fix_len, int *err)
{
	struct sched *s = calloc(1, sizeof(*s));

	*err = -ENOMEM;
	if (s) {
		s->mode = ask->mode == SCHED_MODE_NONE ? SCHED_MODE_TREE : ask->mode;
		s->no_switches = ask->mode == SCHED_MODE_NONE;
		s->calls.wanted = ask->calls;
		s->calls.threshold_ns = ask->calls_threshold_ns;
		s->driver = driver;
		s->out.limit_ns = UINT64_MAX;
		s->cpu.cnt = perf_cpu_cnt();
		s->cpu.running = calloc(s->cpu.cnt, sizeof(*s->cpu.running));
		s->cpu.moved_ns = calloc(s->cpu.cnt, sizeof(*s->cpu.moved_ns));
	}
	if (!s || !s->cpu.running || !s->cpu.moved_ns) {
		snprintf(why, why_len, "out of memory");
		if (s)
			free(s->cpu.running);
		free(s);
		return NULL;
	}
	*err = driver->open(s, why, why_len, fix, fix_len);
	if (!*err)
		return s;
	sched_close(s);
	return NULL;
}

/* Names the unavailable parts, in one sentence. */
static void explain(const struct sched *s, const struct sched_ask *ask, const char *why_bpf,
		    const char *why_perf, char *why, size_t why_len)
{
	const char *no_calls = ask->calls && !(s && s->calls.has) ? "; no system calls" : "";

	if (s && s->driver->id == SCHED_BACKEND_BPF)
		snprintf(why, why_len, "%s%s", s->calls.why, *s->calls.why ? no_calls : "");
	else if (ask->mode == SCHED_MODE_NONE)
		snprintf(why, why_len, "%s%s", why_bpf, no_calls);
	else if (s)
		snprintf(why, why_len, "%s; context switches come from perf_event_open%s", why_bpf,
			 no_calls);
	else
		snprintf(why, why_len, "%s; %s; no context switches%s", why_bpf, why_perf,
			 no_calls);
}

struct sched *sched_open_for(const struct sched_ask *ask, char *why, size_t why_len)
{
	char why_bpf[256] = "", why_perf[256] = "", fix[640];
	struct sched *s = NULL;
	int err;

	if (why_len)
		*why = 0;
	if ((ask->mode == SCHED_MODE_NONE && !ask->calls && !ask->lives) ||
	    ask->want == SCHED_BACKEND_NONE) {
		snprintf(why, why_len, "context switches are not asked for");
		return NULL;
	}
	if (ask->want == SCHED_BACKEND_BPF)
		s = open_with(&sched_driver_bpf, ask, why_bpf, sizeof(why_bpf), fix, sizeof(fix),
			      &err);
	else
		snprintf(why_bpf, sizeof(why_bpf), "eBPF is not asked for");
	if (!s && ask->mode != SCHED_MODE_NONE)
		s = open_with(&sched_driver_perf, ask, why_perf, sizeof(why_perf), fix, sizeof(fix),
			      &err);
	explain(s, ask, why_bpf, why_perf, why, why_len);
	return s;
}

bool sched_has_calls(const struct sched *s)
{
	return s && s->calls.has;
}

bool sched_maps(const struct sched *s, struct sched_maps *maps)
{
	if (!s || !s->driver->maps)
		return false;
	s->driver->maps(s, maps);
	return true;
}

uint64_t sched_calls_lost(const struct sched *s)
{
	return s->driver->calls_lost ? s->driver->calls_lost(s) : 0;
}

enum sched_backend sched_backend(const struct sched *s)
{
	return s ? s->driver->id : SCHED_BACKEND_NONE;
}

int sched_follow(struct sched *s, pid_t pid)
{
	if (s->mode == SCHED_MODE_SYSTEM && !s->calls.has)
		return 0;
	return s->driver->follow(s, pid);
}

int sched_poll(struct sched *s, const struct sched_ops *ops, void *ctx)
{
	uint64_t horizon;

	s->out.ops = ops;
	s->out.ctx = ctx;
	s->out.handled = 0;
	horizon = s->is_stopped ? SCHED_DRAINED - 1 : (uint64_t)mono_ns() - SCHED_SETTLE_NS;
	s->driver->poll(s, horizon < s->out.limit_ns ? horizon : s->out.limit_ns);
	return s->out.handled;
}

unsigned sched_fill(const struct sched *s)
{
	return s->driver->fill(s);
}

uint64_t sched_lost(const struct sched *s)
{
	uint64_t lost = s->driver->lost(s);

	/* Rows that fill gaps stand for those lost, or, where the kernel lost none, for those it never sent. */
	return (lost > s->missing.mended ? lost : s->missing.mended) + s->missing.dropped;
}

void sched_stop(struct sched *s)
{
	if (!s->is_stopped)
		s->driver->stop(s);
	s->is_stopped = true;
}

void sched_close(struct sched *s)
{
	if (!s)
		return;
	s->driver->close(s);
	for (unsigned i = 0; i < SCHED_KEY_LIMIT / SCHED_CHUNK; i++)
		free(s->threads.chunks[i]);
	sched_edges_free(s);
	free(s->cpu.running);
	free(s->cpu.moved_ns);
	free(s);
}

int sched_probe(enum sched_backend backend, char *why, size_t why_len, char *fix, size_t fix_len)
{
	const struct sched_driver *driver =
		backend == SCHED_BACKEND_BPF ? &sched_driver_bpf : &sched_driver_perf;
	struct sched_ask ask = {.mode = SCHED_MODE_TREE};
	struct sched *s;
	int err;

	if (why_len)
		*why = 0;
	if (fix_len)
		*fix = 0;
	if (backend == SCHED_BACKEND_NONE)
		return 0;
	s = open_with(driver, &ask, why, why_len, fix, fix_len, &err);
	if (s && backend == SCHED_BACKEND_PERF) {
		err = sched_follow(s, getpid());
		if (err)
			snprintf(why, why_len, "perf_event_open: %s", strerror(-err));
	}
	sched_close(s);
	return err;
}
