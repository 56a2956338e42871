/*
 * sample.c - see sample.h.
 *
 * Events that are inherited can only write into a ring per CPU: so there is one event per thread and CPU, as in
 * sched_perf.c, and the events of a CPU share its ring. A thread that is started while its process is being followed
 * may get two: that of its parent, and its own. A sample knows the event that it is from; who has one of his own
 * counts by that.
 */
#include "collector/sample.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collector/db.h"
#include "collector/model.h"
#include "collector/sample_maps.h"
#include "collector/sched_internal.h"
#include "collector/windows.h"

#define RING_MOST   (1u << 20) /* of each CPU; unprivileged users get less */
#define RING_LEAST  (4u << 12)
#define RECORD_MOST 65536u
#define TID_MOST    (1u << 22)
#define FORMAT_LOST (1u << 4) /* PERF_FORMAT_LOST, Linux 6.0 */
#define SAMPLE_TYPE                                                                               \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_CPU | \
	 PERF_SAMPLE_CALLCHAIN)
#define UNWOUND_BY_FRAME_POINTER 1 /* ENUM_STACK_UNWIND_METHOD */
#define UNWOUND_BY_KERNEL        5

struct sample_record { /* PERF_RECORD_SAMPLE for our sample_type */
	struct perf_event_header header;
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t ns, id;
	uint32_t cpu, reserved;
	uint64_t cnt, chain[];
};
struct record_id { /* at the end of all other records */
	uint32_t pid, tid;
	uint64_t ns, id;
	uint32_t cpu, reserved;
};
struct task_record {
	struct perf_event_header header;
	uint32_t pid, parent_pid, tid, parent_tid;
};
struct comm_record {
	struct perf_event_header header;
	uint32_t pid, tid;
};
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
};

struct sample {
	int64_t frequency;
	bool has_kernel;
	bool counts_lost; /* the kernel has counters of that */
	struct ring *rings;
	unsigned cpu_cnt;
	size_t ring_bytes;
	struct event *events;
	size_t event_cnt, event_cap;
	uint8_t *own; /* a bit per thread that has an event of its own */
	uint64_t lost, rows;
	unsigned depth_most;
	struct sample_maps *maps;
	char *scratch; /* a record that wraps around the ring's end */
};

static int event_open(const struct sample *s, pid_t tid, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = (uint64_t)s->frequency,
		.sample_type = SAMPLE_TYPE,
		.read_format = s->counts_lost ? FORMAT_LOST : 0,
		.sample_id_all = 1,
		.inherit = 1,
		.task = 1,
		.comm = 1,
		.comm_exec = 1,
		.exclude_kernel = !s->has_kernel,
		.exclude_callchain_kernel = !s->has_kernel,
		.exclude_hv = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = INT32_MAX, /* we poll: never wake */
	};
	long fd = syscall(SYS_perf_event_open, &attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

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

static void explain(const struct sample *s, int err, char *why, size_t why_len)
{
	long rate = setting("/proc/sys/kernel/perf_event_max_sample_rate", 0),
	     level = setting("/proc/sys/kernel/perf_event_paranoid", 2);

	if (err == -EINVAL && rate && rate < s->frequency)
		snprintf(why, why_len,
			 "no CPU samples: kernel.perf_event_max_sample_rate is %ld; a lower "
			 "--sampling-frequency, or sysctl, gives them",
			 rate);
	else if (err == -EACCES || err == -EPERM)
		snprintf(why, why_len,
			 "no CPU samples: perf_event_open is refused "
			 "(kernel.perf_event_paranoid is %ld; 2 or lower, or CAP_PERFMON, allows "
			 "them)",
			 level);
	else
		snprintf(why, why_len, "no CPU samples: perf_event_open: %s", strerror(-err));
}

/* Does it work here, and with the kernel's part? */
static int probe(struct sample *s, char *why, size_t why_len)
{
	int fd;

	s->has_kernel = s->counts_lost = true;
	fd = event_open(s, 0, -1);
	if (fd == -EINVAL) {
		s->counts_lost = false;
		fd = event_open(s, 0, -1);
	}
	if (fd == -EACCES || fd == -EPERM) {
		s->has_kernel = false;
		fd = event_open(s, 0, -1);
		if (fd >= 0)
			snprintf(why, why_len,
				 "CPU samples lack what the kernel does: "
				 "kernel.perf_event_paranoid is %ld (1 or lower, or CAP_PERFMON, "
				 "shows it)",
				 setting("/proc/sys/kernel/perf_event_paranoid", 2));
	}
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

struct sample *sample_open(int64_t frequency, char *why, size_t why_len)
{
	struct sample *s = calloc(1, sizeof(*s));
	int err = -ENOMEM;

	*why = 0;
	if (!s)
		return NULL;
	s->frequency = frequency;
	s->cpu_cnt = sched_cpu_cnt();
	s->ring_bytes = RING_MOST;
	s->depth_most = (unsigned)setting("/proc/sys/kernel/perf_event_max_stack", 127);
	s->rings = calloc(s->cpu_cnt, sizeof(*s->rings));
	s->own = calloc(1, TID_MOST / 8 + 1);
	s->scratch = malloc(RECORD_MOST);
	s->maps = sample_maps_new();
	if (s->rings && s->own && s->scratch && s->maps)
		err = probe(s, why, why_len);
	if (!err)
		return s;
	explain(s, err, why, why_len);
	sample_close(s);
	return NULL;
}

/* ---- following ---- */

static bool has_own(const struct sample *s, uint32_t tid)
{
	return tid <= TID_MOST && s->own[tid / 8] >> (tid % 8) & 1;
}

static uint32_t owner_of(const struct sample *s, uint64_t id)
{
	size_t low = 0, high = s->event_cnt;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (s->events[mid].id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low < s->event_cnt && s->events[low].id == id ? s->events[low].tid : 0;
}

/* Maps @fd's ring; takes less when the limit on locked memory says so. */
static int ring_map(struct sample *s, struct ring *r, int fd)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *memory;

	for (;; s->ring_bytes /= 2) {
		memory =
			mmap(NULL, page + s->ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (memory != MAP_FAILED)
			break;
		/* Rings have one size: only the first may shrink it. */
		if (errno != EPERM || s->event_cnt || s->ring_bytes <= RING_LEAST)
			return -errno;
	}
	r->page = memory;
	r->fd = fd;
	return 0;
}

static int event_join(struct sample *s, unsigned cpu, uint32_t tid, int fd)
{
	struct ring *r = &s->rings[cpu];
	struct event *grown, e = {.tid = tid, .fd = fd};
	int err = 0;

	if (s->event_cnt == s->event_cap) {
		grown = realloc(s->events, (s->event_cap * 2 + 64) * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		s->events = grown;
		s->event_cap = s->event_cap * 2 + 64;
	}
	if (ioctl(fd, PERF_EVENT_IOC_ID, &e.id))
		return -errno;
	if (!r->page)
		err = ring_map(s, r, fd);
	else if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, r->fd))
		err = -errno;
	if (!err)
		s->events[s->event_cnt++] = e;
	return err;
}

static bool raise_nofile(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= limit.rlim_max)
		return false;
	limit.rlim_cur = limit.rlim_max;
	return !setrlimit(RLIMIT_NOFILE, &limit);
}

/* Events for @tid on every CPU. 0 also when the thread is gone. */
static int watch(struct sample *s, uint32_t tid)
{
	int fd, err, opened = 0;

	for (unsigned cpu = 0; cpu < s->cpu_cnt; cpu++) {
		fd = event_open(s, (pid_t)tid, (int)cpu);
		if (fd == -EMFILE && raise_nofile())
			fd = event_open(s, (pid_t)tid, (int)cpu);
		if (fd == -ENODEV) /* CPU is offline */
			continue;
		if (fd == -ESRCH)
			return 0;
		err = fd < 0 ? fd : event_join(s, cpu, tid, fd);
		if (err) {
			if (fd >= 0)
				close(fd);
			return err;
		}
		opened++;
	}
	return opened ? 0 : -ENODEV;
}

/* One pass over the threads of @pid. Returns how many were new, or -errno. */
static int follow_threads(struct sample *s, pid_t pid)
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

		if (!tid || tid > TID_MOST || has_own(s, tid))
			continue;
		s->own[tid / 8] |= (uint8_t)(1u << tid % 8);
		found++;
		err = watch(s, tid);
	}
	closedir(dir);
	return err ? err : found;
}

int sample_follow(struct sample *s, pid_t pid)
{
	int found;

	do
		found = follow_threads(s, pid);
	while (found > 0);
	return found;
}

/* ---- records ---- */

static struct perf_event_header *record_at(struct sample *s, const struct ring *r)
{
	char *data = (char *)r->page + r->page->data_offset;
	size_t at = r->tail & (s->ring_bytes - 1);
	struct perf_event_header *record = (void *)(data + at);

	if (at + record->size > s->ring_bytes) {
		size_t first = s->ring_bytes - at, size = record->size;

		memcpy(s->scratch, record, first);
		memcpy(s->scratch + first, data, size - first);
		record = (void *)s->scratch;
	}
	return record;
}

static void look_ahead(struct sample *s, struct ring *r)
{
	const struct perf_event_header *record;

	r->next_ns = UINT64_MAX;
	if (r->tail == r->head)
		return;
	record = record_at(s, r);
	if (record->type == PERF_RECORD_SAMPLE)
		r->next_ns = ((const struct sample_record *)record)->ns;
	else
		r->next_ns = ((const struct record_id *)((const char *)record + record->size -
							 sizeof(struct record_id)))
				     ->ns;
}

static void write_frame(struct db *db, int64_t id, int64_t depth, const struct sample_frame *f,
			uint64_t ip, int kernel)
{
	int64_t *row = db_row(db, DB_SAMPLING_CALLCHAINS);

	row[CHAIN_ID] = id;
	row[CHAIN_SYMBOL] = f->symbol;
	row[CHAIN_MODULE] = f->module;
	row[CHAIN_KERNEL_MODE] = kernel > 0;
	row[CHAIN_THUMB_CODE] = 0;
	row[CHAIN_UNRESOLVED] = f->is_address;
	row[CHAIN_SPECIAL_ENTRY] = kernel < 0;
	row[CHAIN_ORIGINAL_IP] = (int64_t)ip;
	row[CHAIN_UNWIND_METHOD] = kernel < 0 ? 0
				   : kernel   ? UNWOUND_BY_KERNEL
					      : UNWOUND_BY_FRAME_POINTER;
	row[CHAIN_STACK_DEPTH] = depth;
}

/* Among the addresses are marks that tell whose those behind them are. */
static void write_chain(struct sample *s, struct db *db, const struct sample_record *r, int64_t id)
{
	bool is_kernel =
		(r->header.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
	struct sample_frame f;
	int64_t depth = 0;

	for (uint64_t i = 0; i < r->cnt; i++) {
		if (r->chain[i] >= (uint64_t)PERF_CONTEXT_MAX) {
			is_kernel = r->chain[i] == (uint64_t)PERF_CONTEXT_KERNEL;
			continue;
		}
		f = sample_maps_find(s->maps, db, r->pid, r->chain[i], is_kernel);
		write_frame(db, id, depth++, &f, r->chain[i], is_kernel);
	}
	if (!depth) {
		f = sample_maps_find(s->maps, db, r->pid, r->ip, is_kernel);
		write_frame(db, id, depth++, &f, r->ip, is_kernel);
	}
	if (depth < s->depth_most)
		return;
	f.symbol = f.module = db_string(db, "[Max depth]", strlen("[Max depth]"));
	f.is_address = false;
	write_frame(db, id, depth, &f, 0, -1);
}

struct round {
	struct db *db;
	const struct windows *windows;
	int64_t zero;
	struct sample_rows rows;
};

static void take_sample(struct sample *s, struct round *to, const struct sample_record *r)
{
	int64_t ns = (int64_t)r->ns - to->zero, *row;

	/* 0: outside our PID namespace; ~0: a thread that is being reaped */
	if (!r->tid || r->tid > TID_MOST || !windows_have_ns(to->windows, to->zero, ns))
		return;
	if (has_own(s, r->tid) && owner_of(s, r->id) != r->tid)
		return;
	row = db_row(to->db, DB_COMPOSITE_EVENTS);
	row[SAMPLE_ID] = (int64_t)++s->rows;
	row[SAMPLE_START] = ns;
	row[SAMPLE_CPU] = r->cpu;
	row[SAMPLE_THREAD_STATE] = SCHED_STATE_RUNNING;
	row[SAMPLE_GLOBAL_TID] = GLOBAL_TID(r->pid, r->tid);
	row[SAMPLE_CPU_CYCLES] = 1;
	row[SAMPLE_STACK_ID] = DB_NULL;
	write_chain(s, to->db, r, (int64_t)s->rows);
	if (!to->rows.cnt++)
		to->rows.first = ns;
	to->rows.last = ns;
}

/* A number that is free again may come back with another thread. */
static void take_exit(struct sample *s, const struct task_record *t)
{
	if (t->tid > TID_MOST)
		return;
	s->own[t->tid / 8] &= (uint8_t) ~(1u << t->tid % 8);
	if (t->pid == t->tid)
		sample_maps_ended(s->maps, t->pid);
}

static void take(struct sample *s, struct round *to, struct ring *r)
{
	const struct perf_event_header *record = record_at(s, r);
	const struct task_record *task = (const void *)record;
	uint64_t size = record->size;

	switch (record->type) {
	case PERF_RECORD_SAMPLE:
		take_sample(s, to, (const void *)record);
		break;
	case PERF_RECORD_FORK:
		if (task->pid != task->parent_pid)
			sample_maps_forked(s->maps, task->pid, task->parent_pid);
		break;
	case PERF_RECORD_EXIT:
		take_exit(s, task);
		break;
	case PERF_RECORD_COMM:
		if (record->misc & PERF_RECORD_MISC_COMM_EXEC)
			sample_maps_execed(s->maps, ((const struct comm_record *)record)->pid);
		break;
	case PERF_RECORD_LOST:
		s->lost += ((const struct lost_record *)record)->lost;
		break;
	default:
		break;
	}
	r->tail += size;
	look_ahead(s, r);
}

/* In the order of time over all CPUs, so that it is known what a process was when a sample was taken. */
struct sample_rows sample_poll(struct sample *s, struct db *db, const struct windows *windows,
			       int64_t zero)
{
	struct round to = {.db = db, .windows = windows, .zero = zero};
	struct ring *first;

	for (unsigned cpu = 0; cpu < s->cpu_cnt; cpu++) {
		struct ring *r = &s->rings[cpu];

		r->next_ns = UINT64_MAX;
		if (!r->page)
			continue;
		/* Pairs with the kernel's store of data_head behind a write barrier. */
		r->head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
		look_ahead(s, r);
	}
	for (;;) {
		first = &s->rings[0];
		for (unsigned cpu = 1; cpu < s->cpu_cnt; cpu++)
			if (s->rings[cpu].next_ns < first->next_ns)
				first = &s->rings[cpu];
		if (first->next_ns == UINT64_MAX)
			break;
		take(s, &to, first);
	}
	for (unsigned cpu = 0; cpu < s->cpu_cnt; cpu++) {
		struct ring *r = &s->rings[cpu];

		/* Pairs with the kernel's load of data_tail: records were read before room is given. */
		if (r->page)
			__atomic_store_n(&r->page->data_tail, r->tail, __ATOMIC_RELEASE);
	}
	return to.rows;
}

unsigned sample_fill(const struct sample *s)
{
	uint64_t most = 0;

	for (unsigned cpu = 0; cpu < s->cpu_cnt; cpu++) {
		const struct ring *r = &s->rings[cpu];
		uint64_t fill = 0;

		if (r->page)
			fill = __atomic_load_n(&r->page->data_head, __ATOMIC_RELAXED) - r->tail;
		most = fill > most ? fill : most;
	}
	return (unsigned)(most * 100 / s->ring_bytes);
}

uint64_t sample_lost(const struct sample *s)
{
	uint64_t counts[2], counted = 0; /* value, lost */

	/* A LOST record needs room in the ring and a later event: the last ones may never come. */
	for (size_t i = 0; s->counts_lost && i < s->event_cnt; i++)
		if (read(s->events[i].fd, counts, sizeof(counts)) == sizeof(counts))
			counted += counts[1];
	return counted > s->lost ? counted : s->lost;
}

void sample_close(struct sample *s)
{
	if (!s)
		return;
	for (unsigned cpu = 0; s->rings && cpu < s->cpu_cnt; cpu++)
		if (s->rings[cpu].page)
			munmap(s->rings[cpu].page, (size_t)sysconf(_SC_PAGESIZE) + s->ring_bytes);
	for (size_t i = 0; i < s->event_cnt; i++)
		close(s->events[i].fd);
	sample_maps_free(s->maps);
	free(s->events);
	free(s->rings);
	free(s->own);
	free(s->scratch);
	free(s);
}
