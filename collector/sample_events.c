/* sample_events.c - see sample_events.h. */
#include "collector/sample_events.h"

#include <dirent.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collector/limits.h"
#include "collector/sample_unwind.h"
#include "collector/sched_internal.h"

#define RINGS_LEAST  ((size_t)64 << 20) /* of all CPUs together; more where there is much memory */
#define RINGS_MOST   ((size_t)512 << 20)
#define RINGS_PART   128u                /* of the machine's memory */
#define RING_MOST    ((size_t)16 << 20)  /* of each CPU; unprivileged users get less */
#define RING_QUIET   ((size_t)256 << 10) /* of each where no samples are taken */
#define RING_LEAST   ((size_t)4 << 12)
#define STACK_COMMON 16384u /* bytes that nearly all stacks fit into */
#define DEEP_LEAST   64u    /* so many samples with more than that fit, or they bring less along */
#define STACKS_LEAST 16u    /* the same of those with less */
#define RECORD_MOST  65536u
#define FORMAT_LOST  (1u << 4) /* PERF_FORMAT_LOST, Linux 6.0 */
#define AGAIN_NS     2000000u  /* so long a process may take to start another */
#define SAMPLE_TYPE                                                                               \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_CPU | \
	 PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)

struct lost_record {
	struct perf_event_header header;
	uint64_t id, lost;
};

struct ring {
	struct perf_event_mmap_page *page; /* NULL: CPU without events */
	int fd;
	uint64_t head, tail;
	uint64_t next_ns; /* of its first record; UINT64_MAX: none */
};

struct event {
	uint64_t id; /* the kernel counts up */
	uint32_t tid;
	int fd;
	bool has_samples; /* else it only tells what processes do */
};

struct sample_events {
	struct sample_ask ask;
	int program; /* -1: none */
	bool has_kernel;
	bool counts_lost; /* the kernel has counters of that */
	bool is_paused;
	uint64_t again_ns; /* when pausing or going on is to be said once more; 0: not */
	struct ring *rings;
	struct ring *given; /* whose record was given last */
	unsigned cpu_cnt;
	size_t ring_bytes;
	struct event *events;
	size_t event_cnt, event_cap;
	uint8_t *own; /* a bit per thread that has an event of its own */
	uint64_t lost;
	char *scratch; /* a record that wraps around the ring's end */
};

/* Only what processes do: that goes on while samples pause. */
static void make_teller(struct perf_event_attr *attr)
{
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = PERF_COUNT_SW_DUMMY;
	attr->freq = 0;
	attr->sample_period = 0;
	attr->sample_type &=
		~(uint64_t)(PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
	attr->sample_regs_user = 0;
	attr->sample_stack_user = 0;
}

/* It pauses, and another one tells what processes do. */
static void make_pausing(struct perf_event_attr *attr, bool is_paused)
{
	attr->task = attr->comm = attr->comm_exec = attr->mmap = attr->mmap2 = 0;
	if (!is_paused)
		return;
	attr->disabled = 1;
	attr->enable_on_exec = 0;
}

static int event_open(const struct sample_events *es, pid_t tid, int cpu, bool at_exec,
		      bool has_samples)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = (uint64_t)es->ask.frequency,
		.sample_type = SAMPLE_TYPE,
		.sample_regs_user = SAMPLE_REGS,
		.sample_stack_user = es->ask.stack_bytes,
		.read_format = es->counts_lost ? FORMAT_LOST : 0,
		.sample_id_all = 1,
		.inherit = tid != -1,
		.disabled = at_exec,
		.enable_on_exec = at_exec,
		.task = 1,
		.comm = 1,
		.comm_exec = 1,
		.mmap = 1,
		.mmap2 = 1,
		.exclude_kernel = !es->has_kernel,
		.exclude_callchain_kernel = !es->has_kernel,
		.exclude_callchain_user = 1,
		.exclude_hv = 1,
		.exclude_idle = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = (uint32_t)(es->ring_bytes / 4),
	};
	long fd;

	if (es->ask.period) {
		attr.type = es->ask.period_type;
		attr.config = es->ask.period_config;
		attr.freq = 0;
		attr.sample_period = es->ask.period;
	}
	if (!has_samples || !es->ask.frequency)
		make_teller(&attr);
	else if (es->ask.pauses)
		make_pausing(&attr, es->is_paused);
	fd = syscall(SYS_perf_event_open, &attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : (int)fd;
}

static long setting(const char *path, long otherwise)
{
	FILE *f = fopen(path, "re");
	long value;

	if (!f)
		return otherwise;
	if (fscanf(f, "%ld", &value) != 1)
		value = otherwise;
	fclose(f);
	return value;
}

static void explain(const struct sample_events *es, int err, char *why, size_t why_len)
{
	long rate = setting("/proc/sys/kernel/perf_event_max_sample_rate", 0),
	     level = setting("/proc/sys/kernel/perf_event_paranoid", 2);

	if (!es->ask.frequency)
		snprintf(why, why_len, "no stacks of threads without a CPU: perf_event_open: %s",
			 strerror(-err));
	else if (err == -EINVAL && rate && rate < es->ask.frequency)
		snprintf(why, why_len,
			 "no CPU samples: kernel.perf_event_max_sample_rate is %ld; a lower "
			 "--sampling-frequency, or sysctl, gives them",
			 rate);
	else if ((err == -EACCES || err == -EPERM) && es->ask.scope == SCHED_MODE_SYSTEM)
		snprintf(why, why_len,
			 "no CPU samples: those of the whole system need CAP_PERFMON, or "
			 "kernel.perf_event_paranoid 0 or lower (it is %ld); --sample=process-tree "
			 "needs less",
			 level);
	else if (err == -EACCES || err == -EPERM)
		snprintf(why, why_len,
			 "no CPU samples: perf_event_open is refused "
			 "(kernel.perf_event_paranoid is %ld; 2 or lower, or CAP_PERFMON, allows "
			 "them)",
			 level);
	else
		snprintf(why, why_len, "no CPU samples: perf_event_open: %s", strerror(-err));
}

static int probe_open(const struct sample_events *es)
{
	return event_open(es, es->ask.scope == SCHED_MODE_SYSTEM ? -1 : 0, 0, true, true);
}

/* The largest ring that may be locked; samples bring less along where it is small. */
static void probe_ring(struct sample_events *es, int fd)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (; es->ring_bytes > RING_LEAST; es->ring_bytes /= 2) {
		void *memory = mmap(NULL, page + es->ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
				    fd, 0);

		if (memory != MAP_FAILED)
			munmap(memory, page + es->ring_bytes);
		if (memory != MAP_FAILED || errno != EPERM)
			break;
	}
	while (es->ask.stack_bytes > 1024 &&
	       es->ring_bytes / es->ask.stack_bytes <
		       (es->ask.stack_bytes > STACK_COMMON ? DEEP_LEAST : STACKS_LEAST))
		es->ask.stack_bytes = es->ask.stack_bytes / 16 * 8;
}

/* Does it work here, and with the kernel's part? */
static int probe(struct sample_events *es, char *why, size_t why_len)
{
	int fd;

	es->has_kernel = es->counts_lost = true;
	fd = probe_open(es);
	if (fd == -EINVAL) {
		es->counts_lost = false;
		fd = probe_open(es);
	}
	if (fd == -EACCES || fd == -EPERM) {
		es->has_kernel = false;
		fd = probe_open(es);
		if (fd >= 0)
			snprintf(why, why_len,
				 "CPU samples lack what the kernel does: "
				 "kernel.perf_event_paranoid is %ld (1 or lower, or CAP_PERFMON, "
				 "shows it)",
				 setting("/proc/sys/kernel/perf_event_paranoid", 2));
	}
	if (fd < 0)
		return fd;
	probe_ring(es, fd);
	close(fd);
	return 0;
}

/* Of all rings together; what context switches need is left. */
static size_t may_lock(unsigned cpus)
{
	struct rlimit most;
	size_t free = (size_t)setting("/proc/sys/kernel/perf_event_mlock_kb", 516) * 1024 * cpus;

	if (sched_has_cap(CAP_IPC_LOCK) || getrlimit(RLIMIT_MEMLOCK, &most) ||
	    most.rlim_cur == RLIM_INFINITY)
		return SIZE_MAX;
	return most.rlim_cur > free ? free / 2 + (size_t)most.rlim_cur / 2 : free;
}

static size_t ring_size(unsigned cpus)
{
	size_t bytes = RING_MOST, page = (size_t)sysconf(_SC_PAGESIZE), lock = may_lock(cpus),
	       all = (size_t)sysconf(_SC_PHYS_PAGES) / RINGS_PART * page;

	if (all < RINGS_LEAST)
		all = RINGS_LEAST;
	if (all > RINGS_MOST)
		all = RINGS_MOST;
	while (bytes > RING_LEAST && (bytes * cpus > all || (bytes + page) * cpus > lock))
		bytes /= 2;
	return bytes;
}

/* ---- following ---- */

static bool has_own(const struct sample_events *es, uint32_t tid)
{
	return tid <= SAMPLE_TID_MOST && es->own[tid / 8] >> (tid % 8) & 1;
}

static uint32_t owner_of(const struct sample_events *es, uint64_t id)
{
	size_t low = 0, high = es->event_cnt;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (es->events[mid].id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low < es->event_cnt && es->events[low].id == id ? es->events[low].tid : 0;
}

bool sample_events_is_double(const struct sample_events *es, uint32_t tid, uint64_t id)
{
	return has_own(es, tid) && owner_of(es, id) != tid;
}

void sample_events_ended(struct sample_events *es, uint32_t tid)
{
	if (tid <= SAMPLE_TID_MOST)
		es->own[tid / 8] &= (uint8_t) ~(1u << tid % 8);
}

/* Maps @fd's ring; takes less when the limit on locked memory says so. */
static int ring_map(struct sample_events *es, struct ring *r, int fd)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *memory;

	for (;; es->ring_bytes /= 2) {
		memory = mmap(NULL, page + es->ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			      0);
		if (memory != MAP_FAILED)
			break;
		/* Rings have one size: only the first may shrink it. */
		if (errno != EPERM || es->event_cnt || es->ring_bytes <= RING_LEAST)
			return -errno;
	}
	r->page = memory;
	r->fd = fd;
	if (es->ask.on_ring)
		es->ask.on_ring(es->ask.ctx, fd);
	return 0;
}

static int event_join(struct sample_events *es, unsigned cpu, uint32_t tid, int fd,
		      bool has_samples)
{
	struct ring *r = &es->rings[cpu];
	struct event *grown, e = {.tid = tid, .fd = fd, .has_samples = has_samples};
	int err = 0;

	if (es->event_cnt == es->event_cap) {
		grown = realloc(es->events, (es->event_cap * 2 + 64) * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		es->events = grown;
		es->event_cap = es->event_cap * 2 + 64;
	}
	if (ioctl(fd, PERF_EVENT_IOC_ID, &e.id))
		return -errno;
	if (!r->page)
		err = ring_map(es, r, fd);
	else if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, r->fd))
		err = -errno;
	/* Whoever inherits the event, has the program with it. */
	if (!err && has_samples && es->program >= 0 &&
	    ioctl(fd, PERF_EVENT_IOC_SET_BPF, es->program))
		err = -errno;
	if (!err)
		es->events[es->event_cnt++] = e;
	return err;
}

static int watch_on(struct sample_events *es, unsigned cpu, uint32_t tid, bool at_exec,
		    bool has_samples)
{
	int err, fd = event_open(es, (pid_t)tid, (int)cpu, at_exec, has_samples);

	if (fd == -EMFILE && limits_raise_descriptors())
		fd = event_open(es, (pid_t)tid, (int)cpu, at_exec, has_samples);
	if (fd < 0)
		return fd;
	err = event_join(es, cpu, tid, fd, has_samples);
	if (err)
		close(fd);
	return err;
}

/* Events for @tid (-1: everybody) on every CPU. 0 also when the thread is gone. */
static int watch(struct sample_events *es, uint32_t tid, bool at_exec)
{
	int err, opened = 0;

	for (unsigned cpu = 0; cpu < es->cpu_cnt; cpu++) {
		err = es->ask.pauses ? watch_on(es, cpu, tid, at_exec, false) : 0;
		if (!err)
			err = watch_on(es, cpu, tid, at_exec, true);
		if (err == -ENODEV) /* CPU is offline */
			continue;
		if (err)
			return err == -ESRCH ? 0 : err;
		opened++;
	}
	return opened ? 0 : -ENODEV;
}

/* One pass over the threads of @pid. Returns how many were new, or -errno. */
static int follow_threads(struct sample_events *es, pid_t pid, bool at_exec)
{
	struct dirent *e;
	char path[32];
	int found = 0, err = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!err && (e = readdir(dir))) {
		uint32_t tid = (uint32_t)strtoul(e->d_name, NULL, 10);

		if (!tid || tid > SAMPLE_TID_MOST || has_own(es, tid))
			continue;
		es->own[tid / 8] |= (uint8_t)(1u << tid % 8);
		found++;
		err = watch(es, tid, at_exec);
	}
	closedir(dir);
	return err ? err : found;
}

int sample_events_follow(struct sample_events *es, pid_t pid, bool at_exec)
{
	int found;

	if (es->ask.scope == SCHED_MODE_SYSTEM)
		return 0;
	do
		found = follow_threads(es, pid, at_exec);
	while (found > 0);
	return found;
}

/* ---- open and close ---- */

struct sample_events *sample_events_open(const struct sample_ask *ask, int program, char *why,
					 size_t why_len)
{
	struct sample_events *es = calloc(1, sizeof(*es));
	int err = -ENOMEM;

	if (!es)
		return NULL;
	es->ask = *ask;
	es->program = program;
	es->is_paused = ask->pauses;
	es->cpu_cnt = sched_cpu_cnt();
	es->ring_bytes = ring_size(es->cpu_cnt);
	if (!ask->frequency && es->ring_bytes > RING_QUIET)
		es->ring_bytes = RING_QUIET;
	es->rings = calloc(es->cpu_cnt, sizeof(*es->rings));
	es->own = calloc(1, SAMPLE_TID_MOST / 8 + 1);
	es->scratch = malloc(RECORD_MOST);
	if (es->rings && es->own && es->scratch)
		err = probe(es, why, why_len);
	if (!err && ask->scope == SCHED_MODE_SYSTEM)
		err = watch(es, (uint32_t)-1, false);
	if (!err)
		return es;
	explain(es, err, why, why_len);
	sample_events_close(es);
	return NULL;
}

/* Those that were inherited do the same. */
static void say_pause(struct sample_events *es)
{
	unsigned long what = es->is_paused ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE;

	for (size_t i = 0; i < es->event_cnt; i++)
		if (es->events[i].has_samples)
			ioctl(es->events[i].fd, what, 0);
}

/* A thread that was just being started may have inherited an event as it was before: so once more, a little later. */
void sample_events_pause(struct sample_events *es, bool pause)
{
	if (!es->ask.pauses || es->is_paused == pause)
		return;
	es->is_paused = pause;
	say_pause(es);
	es->again_ns = sched_now() + AGAIN_NS;
}

static void say_again(struct sample_events *es)
{
	if (!es->again_ns || sched_now() < es->again_ns)
		return;
	es->again_ns = 0;
	say_pause(es);
}

void sample_events_stop(struct sample_events *es)
{
	es->again_ns = 0;
	/* Those that were inherited stop with the one that they are from. */
	for (size_t i = 0; i < es->event_cnt; i++)
		ioctl(es->events[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

void sample_events_close(struct sample_events *es)
{
	if (!es)
		return;
	for (unsigned cpu = 0; es->rings && cpu < es->cpu_cnt; cpu++)
		if (es->rings[cpu].page)
			munmap(es->rings[cpu].page, (size_t)sysconf(_SC_PAGESIZE) + es->ring_bytes);
	for (size_t i = 0; i < es->event_cnt; i++)
		close(es->events[i].fd);
	free(es->events);
	free(es->rings);
	free(es->own);
	free(es->scratch);
	free(es);
}

/* ---- records ---- */

static const struct perf_event_header *record_at(struct sample_events *es, const struct ring *r)
{
	char *data = (char *)r->page + r->page->data_offset;
	size_t at = r->tail & (es->ring_bytes - 1);
	const struct perf_event_header *record = (void *)(data + at);

	if (at + record->size > es->ring_bytes) {
		size_t first = es->ring_bytes - at, size = record->size;

		memcpy(es->scratch, record, first);
		memcpy(es->scratch + first, data, size - first);
		record = (void *)es->scratch;
	}
	return record;
}

static void look_ahead(struct sample_events *es, struct ring *r)
{
	const struct perf_event_header *record;

	r->next_ns = UINT64_MAX;
	if (r->tail == r->head)
		return;
	record = record_at(es, r);
	if (record->type == PERF_RECORD_SAMPLE)
		r->next_ns = ((const struct sample_record *)record)->ns;
	else
		r->next_ns = ((const struct sample_id *)((const char *)record + record->size -
							 sizeof(struct sample_id)))
				     ->ns;
}

void sample_events_look(struct sample_events *es)
{
	say_again(es);
	es->given = NULL;
	for (unsigned cpu = 0; cpu < es->cpu_cnt; cpu++) {
		struct ring *r = &es->rings[cpu];

		r->next_ns = UINT64_MAX;
		if (!r->page)
			continue;
		/* Pairs with the kernel's store of data_head behind a write barrier. */
		r->head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
		look_ahead(es, r);
	}
}

/* Over all CPUs, so that it is known what a process was when a sample was taken. */
const struct perf_event_header *sample_events_next(struct sample_events *es, uint64_t until)
{
	const struct perf_event_header *record;
	struct ring *first = &es->rings[0];

	if (es->given) {
		es->given->tail += record_at(es, es->given)->size;
		look_ahead(es, es->given);
		es->given = NULL;
	}
	for (unsigned cpu = 1; cpu < es->cpu_cnt; cpu++)
		if (es->rings[cpu].next_ns < first->next_ns)
			first = &es->rings[cpu];
	if (first->next_ns == UINT64_MAX || first->next_ns > until)
		return NULL;
	es->given = first;
	record = record_at(es, first);
	if (record->type == PERF_RECORD_LOST)
		es->lost += ((const struct lost_record *)record)->lost;
	return record;
}

void sample_events_done(struct sample_events *es)
{
	for (unsigned cpu = 0; cpu < es->cpu_cnt; cpu++) {
		struct ring *r = &es->rings[cpu];

		/* Pairs with the kernel's load of data_tail: records were read before room is given. */
		if (r->page)
			__atomic_store_n(&r->page->data_tail, r->tail, __ATOMIC_RELEASE);
	}
}

unsigned sample_events_fill(const struct sample_events *es)
{
	uint64_t most = 0;

	for (unsigned cpu = 0; cpu < es->cpu_cnt; cpu++) {
		const struct ring *r = &es->rings[cpu];
		uint64_t fill = 0;

		if (r->page)
			fill = __atomic_load_n(&r->page->data_head, __ATOMIC_RELAXED) - r->tail;
		most = fill > most ? fill : most;
	}
	return (unsigned)(most * 100 / es->ring_bytes);
}

uint64_t sample_events_lost(const struct sample_events *es)
{
	uint64_t counts[2], counted = 0; /* value, lost */

	/* A LOST record needs room in the ring and a later event: the last ones may never come. */
	for (size_t i = 0; es->counts_lost && i < es->event_cnt; i++)
		if (read(es->events[i].fd, counts, sizeof(counts)) == sizeof(counts))
			counted += counts[1];
	return counted > es->lost ? counted : es->lost;
}
