/*
 * sched_calls.c - system calls: loads bpf/syscalls.bpf.c, reads its records and sums.
 *
 * Sums are double-buffered in two maps: the map that is not written to is read and emptied. Its
 * sums belong to the capture window in which they were added up, and are pending until that window
 * is delivered.
 */
#ifdef SL_HAVE_BPF

#include "collector/kernel/sched/sched_calls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "collector/base/now.h"
#include "collector/kernel/bpf/syscalls.h"
#include "collector/kernel/sched/sched_load.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wsign-compare"
#include "syscalls.skel.h"
#pragma GCC diagnostic pop

#define RECORDS_TOTAL 262144u /* all CPUs together: 10 MiB */
#define RECORDS_MIN   8192u   /* per CPU */
#define TAKEN_AT_MOST 256u    /* records read before their slots are given back */
#define TURN_NS       1000000000u
#define SETTLE_NS \
	1000000u /* every writer to a map has finished by then after the switch to the other map */
#define BATCH    1024u
#define LINK_CNT 4

struct sum {
	struct calls_key key;
	uint32_t window;
	struct calls_sum sum;
};

struct calls {
	struct bpf_object *object;
	struct bpf_link *links[LINK_CNT];
	struct {
		struct calls_shared *shared;
		struct ctxsw_ring *rings;
		const struct rec_call *records;
		size_t shared_bytes, rings_bytes, records_bytes;
		unsigned cpus, slots; /* per CPU; a power of two */
	} map;
	uint64_t *heads, *tails;
	struct {
		uint32_t
			window; /* the window that is being recorded; s->window is the one being delivered */
		bool is_on;
		uint64_t turned_ns; /* the other map can be read after that; 0: it is empty */
		uint64_t last_ns;   /* when it was turned last */
	} turn;
	struct {
		struct sum *list; /* read, not delivered yet; in the order of windows */
		size_t cnt, max;
		uint64_t lost;
	} sum;
};

static struct bpf_map *map_of(const struct calls *c, const char *name)
{
	return bpf_object__find_map_by_name(c->object, name);
}

static struct bpf_program *program_of(const struct calls *c, const char *name)
{
	return bpf_object__find_program_by_name(c->object, name);
}

static void *map_memory(const struct calls *c, const char *name, size_t bytes, int prot)
{
	void *memory = mmap(NULL, bytes, prot, MAP_SHARED, bpf_map__fd(map_of(c, name)), 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static size_t whole_pages(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page;
}

static int load(struct calls *c, int flags, uint64_t threshold_ns)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "syscalls");
	struct calls_config config = {
		.threshold_ns = threshold_ns,
		.slot_mask = (sched_tuning.call_slots ? sched_tuning.call_slots : CALLS_SLOTS) - 1,
		.slot_shift = (uint8_t)__builtin_ctz(c->map.slots),
	};
	size_t len;
	const void *elf = syscalls__elf_bytes(&len);
	int err;

	c->object = bpf_object__open_mem(elf, len, &opts);
	if (!c->object)
		return -errno;
	memcpy((void *)(uintptr_t)bpf_map__initial_value(map_of(c, ".rodata"), &len), &config,
	       sizeof(config));
	bpf_map__set_max_entries(map_of(c, "rings"), c->map.cpus);
	bpf_map__set_max_entries(map_of(c, "records"), c->map.cpus * c->map.slots);
	err = bpf_map__reuse_fd(map_of(c, "flags"), flags);
	return err ? err : bpf_object__load(c->object);
}

static int map_all(struct calls *c)
{
	c->map.shared_bytes = whole_pages(sizeof(*c->map.shared));
	c->map.rings_bytes = whole_pages(c->map.cpus * sizeof(*c->map.rings));
	c->map.records_bytes =
		whole_pages((size_t)c->map.cpus * c->map.slots * sizeof(*c->map.records));
	c->map.shared = map_memory(c, ".bss", c->map.shared_bytes, PROT_READ | PROT_WRITE);
	c->map.rings = map_memory(c, "rings", c->map.rings_bytes, PROT_READ | PROT_WRITE);
	c->map.records = map_memory(c, "records", c->map.records_bytes, PROT_READ);
	c->heads = calloc(c->map.cpus, sizeof(*c->heads));
	c->tails = calloc(c->map.cpus, sizeof(*c->tails));
	return c->map.shared && c->map.rings && c->map.records && c->heads && c->tails ? 0
										       : -ENOMEM;
}

static int attach(struct calls *c)
{
	/* Exit probes first: every slot that a call takes is given back. */
	static const char *const programs[LINK_CNT] = {"on_end", "on_exec", "on_exit", "on_enter"};

	for (int i = 0; i < LINK_CNT; i++) {
		c->links[i] = bpf_program__attach(program_of(c, programs[i]));
		if (!c->links[i])
			return -errno;
	}
	return 0;
}

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

struct calls *calls_open(const struct sched *s, int flags, char *why, size_t why_len)
{
	libbpf_print_fn_t print = libbpf_set_print(quiet);
	struct calls *c = calloc(1, sizeof(*c));
	int err = c ? 0 : -ENOMEM;

	if (c) {
		c->map.cpus = s->cpu.cnt;
		c->turn.is_on = true;
		c->turn.last_ns = (uint64_t)mono_ns();
		c->map.slots =
			sched_tuning.records_per_cpu ? sched_tuning.records_per_cpu : RECORDS_MIN;
		while (!sched_tuning.records_per_cpu &&
		       c->map.slots * 2 * c->map.cpus <= RECORDS_TOTAL)
			c->map.slots *= 2;
		err = load(c, flags, s->calls.threshold_ns);
		if (!err)
			err = map_all(c);
		if (!err)
			err = attach(c);
	}
	libbpf_set_print(print);
	if (!err)
		return c;
	snprintf(why, why_len, "the kernel refuses the programs for system calls: %s",
		 strerror(-err));
	if (c)
		calls_close(c);
	return NULL;
}

/* ---- records ---- */

static const struct rec_call *slot_at(const struct calls *c, unsigned cpu, uint64_t at)
{
	return &c->map.records[(size_t)cpu * c->map.slots + (at & (c->map.slots - 1))];
}

static uint64_t next_of(const struct calls *c, unsigned cpu)
{
	return c->tails[cpu] < c->heads[cpu] ? slot_at(c, cpu, c->tails[cpu])->end : SCHED_DRAINED;
}

uint64_t calls_begin(struct calls *c, unsigned cpu)
{
	/* Pairs with publish() in syscalls.bpf.c: the records below head are whole. */
	c->heads[cpu] = __atomic_load_n(&c->map.rings[cpu].head, __ATOMIC_ACQUIRE);
	return next_of(c, cpu);
}

uint64_t calls_take(struct sched *s, struct calls *c, unsigned cpu)
{
	const struct rec_call *r = slot_at(c, cpu, c->tails[cpu]);
	struct sched_call call = {
		.start_ns = r->start,
		.end_ns = r->end,
		.number = r->number & (CALLS_COMPAT - 1),
		.is_compat = r->number & CALLS_COMPAT,
		.result = r->result,
	};

	track_call(s, r->tid, r->pid, &call);
	c->tails[cpu]++;
	/* Pairs with the load of tail in record(): a slot was read before it is given back. */
	if (c->tails[cpu] % TAKEN_AT_MOST == 0)
		__atomic_store_n(&c->map.rings[cpu].tail, c->tails[cpu], __ATOMIC_RELEASE);
	return next_of(c, cpu);
}

void calls_end(struct calls *c)
{
	for (unsigned cpu = 0; cpu < c->map.cpus; cpu++)
		__atomic_store_n(&c->map.rings[cpu].tail, c->tails[cpu], __ATOMIC_RELEASE);
}

/* ---- sums ---- */

static bool sums_room(struct calls *c, size_t more)
{
	size_t max = c->sum.max ? c->sum.max : 1024;
	struct sum *grown;

	while (max < c->sum.cnt + more)
		max *= 2;
	if (max == c->sum.max)
		return true;
	grown = realloc(c->sum.list, max * sizeof(*grown));
	if (!grown)
		return false;
	c->sum.list = grown;
	c->sum.max = max;
	return true;
}

/* Reads and empties the map that is not written to. */
static void read_sums(struct calls *c)
{
	static struct calls_key keys[BATCH];
	static struct calls_sum sums[BATCH];
	int map = bpf_map__fd(map_of(c, c->map.shared->phase ? "sums_0" : "sums_1")), err = 0;
	uint32_t at[4], cnt;

	if (!c->turn.turned_ns)
		return;
	c->turn.turned_ns = 0;
	for (bool is_first = true; !err; is_first = false) {
		cnt = BATCH;
		err = bpf_map_lookup_and_delete_batch(map, is_first ? NULL : at, at, keys, sums,
						      &cnt, NULL);
		if (err && err != -ENOENT)
			break;
		if (!sums_room(c, cnt)) {
			c->sum.lost += cnt;
			continue;
		}
		for (uint32_t i = 0; i < cnt; i++)
			c->sum.list[c->sum.cnt++] = (struct sum){keys[i], c->turn.window, sums[i]};
	}
}

static void turn(struct calls *c)
{
	read_sums(c); /* of the turn before, if not done yet */
	__atomic_store_n(&c->map.shared->phase, !c->map.shared->phase, __ATOMIC_SEQ_CST);
	c->turn.turned_ns = c->turn.last_ns = (uint64_t)mono_ns();
}

static void tell(struct sched *s, struct calls *c)
{
	size_t i = 0;

	for (; i < c->sum.cnt && c->sum.list[i].window <= s->edge.window; i++) {
		const struct sum *sum = &c->sum.list[i];
		struct sched_call_sum out = {
			.number = sum->key.number & (CALLS_COMPAT - 1),
			.is_compat = sum->key.number & CALLS_COMPAT,
			.count = sum->sum.count,
			.total_ns = sum->sum.total_ns,
			.min_ns = sum->sum.min_ns,
			.max_ns = sum->sum.max_ns,
			.errors = sum->sum.errors,
		};

		track_call_sum(s, sum->key.tid, sum->key.pid, &out);
	}
	c->sum.cnt -= i;
	memmove(c->sum.list, c->sum.list + i, c->sum.cnt * sizeof(*c->sum.list));
}

void calls_tell_sums(struct sched *s, struct calls *c, bool over)
{
	uint64_t now = (uint64_t)mono_ns();

	if (over && c->turn.is_on && c->turn.window == s->edge.window) {
		turn(c); /* nothing is attached any more */
		read_sums(c);
	} else if (over || (c->turn.turned_ns && now - c->turn.turned_ns > SETTLE_NS)) {
		read_sums(c);
	} else if (c->turn.is_on && !c->turn.turned_ns && now - c->turn.last_ns > TURN_NS) {
		turn(c);
	}
	if (c->sum.cnt && !s->edge.is_off)
		tell(s, c);
}

void calls_record(struct calls *c, bool on, uint64_t ns)
{
	if (on) {
		read_sums(c); /* of the window before */
		c->turn.window++;
		c->turn.is_on = true;
		__atomic_store_n(&c->map.shared->from_ns, ns, __ATOMIC_SEQ_CST);
		__atomic_store_n(&c->map.shared->is_paused, 0, __ATOMIC_SEQ_CST);
		return;
	}
	__atomic_store_n(&c->map.shared->is_paused, 1, __ATOMIC_SEQ_CST);
	c->turn.is_on = false;
	turn(c);
}

/* ---- the rest ---- */

unsigned calls_fill(const struct calls *c)
{
	uint64_t most = 0;

	for (unsigned cpu = 0; cpu < c->map.cpus; cpu++) {
		uint64_t head = __atomic_load_n(&c->map.rings[cpu].head, __ATOMIC_RELAXED);
		uint64_t fill = (head - c->map.rings[cpu].tail) * 100 / c->map.slots;

		if (fill > most)
			most = fill;
	}
	return (unsigned)most;
}

uint64_t calls_lost(const struct calls *c)
{
	uint64_t lost = c->map.shared->lost + c->map.shared->lost_sum + c->sum.lost +
			ctxsw_missed(bpf_program__fd(program_of(c, "on_enter"))) +
			ctxsw_missed(bpf_program__fd(program_of(c, "on_exit")));

	for (unsigned cpu = 0; cpu < c->map.cpus; cpu++)
		lost += c->map.rings[cpu].lost;
	return lost;
}

void calls_stop(struct calls *c)
{
	for (int i = 0; i < LINK_CNT; i++) {
		bpf_link__destroy(c->links[i]);
		c->links[i] = NULL;
	}
}

void calls_close(struct calls *c)
{
	calls_stop(c);
	if (c->map.shared)
		munmap(c->map.shared, c->map.shared_bytes);
	if (c->map.rings)
		munmap(c->map.rings, c->map.rings_bytes);
	if (c->map.records)
		munmap((void *)c->map.records, c->map.records_bytes);
	bpf_object__close(c->object);
	free(c->heads);
	free(c->tails);
	free(c->sum.list);
	free(c);
}

#endif
