/*
 * sched_bpf.c - user half of bpf/ctxsw.bpf.c: loads it, follows processes, takes its records out.
 *
 * Two kinds of record, two kinds of ring (see there); sched_merge() puts them into one order of time.
 * Rule easy to break: loading is start-up time of every traced program. libbpf looks through all of
 * the kernel's BTF for each struct and program named, so every one of them costs a millisecond.
 */
#include <errno.h>
#include <stdio.h>

#include "collector/sched_internal.h"

#ifdef SL_HAVE_BPF

#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "collector/bpf/ctxsw.h"
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#include "ctxsw.skel.h"
#include "ctxsw_old.skel.h"
#pragma GCC diagnostic pop

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#define CAP_BPF     39
#endif

#define VMLINUX_BTF    "/sys/kernel/btf/vmlinux"
#define INITIAL_PID_NS 0xEFFFFFFCu /* inode of the initial PID namespace, fixed in the kernel */
#define LIVES_BYTES    (1u << 20)
#define LIFE_BYTES     (sizeof(struct rec_task) + 8) /* with the header that the kernel adds */
#define RECORDS_TOTAL  131072u                       /* of switches, all CPUs together: 6 MiB */
#define RECORDS_MIN    8192u /* per CPU: 10 ms at 800,000 switches per second */
#define TAKEN_AT_MOST  256u  /* records read before their slots are given back */
#define PROGRAM_CNT    7

union life {
	struct rec_head head;
	struct rec_task task;
	struct rec_life life;
};

struct bpf {
	struct bpf_object *object;
	struct bpf_link *links[PROGRAM_CNT], *iterator;
	struct ctxsw_shared *shared;
	struct ctxsw_ring *rings;
	const struct rec_switch *switches;
	size_t shared_bytes, rings_bytes, switches_bytes;
	unsigned slots; /* per CPU; a power of two */
	struct ring_buffer *lives_ring;
	union life *lives; /* taken out of lives_ring, sorted by time, not handed over yet */
	size_t lives_cnt, lives_at, lives_max;
	uint64_t lives_taken;    /* out of lives_ring, ever */
	uint64_t lives_dropped;  /* for lack of memory */
	uint64_t *next_ns;       /* per CPU, then of lives: see sched_merge() */
	uint64_t *heads, *tails; /* per CPU: what this poll may read, and has read */
};

static char bpf_log[200]; /* libbpf's first complaint */

static int log_first(enum libbpf_print_level level, const char *format, va_list args)
{
	if (level == LIBBPF_WARN && !*bpf_log) {
		vsnprintf(bpf_log, sizeof(bpf_log), format, args);
		bpf_log[strcspn(bpf_log, "\n")] = 0;
	}
	return 0;
}

static int kernel_version(void)
{
	struct utsname u;
	int major = 0, minor = 0;

	if (uname(&u) || sscanf(u.release, "%d.%d", &major, &minor) != 2)
		return 0;
	return major * 1000 + minor;
}

/* Says early, without loading anything, what stands in the way. */
static int check_machine(char *why, size_t why_len, char *fix, size_t fix_len)
{
	int version = kernel_version();

	if (version < 5008) {
		snprintf(why, why_len, "eBPF needs Linux 5.8, this is %d.%d", version / 1000,
			 version % 1000);
		snprintf(fix, fix_len, "boot a newer kernel");
		return -ENOSYS;
	}
	if (access(VMLINUX_BTF, R_OK)) {
		snprintf(why, why_len, "eBPF needs the kernel's types in %s", VMLINUX_BTF);
		snprintf(fix, fix_len, "boot a kernel built with CONFIG_DEBUG_INFO_BTF=y");
		return -ENOSYS;
	}
	if (!sched_has_cap(CAP_SYS_ADMIN) &&
	    !(sched_has_cap(CAP_BPF) && sched_has_cap(CAP_PERFMON))) {
		snprintf(why, why_len,
			 "eBPF needs the capabilities CAP_BPF and CAP_PERFMON, or root");
		sched_fix_setcap("cap_bpf,cap_perfmon", fix, fix_len);
		return -EPERM;
	}
	return 0;
}

/* Opens and loads one of the objects. 0 or -errno. */
static int load(struct sched *s, struct bpf *b, bool old, bool state_argument)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "ctxsw");
	struct ctxsw_config *config;
	const void *elf;
	size_t len;

	*bpf_log = 0;
	elf = old ? ctxsw_old__elf_bytes(&len) : ctxsw__elf_bytes(&len);
	b->object = bpf_object__open_mem(elf, len, &opts);
	if (!b->object)
		return -errno;
	config = (struct ctxsw_config *)bpf_map__initial_value(
		bpf_object__find_map_by_name(b->object, ".rodata"), &len);
	config->system_wide = s->mode == SCHED_MODE_SYSTEM;
	config->map_ids = s->must_announce;
	config->state_argument = state_argument;
	config->slot_shift = (uint8_t)__builtin_ctz(b->slots);
	bpf_map__set_max_entries(bpf_object__find_map_by_name(b->object, "lives"),
				 sched_tuning.records_per_cpu ? 4096 : LIVES_BYTES);
	bpf_map__set_max_entries(bpf_object__find_map_by_name(b->object, "rings"), s->cpu_cnt);
	bpf_map__set_max_entries(bpf_object__find_map_by_name(b->object, "switches"),
				 s->cpu_cnt * b->slots);
	return bpf_object__load(b->object);
}

static int load_any(struct sched *s, struct bpf *b)
{
	/* Newest first; distributions backport, so the version only says where to begin. */
	static const struct {
		bool old, state_argument;
		int since;
	} ways[] = {{false, true, 6002}, {true, true, 5018}, {true, false, 0}};
	int err = -ENOSYS, version = kernel_version();

	for (size_t i = sched_tuning.bpf_way; i < sizeof(ways) / sizeof(*ways); i++) {
		if (version < ways[i].since)
			continue;
		err = load(s, b, ways[i].old, ways[i].state_argument);
		if (!err || err == -EPERM || err == -ENOMEM)
			return err;
		bpf_object__close(b->object);
		b->object = NULL;
	}
	return err;
}

static void *map_memory(struct bpf *b, const char *name, size_t bytes, int prot)
{
	int fd = bpf_map__fd(bpf_object__find_map_by_name(b->object, name));
	void *memory = mmap(NULL, bytes, prot, MAP_SHARED, fd, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

/* Called by libbpf for each record; sorts, as CPUs may overtake each other between stamp and ring. */
static int keep_life(void *ctx, void *data, size_t len)
{
	struct bpf *b = ctx;
	union life *grown;
	size_t at;

	b->lives_taken++;
	if (b->lives_cnt == b->lives_max) {
		grown = realloc(b->lives, (b->lives_max * 2 + 64) * sizeof(*grown));
		if (!grown) {
			b->lives_dropped++;
			return 0;
		}
		b->lives = grown;
		b->lives_max = b->lives_max * 2 + 64;
	}
	for (at = b->lives_cnt; at > 0; at--) {
		if (b->lives[at - 1].head.ns <= ((struct rec_head *)data)->ns)
			break;
		b->lives[at] = b->lives[at - 1];
	}
	memcpy(&b->lives[at], data, len < sizeof(*b->lives) ? len : sizeof(*b->lives));
	b->lives_cnt++;
	return 0;
}

static int map_all(struct sched *s, struct bpf *b)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	b->shared_bytes = page;
	b->rings_bytes = (s->cpu_cnt * sizeof(*b->rings) + page - 1) / page * page;
	b->switches_bytes =
		((size_t)s->cpu_cnt * b->slots * sizeof(*b->switches) + page - 1) / page * page;
	b->shared = map_memory(b, ".bss", b->shared_bytes, PROT_READ | PROT_WRITE);
	b->rings = map_memory(b, "rings", b->rings_bytes, PROT_READ | PROT_WRITE);
	b->switches = map_memory(b, "switches", b->switches_bytes, PROT_READ);
	b->next_ns = calloc(s->cpu_cnt + 1, sizeof(*b->next_ns));
	b->heads = calloc(s->cpu_cnt, sizeof(*b->heads));
	b->tails = calloc(s->cpu_cnt, sizeof(*b->tails));
	if (!b->shared || !b->rings || !b->switches || !b->next_ns || !b->heads || !b->tails)
		return -ENOMEM;
	b->lives_ring = ring_buffer__new(
		bpf_map__fd(bpf_object__find_map_by_name(b->object, "lives")), keep_life, b, NULL);
	return b->lives_ring ? 0 : -errno;
}

/* Runs the iterator over all threads once. */
static int iterate(struct bpf *b)
{
	char nothing[64];
	ssize_t n;
	int fd = bpf_iter_create(bpf_link__fd(b->iterator));

	if (fd < 0)
		return -errno;
	do
		n = read(fd, nothing, sizeof(nothing));
	while (n > 0 || (n < 0 && errno == EAGAIN));
	n = n < 0 ? -errno : 0;
	close(fd);
	return (int)n;
}

static int attach_all(struct bpf *b)
{
	struct bpf_program *program;
	int cnt = 0, err;

	b->iterator = bpf_program__attach(bpf_object__find_program_by_name(b->object, "on_task"));
	if (!b->iterator)
		return -errno;
	/* First, because the programs use what it finds out about the kernel. */
	err = iterate(b);
	if (err)
		return err;
	bpf_object__for_each_program(program, b->object)
	{
		if (!strcmp(bpf_program__name(program), "on_task"))
			continue;
		b->links[cnt] = bpf_program__attach(program);
		if (!b->links[cnt++])
			return -errno;
	}
	return 0;
}

static void explain(int err, char *why, size_t why_len, char *fix, size_t fix_len)
{
	if (err == -EPERM || err == -EACCES) {
		snprintf(why, why_len,
			 "the kernel refuses eBPF (user namespace, seccomp profile or lockdown)");
		snprintf(fix, fix_len,
			 "run it outside the container, or the container with "
			 "--cap-add=BPF --cap-add=PERFMON or --privileged");
		return;
	}
	snprintf(why, why_len, "eBPF does not work here: %s", *bpf_log ? bpf_log : strerror(-err));
	snprintf(fix, fix_len, "report this line with the output of uname -r");
}

static unsigned slots_per_cpu(unsigned cpu_cnt)
{
	unsigned slots = RECORDS_MIN;

	if (sched_tuning.records_per_cpu)
		return sched_tuning.records_per_cpu;
	while (slots * 2 * cpu_cnt <= RECORDS_TOTAL)
		slots *= 2;
	return slots;
}

static int bpf_open(struct sched *s, char *why, size_t why_len, char *fix, size_t fix_len)
{
	int err = check_machine(why, why_len, fix, fix_len);
	libbpf_print_fn_t print;
	struct stat st;
	struct bpf *b;

	if (err)
		return err;
	b = s->data = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	s->must_announce = !stat("/proc/self/ns/pid", &st) && st.st_ino != INITIAL_PID_NS;
	b->slots = slots_per_cpu(s->cpu_cnt);
	print = libbpf_set_print(log_first);
	err = load_any(s, b);
	if (!err)
		err = map_all(s, b);
	if (!err)
		err = attach_all(b);
	libbpf_set_print(print);
	if (err)
		explain(err, why, why_len, fix, fix_len);
	return err;
}

static int bpf_follow(struct sched *s, pid_t pid)
{
	struct bpf *b = s->data;
	uint32_t found, present = b->shared->present;
	int err = 0;

	/* Threads may start threads meanwhile, but those of a member are members: this ends. */
	do {
		found = b->shared->found;
		b->shared->follow_pid = (uint32_t)pid;
		err = iterate(b);
		b->shared->follow_pid = 0;
	} while (!err && b->shared->found != found);
	if (!err && b->shared->present == present)
		err = -ESRCH;
	return err;
}

/* ---- records ---- */

static uint8_t state_of(uint32_t bits)
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

static int priority_of(uint8_t prio)
{
	return prio == 255 ? -1 : prio; /* deadline threads have -1 in the kernel, too */
}

static void take_switch(struct sched *s, const struct rec_switch *r)
{
	if (r->side & CTXSW_OUT) {
		struct track_out out = {
			.key = r->prev_tid,
			.pid = r->prev_pid,
			.tid = r->prev_tid,
			.state = state_of(r->state),
			.preempted = !r->state,
			.priority = priority_of(r->prev_prio),
		};

		track_out(s, r->ns, r->cpu, &out);
	}
	if (r->side & CTXSW_IN) {
		struct track_in in = {
			.key = r->next_tid,
			.pid = r->next_pid,
			.tid = r->next_tid,
			.priority = priority_of(r->next_prio),
			.wakeup_ns = r->wake_ns,
			.waker_key = r->waker_tid,
			.waker_pid = r->waker_pid,
			.waker_tid = r->waker_tid,
		};

		track_in(s, r->ns, r->cpu, &in);
	}
}

static void take_life(struct sched *s, const union life *l)
{
	const struct rec_life *r = &l->life;
	struct track_task task;

	switch (l->head.kind) {
	case CTXSW_TASK:
		task = (struct track_task){
			.key = l->task.tid,
			.pid = l->task.ns_pid,
			.tid = l->task.ns_tid,
			.parent_key = l->task.parent_tid,
			.parent_pid = l->task.parent_pid,
			.parent_tid = l->task.parent_tid,
			.is_born = l->task.side,
			.comm = l->task.comm,
		};
		track_task(s, r->ns, &task);
		break;
	case CTXSW_EXEC:
		track_exec(s, r->ns, r->cpu, r->tid, r->old_tid, r->pid, r->tid, r->comm);
		break;
	case CTXSW_RENAME:
		track_rename(s, r->ns, r->tid, r->pid, r->tid, r->comm);
		break;
	case CTXSW_EXIT:
		track_exit(s, r->ns, r->tid, r->pid, r->tid, r->exit_code, false);
		break;
	default:
		break;
	}
}

static const struct rec_switch *slot_at(const struct bpf *b, unsigned cpu, uint64_t at)
{
	return &b->switches[(size_t)cpu * b->slots + (at & (b->slots - 1))];
}

static uint64_t take(struct sched *s, unsigned stream)
{
	struct bpf *b = s->data;

	if (stream == s->cpu_cnt) {
		take_life(s, &b->lives[b->lives_at++]);
		return b->lives_at < b->lives_cnt ? b->lives[b->lives_at].head.ns : SCHED_DRAINED;
	}
	take_switch(s, slot_at(b, stream, b->tails[stream]));
	b->tails[stream]++;
	/* Pairs with the load of tail in on_switch: a slot was read before it is given back. */
	if (b->tails[stream] % TAKEN_AT_MOST == 0)
		__atomic_store_n(&b->rings[stream].tail, b->tails[stream], __ATOMIC_RELEASE);
	return b->tails[stream] < b->heads[stream] ? slot_at(b, stream, b->tails[stream])->ns
						   : SCHED_DRAINED;
}

static int bpf_poll(struct sched *s, uint64_t horizon_ns)
{
	struct bpf *b = s->data;

	for (unsigned cpu = 0; cpu < s->cpu_cnt; cpu++) {
		/* Pairs with publish() in ctxsw.bpf.c: the records below head are whole. */
		b->heads[cpu] = __atomic_load_n(&b->rings[cpu].head, __ATOMIC_ACQUIRE);
		b->next_ns[cpu] = b->tails[cpu] < b->heads[cpu] ? slot_at(b, cpu, b->tails[cpu])->ns
								: SCHED_DRAINED;
	}
	ring_buffer__consume(b->lives_ring);
	b->next_ns[s->cpu_cnt] = b->lives_cnt ? b->lives[0].head.ns : SCHED_DRAINED;
	sched_merge(s, b->next_ns, s->cpu_cnt + 1, horizon_ns, take);
	for (unsigned cpu = 0; cpu < s->cpu_cnt; cpu++)
		__atomic_store_n(&b->rings[cpu].tail, b->tails[cpu], __ATOMIC_RELEASE);
	if (b->lives_at) {
		b->lives_cnt -= b->lives_at;
		memmove(b->lives, b->lives + b->lives_at, b->lives_cnt * sizeof(*b->lives));
		b->lives_at = 0;
	}
	return 0;
}

static unsigned bpf_fill(const struct sched *s)
{
	const struct bpf *b = s->data;
	uint64_t lives = __atomic_load_n(&b->shared->lives, __ATOMIC_RELAXED) - b->lives_taken;
	uint64_t most = lives * LIFE_BYTES * 100 / LIVES_BYTES;

	for (unsigned cpu = 0; cpu < s->cpu_cnt; cpu++) {
		uint64_t head = __atomic_load_n(&b->rings[cpu].head, __ATOMIC_RELAXED);
		uint64_t fill = (head - b->rings[cpu].tail) * 100 / b->slots;

		if (fill > most)
			most = fill;
	}
	return (unsigned)most;
}

static uint64_t bpf_lost(const struct sched *s)
{
	const struct bpf *b = s->data;
	uint64_t lost = b->shared->lost + b->lives_dropped;

	for (unsigned cpu = 0; cpu < s->cpu_cnt; cpu++)
		lost += b->rings[cpu].lost;
	return lost;
}

static void bpf_stop(struct sched *s)
{
	struct bpf *b = s->data;

	for (int i = 0; i < PROGRAM_CNT; i++) {
		bpf_link__destroy(b->links[i]);
		b->links[i] = NULL;
	}
}

static void bpf_close(struct sched *s)
{
	struct bpf *b = s->data;

	if (!b)
		return;
	bpf_stop(s);
	bpf_link__destroy(b->iterator);
	ring_buffer__free(b->lives_ring);
	if (b->shared)
		munmap(b->shared, b->shared_bytes);
	if (b->rings)
		munmap(b->rings, b->rings_bytes);
	if (b->switches)
		munmap((void *)b->switches, b->switches_bytes);
	bpf_object__close(b->object);
	free(b->lives);
	free(b->next_ns);
	free(b->heads);
	free(b->tails);
	free(b);
	s->data = NULL;
}

#else /* built without libbpf */

static int bpf_open(struct sched *s, char *why, size_t why_len, char *fix, size_t fix_len)
{
	(void)s;
	snprintf(why, why_len, "built without eBPF");
	snprintf(fix, fix_len, "sudo apt install clang bpftool libbpf-dev && make clean all");
	return -ENOSYS;
}

static int bpf_follow(struct sched *s, pid_t pid)
{
	(void)s;
	(void)pid;
	return -ENOSYS;
}

static int bpf_poll(struct sched *s, uint64_t horizon_ns)
{
	(void)s;
	(void)horizon_ns;
	return 0;
}

static unsigned bpf_fill(const struct sched *s)
{
	const struct bpf *b = s->data;
	uint64_t lives = __atomic_load_n(&b->shared->lives, __ATOMIC_RELAXED) - b->lives_taken;
	uint64_t most = lives * LIFE_BYTES * 100 / LIVES_BYTES;

	for (unsigned cpu = 0; cpu < s->cpu_cnt; cpu++) {
		uint64_t head = __atomic_load_n(&b->rings[cpu].head, __ATOMIC_RELAXED);
		uint64_t fill = (head - b->rings[cpu].tail) * 100 / b->slots;

		if (fill > most)
			most = fill;
	}
	return (unsigned)most;
}

static uint64_t bpf_lost(const struct sched *s)
{
	(void)s;
	return 0;
}

static void bpf_stop(struct sched *s)
{
	(void)s;
}

static void bpf_close(struct sched *s)
{
	(void)s;
}

#endif

const struct sched_driver sched_driver_bpf = {
	.id = SCHED_BACKEND_BPF,
	.open = bpf_open,
	.follow = bpf_follow,
	.poll = bpf_poll,
	.fill = bpf_fill,
	.lost = bpf_lost,
	.stop = bpf_stop,
	.close = bpf_close,
};
