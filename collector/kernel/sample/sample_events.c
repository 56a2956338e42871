/* sample_events.c - opens the events for threads and CPUs, pauses and resumes them. */
#include "collector/kernel/sample/sample_events.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/grow.h"
#include "collector/base/limits.h"
#include "collector/base/now.h"
#include "collector/base/privilege.h"
#include "collector/kernel/perf/perf_rings.h"
#include "collector/kernel/sample/sample_unwind.h"
#include "collector/kernel/sched/sched.h"

#define RING_QUIET   ((size_t)256 << 10) /* of each where no samples are taken */
#define RING_LEAST   ((size_t)4 << 12)
#define STACK_COMMON 16384u /* bytes that nearly all stacks fit into */
#define DEEP_LEAST   64u    /* so many samples with more than that fit, or they bring less along */
#define STACKS_LEAST 16u    /* the same for samples with less of the stack */
#define SECOND_NS    1000000000u
#define AGAIN_NS     2000000u /* so long a process may take to start another */
#define SAMPLE_TYPE                                                                                \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)

enum kind {
	TELLS, /* only lives of processes and mappings */
	SAMPLES,
	FAULTS
};
struct event {
	uint64_t id; /* the kernel counts up */
	uint32_t tid;
	int fd;
	enum kind kind;
	uint64_t throttled; /* since when, CLOCK_MONOTONIC; 0: not */
};
struct throttle_record {
	struct perf_event_header header;
	uint64_t ns, id, stream;
};

struct sample_events {
	struct sample_ask ask;
	struct sample_program program;
	bool of_cpus;
	bool has_kernel;
	bool counts_lost; /* the kernel has counters of that */
	bool is_paused;
	uint64_t again_ns; /* when pausing or resuming is to be repeated; 0: not */
	struct perf_rings rings;
	uint64_t *next_ns; /* of each ring's first record; UINT64_MAX: none */
	int given;         /* the ring whose record was given last; -1: none */
	struct event *events;
	size_t event_cnt, event_cap;
	uint8_t *own; /* a bit per thread that has an event of its own */
	struct {
		uint64_t records;                 /* by LOST records */
		uint64_t missed;                  /* as sample_events_losses */
		uint64_t throttles, throttled_ns; /* how often, how long */
	} lost;
};

/* An event that reports only lives of processes and mappings; it goes on while samples pause. */
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

static void no_teller(struct perf_event_attr *attr)
{
	attr->task = attr->comm = attr->comm_exec = 0;
	attr->mmap = attr->mmap2 = attr->mmap_data = 0;
}

/* An event for page faults that must read the page first; other events report processes. */
static void make_faults(struct perf_event_attr *attr)
{
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = PERF_COUNT_SW_PAGE_FAULTS_MAJ;
	if (attr->sample_stack_user > STACK_COMMON)
		attr->sample_stack_user = STACK_COMMON;
	attr->freq = 0;
	attr->sample_period = 1;
	no_teller(attr);
}

/* An event that may pause; another event reports lives of processes. */
static void make_pausing(struct perf_event_attr *attr, bool is_paused)
{
	no_teller(attr);
	if (!is_paused)
		return;
	attr->disabled = 1;
	attr->enable_on_exec = 0;
}

static int event_open(const struct sample_events *es, pid_t tid, int cpu, bool at_exec,
		      enum kind kind)
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
		.read_format = es->counts_lost ? PERF_RINGS_FORMAT_LOST : 0,
		.sample_id_all = 1,
		.inherit = tid != -1,
		.disabled = at_exec || es->of_cpus,
		.enable_on_exec = at_exec,
		.task = 1,
		.comm = 1,
		.comm_exec = 1,
		.mmap = 1,
		.mmap2 = 1,
		.mmap_data = es->of_cpus && es->ask.frequency, /* of page faults */
		.exclude_kernel = !es->has_kernel,
		.exclude_callchain_kernel = !es->has_kernel,
		.exclude_callchain_user = 1,
		.exclude_hv = 1,
		.exclude_idle = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = es->ask.python != SAMPLE_PYTHON_OUTSIDE,
	};

	if (attr.watermark)
		attr.wakeup_watermark = (uint32_t)(es->rings.bytes / 4);
	else
		attr.wakeup_events = 1;
	if (es->ask.period) {
		attr.type = es->ask.period_type;
		attr.config = es->ask.period_config;
		attr.freq = 0;
		attr.sample_period = es->ask.period;
	}
	if (kind == TELLS || !es->ask.frequency)
		make_teller(&attr);
	else if (kind == FAULTS)
		make_faults(&attr);
	else if (es->ask.pauses)
		make_pausing(&attr, es->is_paused);
	return perf_rings_event(&attr, tid, cpu);
}

static void explain(const struct sample_events *es, int err, char *why, size_t why_len)
{
	long rate = perf_rings_setting("perf_event_max_sample_rate", 0),
	     level = perf_rings_setting("perf_event_paranoid", 2);

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
	return event_open(es, es->of_cpus ? -1 : 0, 0, true, SAMPLES);
}

/* The largest ring that may be locked; samples bring less along where it is small. */
static void probe_ring(struct sample_events *es, int fd)
{
	struct perf_rings *rs = &es->rings;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	bool has_no_limit = privilege_has_on_machine(CAP_IPC_LOCK);

	/* Without a limit there is no need to try: the kernel clears the ring's megabytes each time. */
	for (; rs->bytes > RING_LEAST && !has_no_limit; rs->bytes /= 2) {
		void *memory =
			mmap(NULL, page + rs->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		if (memory != MAP_FAILED)
			munmap(memory, page + rs->bytes);
		if (memory != MAP_FAILED || errno != EPERM)
			break;
	}
	while (es->ask.stack_bytes > 1024 &&
	       rs->bytes / es->ask.stack_bytes <
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
				 perf_rings_setting("perf_event_paranoid", 2));
	}
	if (fd < 0)
		return fd;
	probe_ring(es, fd);
	close(fd);
	return 0;
}

/* ---- following ---- */

static bool has_own(const struct sample_events *es, uint32_t tid)
{
	return tid <= SAMPLE_TID_MOST && es->own[tid / 8] >> (tid % 8) & 1;
}

static struct event *event_of(const struct sample_events *es, uint64_t id)
{
	size_t low = 0, high = es->event_cnt;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (es->events[mid].id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low < es->event_cnt && es->events[low].id == id ? &es->events[low] : NULL;
}

bool sample_events_is_fault(const struct sample_events *es, uint64_t id)
{
	const struct event *e = event_of(es, id);

	/*
	 * The kernel prepares one sample for all software events of a fault (Linux 6.1 and later): it has the id of the first
	 * event, which may be one of another program. Samples of clocks and counters are prepared one by one.
	 */
	return es->of_cpus && (!e || e->kind == FAULTS);
}

bool sample_events_is_double(const struct sample_events *es, uint32_t tid, uint64_t id)
{
	const struct event *e = has_own(es, tid) ? event_of(es, id) : NULL;

	return has_own(es, tid) && (!e || e->tid != tid);
}

void sample_events_ended(struct sample_events *es, uint32_t tid)
{
	if (tid <= SAMPLE_TID_MOST)
		es->own[tid / 8] &= (uint8_t) ~(1u << tid % 8);
}

static int event_join(struct sample_events *es, unsigned cpu, uint32_t tid, int fd, enum kind kind)
{
	struct event e = {.tid = tid, .fd = fd, .kind = kind};
	int err;

	if (!grow(&es->events, es->event_cnt, &es->event_cap, sizeof(*es->events)))
		return -ENOMEM;
	if (ioctl(fd, PERF_EVENT_IOC_ID, &e.id))
		return -errno;
	err = perf_rings_join(&es->rings, cpu, fd);
	if (err > 0) {
		if (es->ask.on_ring)
			es->ask.on_ring(es->ask.ctx, fd);
		err = 0;
	}
	/* A thread that inherits the event has the program with it. */
	if (!err && kind != TELLS && es->program.fd >= 0 &&
	    ioctl(fd, PERF_EVENT_IOC_SET_BPF, es->program.fd))
		err = -errno;
	if (!err)
		es->events[es->event_cnt++] = e;
	return err;
}

static int watch_on(struct sample_events *es, unsigned cpu, uint32_t tid, bool at_exec,
		    enum kind kind)
{
	int err, fd = event_open(es, (pid_t)tid, (int)cpu, at_exec, kind);

	if (fd == -EMFILE && limits_raise_descriptors())
		fd = event_open(es, (pid_t)tid, (int)cpu, at_exec, kind);
	if (fd < 0)
		return fd;
	err = event_join(es, cpu, tid, fd, kind);
	/* Not before eBPF drops samples outside of the tree. */
	if (!err && es->of_cpus && !(kind != TELLS && es->is_paused) &&
	    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		err = -errno;
	if (err)
		close(fd);
	return err;
}

/* Events for @tid (-1: everybody) on every CPU. 0 also when the thread is gone. */
static int watch(struct sample_events *es, uint32_t tid, bool at_exec)
{
	int err, opened = 0;

	for (unsigned cpu = 0; cpu < es->rings.cpus; cpu++) {
		err = es->ask.pauses ? watch_on(es, cpu, tid, at_exec, TELLS) : 0;
		if (!err)
			err = watch_on(es, cpu, tid, at_exec, SAMPLES);
		if (!err && es->of_cpus && es->ask.frequency)
			err = watch_on(es, cpu, tid, at_exec, FAULTS);
		if (err == -ENODEV) /* CPU is offline */
			continue;
		if (err)
			return err == -ESRCH ? 0 : err;
		opened++;
	}
	return opened ? 0 : -ENODEV;
}

struct following {
	struct sample_events *es;
	bool at_exec;
};

static int follow_thread(void *ctx, pid_t pid, uint32_t tid)
{
	struct following *f = ctx;
	int err;

	(void)pid;
	if (tid > SAMPLE_TID_MOST || has_own(f->es, tid))
		return 0;
	f->es->own[tid / 8] |= (uint8_t)(1u << tid % 8);
	err = watch(f->es, tid, f->at_exec);
	return err ? err : 1;
}

int sample_events_follow(struct sample_events *es, pid_t pid, bool at_exec)
{
	struct following f = {es, at_exec};

	return es->of_cpus ? 0 : perf_follow_threads(pid, follow_thread, &f);
}

/* ---- open and close ---- */

bool sample_events_of_cpus(const struct sample_events *es)
{
	return es->of_cpus;
}

static int open_at(struct sample_events *es, bool of_cpus, char *why, size_t why_len)
{
	int err;

	*why = 0;
	es->of_cpus = of_cpus;
	err = probe(es, why, why_len);
	return !err && of_cpus ? watch(es, (uint32_t)-1, false) : err;
}

/*
 * A second of samples with common stacks, and DEEP_LEAST of the largest: the kernel clears and maps each page of a ring before the
 * program starts, for 0.25 ms per MiB. A counter's period does not give samples per second.
 */
static size_t ring_bytes(const struct sample_ask *ask, unsigned cpus)
{
	size_t most = perf_rings_bytes(cpus, RING_LEAST), bytes = RING_QUIET,
	       second = (size_t)ask->frequency * STACK_COMMON;

	if (ask->period)
		return most;
	while (ask->frequency && (bytes < second || bytes < (size_t)DEEP_LEAST * ask->stack_bytes))
		bytes *= 2;
	return bytes < most ? bytes : most;
}

struct sample_events *sample_events_open(const struct sample_ask *ask,
					 struct sample_program program, char *why, size_t why_len)
{
	bool by_tree = ask->scope == SCHED_MODE_TREE && program.is_tree;
	struct sample_events *es = calloc(1, sizeof(*es));
	unsigned cpus = perf_cpu_cnt();
	int err;

	if (!es)
		return NULL;
	es->ask = *ask;
	es->program = program;
	es->is_paused = ask->pauses;
	es->given = -1;
	err = perf_rings_init(&es->rings, cpus, ring_bytes(ask, cpus), RING_LEAST);
	es->next_ns = calloc(cpus, sizeof(*es->next_ns));
	es->own = calloc(1, SAMPLE_TID_MOST / 8 + 1);
	if (!es->next_ns || !es->own)
		err = -ENOMEM;
	if (!err)
		err = open_at(es, by_tree || ask->scope == SCHED_MODE_SYSTEM, why, why_len);
	if (err == -EACCES && by_tree && !es->event_cnt)
		err = open_at(es, false, why, why_len);
	if (!err)
		return es;
	explain(es, err, why, why_len);
	sample_events_close(es);
	return NULL;
}

/* Inherited events do the same. */
static void say_pause(struct sample_events *es)
{
	unsigned long what = es->is_paused ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE;

	for (size_t i = 0; i < es->event_cnt; i++)
		if (es->events[i].kind != TELLS)
			ioctl(es->events[i].fd, what, 0);
}

/* A thread that was just being started may have inherited an event as it was before: so once more, a little later. */
void sample_events_pause(struct sample_events *es, bool pause)
{
	if (!es->ask.pauses || es->is_paused == pause)
		return;
	es->is_paused = pause;
	say_pause(es);
	es->again_ns = (uint64_t)mono_ns() + AGAIN_NS;
}

static void say_again(struct sample_events *es)
{
	if (!es->again_ns || (uint64_t)mono_ns() < es->again_ns)
		return;
	es->again_ns = 0;
	say_pause(es);
}

void sample_events_stop(struct sample_events *es)
{
	es->again_ns = 0;
	/* Inherited events stop with their parent event. */
	for (size_t i = 0; i < es->event_cnt; i++)
		ioctl(es->events[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

void sample_events_close(struct sample_events *es)
{
	if (!es)
		return;
	perf_rings_release(&es->rings);
	for (size_t i = 0; i < es->event_cnt; i++)
		close(es->events[i].fd);
	free(es->events);
	free(es->next_ns);
	free(es->own);
	free(es);
}

/* ---- records ---- */

static void look_ahead(struct sample_events *es, unsigned cpu)
{
	const struct perf_event_header *record = perf_rings_first(&es->rings, cpu);

	es->next_ns[cpu] = UINT64_MAX;
	if (!record)
		return;
	if (record->type == PERF_RECORD_SAMPLE)
		es->next_ns[cpu] = ((const struct sample_record *)record)->ns;
	else
		es->next_ns[cpu] = ((const struct sample_id *)((const char *)record + record->size -
							       sizeof(struct sample_id)))
					   ->ns;
}

void sample_events_look(struct sample_events *es)
{
	say_again(es);
	es->given = -1;
	perf_rings_look(&es->rings);
	for (unsigned cpu = 0; cpu < es->rings.cpus; cpu++)
		look_ahead(es, cpu);
}

/* The kernel takes no more samples of an event in this tick of its clock. */
static void throttle(struct sample_events *es, const struct throttle_record *t)
{
	struct event *e = event_of(es, t->id);

	if (!e)
		return;
	if (t->header.type == PERF_RECORD_THROTTLE)
		es->lost.throttles++;
	else if (e->throttled && t->ns > e->throttled)
		es->lost.throttled_ns += t->ns - e->throttled;
	e->throttled = t->header.type == PERF_RECORD_THROTTLE ? t->ns : 0;
}

/* In order over all CPUs, so that the state of a process at the time of each sample is known. */
const struct perf_event_header *sample_events_next(struct sample_events *es, uint64_t until)
{
	const struct perf_event_header *record;
	unsigned first = 0;

	if (es->given >= 0) {
		perf_rings_take(&es->rings, (unsigned)es->given);
		look_ahead(es, (unsigned)es->given);
		es->given = -1;
	}
	for (unsigned cpu = 1; cpu < es->rings.cpus; cpu++)
		if (es->next_ns[cpu] < es->next_ns[first])
			first = cpu;
	if (es->next_ns[first] == UINT64_MAX || es->next_ns[first] > until)
		return NULL;
	es->given = (int)first;
	record = perf_rings_first(&es->rings, first);
	if (record->type == PERF_RECORD_LOST)
		es->lost.records += ((const struct perf_lost_record *)record)->lost;
	else if (record->type == PERF_RECORD_THROTTLE || record->type == PERF_RECORD_UNTHROTTLE)
		throttle(es, (const void *)record);
	return record;
}

void sample_events_done(struct sample_events *es)
{
	perf_rings_done(&es->rings);
}

unsigned sample_events_fill(const struct sample_events *es)
{
	return perf_rings_fill(&es->rings);
}

/* The kernel counts a sample first, then runs the program: a sample between the two is not missed. */
static void look_for_missed(struct sample_events *es)
{
	uint64_t counted = 0, runs;

	for (size_t i = 0; es->program.fault_runs && i < es->event_cnt; i++)
		if (es->events[i].kind == FAULTS)
			counted += perf_rings_event_cnt(es->events[i].fd);
	if (!counted)
		return;
	runs = __atomic_load_n(es->program.fault_runs, __ATOMIC_ACQUIRE);
	if (counted > runs && counted - runs > es->lost.missed)
		es->lost.missed = counted - runs;
}

struct sample_events_losses sample_events_losses(struct sample_events *es)
{
	struct sample_events_losses l = {.samples = 0};

	/* A LOST record needs room in the ring and a later event: the last ones may never come. */
	for (size_t i = 0; es->counts_lost && i < es->event_cnt; i++) {
		uint64_t lost = perf_rings_event_lost(es->events[i].fd);

		*(es->events[i].kind == FAULTS ? &l.faults : &l.samples) += lost;
	}
	if (l.samples + l.faults < es->lost.records)
		l.samples = es->lost.records - l.faults;
	look_for_missed(es);
	l.missed = es->lost.missed;
	l.throttled = es->ask.period
			      ? es->lost.throttles
			      : es->lost.throttled_ns * (uint64_t)es->ask.frequency / SECOND_NS;
	return l;
}
