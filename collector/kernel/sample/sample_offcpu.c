/*
 * sample_offcpu.c - loads bpf/offcpu.bpf.c, reads its ring.
 *
 * The ring is the kernel's BPF ring buffer; it is read here and not by libbpf, so that records can be looked at before
 * they are taken, to be merged with perf's in the order of time.
 */
#include "collector/kernel/sample/sample_offcpu.h"
#include "collector/kernel/perf/perf_rings.h"

#include <stdio.h>

struct sample_offcpu_tuning sample_offcpu_tuning;

#ifdef SL_HAVE_BPF

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "collector/kernel/sample/sample_python.h"
#include "collector/kernel/sched/sched.h"
#include "collector/kernel/sched/sched_load.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wsign-compare"
#include "offcpu.skel.h"
#pragma GCC diagnostic pop

#define LINK_CNT      4
#define RING_LEAST    ((size_t)8 << 20)
#define RING_MOST     ((size_t)64 << 20)
#define RING_PER_CPU  ((size_t)2 << 20)
#define RING_DEATHS   ((size_t)2 << 20) /* of deaths alone */
#define PLACES_DEATHS 64u
#define PLACES_PART   512u /* of the machine's memory */
#define PLACES_MOST   16384u
#define RECORD_HEAD   8u /* that the kernel puts before each */
#define RECORD_BUSY   (1u << 31)
#define BUSY_TRIES    10000 /* a second */
#define RECORD_FORGET (1u << 30)
#define CS_32BIT      0x23u

struct sample_offcpu {
	struct bpf_object *object;
	struct bpf_link *links[LINK_CNT];
	struct offcpu_shared *shared;
	unsigned long *consumer;       /* its place in the ring: the user half writes it */
	const unsigned long *producer; /* the kernel half's */
	const char *data;              /* behind it, twice: no record is in two pieces */
	size_t page, ring_bytes, shared_bytes;
	unsigned long head, tail; /* records up to here are there; have been taken */
	uint64_t threshold_ns;
	bool only_deaths;
	const struct sample_python *python; /* NULL: without its frames */
};

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

static struct bpf_map *map_of(const struct sample_offcpu *so, const char *name)
{
	return bpf_object__find_map_by_name(so->object, name);
}

static struct bpf_program *program_of(const struct sample_offcpu *so, const char *name)
{
	return bpf_object__find_program_by_name(so->object, name);
}

/* ---- loading ---- */

static size_t ring_size(bool only_deaths)
{
	size_t bytes = RING_LEAST, wanted = perf_cpu_cnt() * RING_PER_CPU;

	if (sample_offcpu_tuning.ring_bytes)
		return sample_offcpu_tuning.ring_bytes;
	if (only_deaths)
		return RING_DEATHS;
	while (bytes < wanted && bytes < RING_MOST)
		bytes *= 2;
	return bytes;
}

static size_t record_size(const struct sample_offcpu *so)
{
	return sizeof(struct offcpu_record) - (so->python ? 0 : OFFCPU_PYTHON);
}

/* Threads that can be away at once; each costs memory of the kernel. */
static unsigned place_cnt(const struct sample_offcpu *so)
{
	size_t all = (size_t)sysconf(_SC_PHYS_PAGES) / PLACES_PART * (size_t)sysconf(_SC_PAGESIZE) /
		     record_size(so);

	if (sample_offcpu_tuning.threads)
		return sample_offcpu_tuning.threads;
	if (so->only_deaths)
		return PLACES_DEATHS;
	return all < OFFCPU_THREADS ? OFFCPU_THREADS
	       : all > PLACES_MOST  ? PLACES_MOST
				    : (unsigned)all;
}

static int set_config(struct sample_offcpu *so, const struct sample_ask *ask)
{
	struct offcpu_config config = {
		.threshold_ns = so->threshold_ns,
		.wake_bytes = so->ring_bytes / 4,
		.stack_bytes = OFFCPU_STACK,
		.system_wide = ask->scope == SCHED_MODE_SYSTEM,
		.state_argument = ctxsw_kernel_version() >= 5018,
		.slot_shift = (uint8_t)__builtin_ctz(ask->kernel->slots),
		.rings = ask->kernel->has_switches,
		.python = so->python != NULL,
	};
	struct stat st;
	size_t len;

	if (sample_offcpu_tuning.stack_bytes)
		config.stack_bytes = sample_offcpu_tuning.stack_bytes;
	if (stat("/proc/self/ns/pid", &st))
		return -errno;
	config.ns_dev = st.st_dev;
	config.ns_ino = st.st_ino;
	memcpy((void *)(uintptr_t)bpf_map__initial_value(map_of(so, ".rodata"), &len), &config,
	       sizeof(config));
	return 0;
}

/* Maps of bpf/pywalk.h: those of the samples, or as small as can be. */
static int set_python(struct sample_offcpu *so)
{
	static const char *const names[] = {"processes", "states", "met", "asks"};
	int err = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !err; i++)
		err = so->python ? bpf_map__reuse_fd(map_of(so, names[i]),
						     sample_python_map(so->python, names[i]))
				 : bpf_map__set_max_entries(map_of(so, names[i]),
							    i == 3 ? (uint32_t)so->page : 1);
	return err;
}

static int load(struct sample_offcpu *so, const struct sample_ask *ask)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "offcpu");
	static const char *const of_waits[] = {"on_switch", "on_exec"};
	const void *elf;
	size_t len;
	int err;

	elf = offcpu__elf_bytes(&len);
	so->object = bpf_object__open_mem(elf, len, &opts);
	if (!so->object)
		return -errno;
	err = set_config(so, ask);
	if (so->only_deaths)
		for (size_t i = 0; i < sizeof(of_waits) / sizeof(of_waits[0]); i++)
			bpf_program__set_autoload(program_of(so, of_waits[i]), false);
	bpf_map__set_max_entries(map_of(so, "ring"), (uint32_t)so->ring_bytes);
	bpf_map__set_max_entries(map_of(so, "places"), place_cnt(so));
	bpf_map__set_value_size(map_of(so, "places"), (uint32_t)record_size(so));
	bpf_map__set_value_size(map_of(so, "blank"), (uint32_t)record_size(so));
	if (!err)
		err = set_python(so);
	if (!err)
		err = bpf_map__reuse_fd(map_of(so, "flags"), ask->kernel->flags);
	if (!err)
		err = bpf_map__reuse_fd(map_of(so, "rings"), ask->kernel->rings);
	if (!err)
		err = bpf_map__reuse_fd(map_of(so, "switches"), ask->kernel->switches);
	return err ? err : bpf_object__load(so->object);
}

static void *map_memory(const struct sample_offcpu *so, const char *name, size_t bytes, size_t at,
			int prot)
{
	void *memory =
		mmap(NULL, bytes, prot, MAP_SHARED, bpf_map__fd(map_of(so, name)), (off_t)at);

	return memory == MAP_FAILED ? NULL : memory;
}

/* A page of the reader's, one of the writer's, the data twice. */
static int map_all(struct sample_offcpu *so)
{
	so->shared_bytes = so->page;
	so->shared = map_memory(so, ".bss", so->shared_bytes, 0, PROT_READ | PROT_WRITE);
	so->consumer = map_memory(so, "ring", so->page, 0, PROT_READ | PROT_WRITE);
	so->producer = map_memory(so, "ring", so->page + 2 * so->ring_bytes, so->page, PROT_READ);
	if (!so->shared || !so->consumer || !so->producer)
		return -ENOMEM;
	so->data = (const char *)so->producer + so->page;
	return 0;
}

/* Exit probe first: every slot that a thread takes is given back. */
static int attach(struct sample_offcpu *so)
{
	static const char *const programs[LINK_CNT] = {"on_exit", "on_exec", "on_signal",
						       "on_switch"};

	for (int i = 0; i < LINK_CNT; i++) {
		struct bpf_program *program = program_of(so, programs[i]);

		if (!bpf_program__autoload(program))
			continue;
		so->links[i] = bpf_program__attach(program);
		if (!so->links[i])
			return -errno;
	}
	return 0;
}

static void explain(int err, char *why, size_t why_len)
{
	if (err == -EPERM || err == -EACCES)
		snprintf(why, why_len,
			 "stacks of threads without a CPU need eBPF (root, or CAP_BPF and "
			 "CAP_PERFMON)");
	else
		snprintf(why, why_len,
			 "stacks of threads without a CPU need eBPF of Linux 5.17 or later: %s",
			 strerror(-err));
}

struct sample_offcpu *sample_offcpu_open(const struct sample_ask *ask,
					 const struct sample_python *python, char *why,
					 size_t why_len)
{
	libbpf_print_fn_t print;
	struct sample_offcpu *so;
	int err;

	if (!ask->kernel) {
		explain(-EPERM, why, why_len);
		return NULL;
	}
	so = calloc(1, sizeof(*so));
	if (!so)
		return NULL;
	print = libbpf_set_print(quiet);
	so->page = (size_t)sysconf(_SC_PAGESIZE);
	so->only_deaths = ask->off_cpu_ns < 0;
	so->ring_bytes = ring_size(so->only_deaths);
	so->python = python;
	so->threshold_ns = so->only_deaths ? UINT64_MAX : (uint64_t)ask->off_cpu_ns;
	err = load(so, ask);
	if (!err)
		err = map_all(so);
	if (!err)
		err = attach(so);
	libbpf_set_print(print);
	if (!err) {
		if (ask->on_ring)
			ask->on_ring(ask->ctx, bpf_map__fd(map_of(so, "ring")));
		return so;
	}
	explain(err, why, why_len);
	sample_offcpu_close(so);
	return NULL;
}

void sample_offcpu_stop(struct sample_offcpu *so)
{
	for (int i = 0; i < LINK_CNT; i++) {
		bpf_link__destroy(so->links[i]);
		so->links[i] = NULL;
	}
}

void sample_offcpu_close(struct sample_offcpu *so)
{
	if (!so)
		return;
	sample_offcpu_stop(so);
	if (so->shared)
		munmap(so->shared, so->shared_bytes);
	if (so->consumer)
		munmap(so->consumer, so->page);
	if (so->producer)
		munmap((void *)(uintptr_t)so->producer, so->page + 2 * so->ring_bytes);
	bpf_object__close(so->object);
	free(so);
}

/* ---- records ---- */

void sample_offcpu_look(struct sample_offcpu *so)
{
	/* Pairs with the kernel's store of the producer's place: heads of records below it are there. */
	so->head = __atomic_load_n(so->producer, __ATOMIC_ACQUIRE);
}

static unsigned long room_of(uint32_t len)
{
	return (RECORD_HEAD + (len & ~(RECORD_BUSY | RECORD_FORGET)) + 7) / 8 * 8;
}

const struct offcpu_record *sample_offcpu_next(struct sample_offcpu *so, uint64_t until)
{
	while (so->tail < so->head) {
		const char *at = so->data + (so->tail & (so->ring_bytes - 1));
		/* Pairs with the kernel's store of the length, without the mark, when the record is whole. */
		uint32_t len = __atomic_load_n((const uint32_t *)at, __ATOMIC_ACQUIRE);
		const struct offcpu_record *r = (const void *)(at + RECORD_HEAD);

		/* At the end, those behind it are waited for, but not for ever. */
		for (int i = 0; len & RECORD_BUSY && until == UINT64_MAX && i < BUSY_TRIES; i++) {
			usleep(100);
			len = __atomic_load_n((const uint32_t *)at, __ATOMIC_ACQUIRE);
		}
		if (len & RECORD_BUSY || (!(len & RECORD_FORGET) && r->in_ns > until))
			return NULL;
		so->tail += room_of(len);
		if (!(len & RECORD_FORGET))
			return r;
	}
	return NULL;
}

void sample_offcpu_done(struct sample_offcpu *so)
{
	/* Pairs with the kernel's load of the consumer's place: records were read before room is given. */
	__atomic_store_n(so->consumer, so->tail, __ATOMIC_RELEASE);
}

void sample_offcpu_waiting(struct sample_offcpu *so, uint64_t now,
			   void (*take)(void *to, const struct offcpu_record *record), void *to)
{
	struct offcpu_record *r = malloc(record_size(so));
	int map = bpf_map__fd(map_of(so, "places"));
	uint32_t tid, *last = NULL;

	while (r && !bpf_map_get_next_key(map, last, &tid)) {
		last = &tid;
		/* The kernel part is filled in when the thread comes back: until then the last wait's stands there. */
		if (bpf_map_lookup_elem(map, &tid, r) || !r->out_ns || r->out_ns > now ||
		    now - r->out_ns < so->threshold_ns)
			continue;
		r->in_ns = now;
		r->kernel_cnt = 0;
		take(to, r);
	}
	free(r);
}

bool sample_offcpu_user(const struct offcpu_record *r, uint64_t *regs, struct sample_user *user)
{
#if defined(__x86_64__)
	/* perf's order: ax, bx, cx, dx, si, di, bp, sp, ip, flags, cs, ss, r8 to r15; struct pt_regs has r15 first. */
	static const uint8_t from[SAMPLE_REG_CNT] = {10, 5,  11, 12, 13, 14, 4, 19, 16, 18,
						     17, 20, 9,  8,  7,  6,  3, 2,  1,  0};

	if (r->regs[17] == CS_32BIT)
		return false;
	for (unsigned i = 0; i < SAMPLE_REG_CNT; i++)
		regs[i] = r->regs[from[i]];
#else
	memcpy(regs, r->regs, SAMPLE_REG_CNT * sizeof(*regs));
#endif
	user->regs = regs;
	user->stack = r->stack;
	user->stack_bytes = r->bytes;
	return true;
}

size_t sample_offcpu_python(const struct offcpu_record *r, const void **at)
{
	*at = r->stack + OFFCPU_PYTHON_AT(r->bytes);
	return r->python;
}

void sample_offcpu_record(struct sample_offcpu *so, bool on)
{
	__atomic_store_n(&so->shared->is_paused, !on, __ATOMIC_RELAXED);
}

unsigned sample_offcpu_fill(const struct sample_offcpu *so)
{
	unsigned long head = __atomic_load_n(so->producer, __ATOMIC_RELAXED);

	return (unsigned)((head - so->tail) * 100 / so->ring_bytes);
}

void sample_offcpu_losses(const struct sample_offcpu *so, uint64_t *full, uint64_t *crowd)
{
	const struct bpf_program *program =
		program_of(so, so->only_deaths ? "on_signal" : "on_switch");

	*full = __atomic_load_n(&so->shared->lost_full, __ATOMIC_RELAXED) +
		ctxsw_missed(bpf_program__fd(program));
	*crowd = __atomic_load_n(&so->shared->lost_crowd, __ATOMIC_RELAXED);
}

#else

struct sample_offcpu *sample_offcpu_open(const struct sample_ask *ask,
					 const struct sample_python *python, char *why,
					 size_t why_len)
{
	(void)ask;
	(void)python;
	snprintf(why, why_len,
		 "stacks of threads without a CPU need eBPF, for which sightline was not built");
	return NULL;
}

void sample_offcpu_close(struct sample_offcpu *so)
{
	(void)so;
}

void sample_offcpu_look(struct sample_offcpu *so)
{
	(void)so;
}

const struct offcpu_record *sample_offcpu_next(struct sample_offcpu *so, uint64_t until)
{
	(void)so;
	(void)until;
	return NULL;
}

void sample_offcpu_done(struct sample_offcpu *so)
{
	(void)so;
}

void sample_offcpu_waiting(struct sample_offcpu *so, uint64_t now,
			   void (*take)(void *to, const struct offcpu_record *record), void *to)
{
	(void)so;
	(void)now;
	(void)take;
	(void)to;
}

bool sample_offcpu_user(const struct offcpu_record *r, uint64_t *regs, struct sample_user *user)
{
	(void)r;
	(void)regs;
	(void)user;
	return false;
}

size_t sample_offcpu_python(const struct offcpu_record *r, const void **at)
{
	(void)r;
	*at = NULL;
	return 0;
}

void sample_offcpu_record(struct sample_offcpu *so, bool on)
{
	(void)so;
	(void)on;
}

unsigned sample_offcpu_fill(const struct sample_offcpu *so)
{
	(void)so;
	return 0;
}

void sample_offcpu_losses(const struct sample_offcpu *so, uint64_t *full, uint64_t *crowd)
{
	(void)so;
	*full = *crowd = 0;
}

void sample_offcpu_stop(struct sample_offcpu *so)
{
	(void)so;
}

#endif
