/* sched_bpf_open.c - checks the requirements of eBPF, loads and attaches the programs. */
#ifdef SL_HAVE_BPF

#include "collector/base/privilege.h"
#include "collector/base/grow.h"
#include "collector/kernel/sched/sched_bpf.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "collector/base/limits.h"
#include "collector/kernel/sched/sched_calls.h"
#include "collector/kernel/sched/sched_internal.h"

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#define CAP_BPF     39
#endif

#define VMLINUX_BTF       "/sys/kernel/btf/vmlinux"
#define NEEDS_DESCRIPTORS 64      /* its programs, maps and links, and others of a collection */
#define RECORDS_TOTAL     131072u /* of switches, all CPUs together: 6 MiB */
#define RECORDS_MIN       8192u   /* per CPU: 10 ms at 800,000 switches per second */

static char bpf_log[200]; /* libbpf's first complaint */

/* Reports early, without loading a program, an obstacle to eBPF. */
static int check_machine(char *why, size_t why_len, char *fix, size_t fix_len)
{
	int version = ctxsw_kernel_version();

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
	if (!privilege_has(CAP_SYS_ADMIN) &&
	    !(privilege_has(CAP_BPF) && privilege_has(CAP_PERFMON))) {
		snprintf(why, why_len,
			 "eBPF needs the capabilities CAP_BPF and CAP_PERFMON, or root");
		privilege_fix("cap_bpf,cap_perfmon", fix, fix_len);
		return -EPERM;
	}
	return 0;
}

static int load(struct sched *s, struct bpf *b)
{
	struct ctxsw_ask ask = {
		.config = {.system_wide = s->mode == SCHED_MODE_SYSTEM,
			   .map_ids = s->must_announce,
			   .own_only = !privilege_may_watch_all(),
			   .slot_shift = (uint8_t)__builtin_ctz(b->map.slots)},
		.rings = s->cpu.cnt,
		.switches = s->cpu.cnt * b->map.slots,
		.lives = sched_tuning.records_per_cpu ? 4096 : LIVES_BYTES,
		.skip = sched_tuning.bpf_way,
	};

	return ctxsw_load(&b->loaded, &ask, bpf_log, sizeof(bpf_log));
}

static void *map_memory(int fd, size_t bytes, int prot)
{
	void *memory = mmap(NULL, bytes, prot, MAP_SHARED, fd, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

/* Path and arguments of @e, which is @len bytes long. */
static void keep_text(struct taken_life *l, const struct rec_exec *e, size_t len)
{
	size_t text = offsetof(struct rec_exec, text), path = e->path_len, args = e->args_len;

	if (path > CTXSW_PATH_LEN || args >= CTXSW_ARGS_LEN || text + path + args > len)
		return;
	l->text = malloc(path + args + 1);
	if (!l->text)
		return;
	memcpy(l->text, e->text, path + args);
	l->text[path + args] = 0;
	l->path_len = (uint16_t)path;
	l->args_len = (uint16_t)args;
}

/* Called by libbpf for each record; sorts, as CPUs may overtake each other between stamp and ring. */
static int keep_life(void *ctx, void *data, size_t len)
{
	struct bpf *b = ctx;
	struct taken_life *new;
	size_t at;

	b->lives.taken += CTXSW_LIFE_BYTES(len);
	if (!grow(&b->lives.list, b->lives.cnt, &b->lives.max, sizeof(*b->lives.list))) {
		b->lives.dropped++;
		return 0;
	}
	for (at = b->lives.cnt; at > 0; at--) {
		if (b->lives.list[at - 1].record.head.ns <= ((struct rec_head *)data)->ns)
			break;
		b->lives.list[at] = b->lives.list[at - 1];
	}
	new = &b->lives.list[at];
	*new = (struct taken_life){.text = NULL};
	memcpy(&new->record, data, len < sizeof(new->record) ? len : sizeof(new->record));
	if (new->record.head.kind == CTXSW_EXEC && len >= offsetof(struct rec_exec, text))
		keep_text(new, data, len);
	b->lives.cnt++;
	return 0;
}

static int map_all(struct sched *s, struct bpf *b)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	libbpf_print_fn_t print;

	b->map.shared_bytes = page;
	b->map.rings_bytes = (s->cpu.cnt * sizeof(*b->map.rings) + page - 1) / page * page;
	b->map.switches_bytes =
		((size_t)s->cpu.cnt * b->map.slots * sizeof(*b->map.switches) + page - 1) / page *
		page;
	b->map.shared = map_memory(b->loaded.shared, b->map.shared_bytes, PROT_READ | PROT_WRITE);
	b->map.rings = map_memory(b->loaded.rings, b->map.rings_bytes, PROT_READ | PROT_WRITE);
	b->map.switches = map_memory(b->loaded.switches, b->map.switches_bytes, PROT_READ);
	b->map.flags = map_memory(b->loaded.flags, CTXSW_PID_LIMIT, PROT_READ);
	b->next_ns = calloc(2 * s->cpu.cnt + 1, sizeof(*b->next_ns));
	b->heads = calloc(s->cpu.cnt, sizeof(*b->heads));
	b->tails = calloc(s->cpu.cnt, sizeof(*b->tails));
	if (!b->map.shared || !b->map.rings || !b->map.switches || !b->map.flags || !b->next_ns ||
	    !b->heads || !b->tails)
		return -ENOMEM;
	print = libbpf_set_print(NULL); /* explain() reports it */
	b->lives.ring = ring_buffer__new(b->loaded.lives, keep_life, b, NULL);
	libbpf_set_print(print);
	return b->lives.ring ? 0 : -errno;
}

int sched_bpf_iterate(struct bpf *b)
{
	char nothing[64];
	ssize_t n;
	int fd = bpf_iter_create(b->loaded.iterator);

	if (fd < 0)
		return -errno;
	do
		n = read(fd, nothing, sizeof(nothing));
	while (n > 0 || (n < 0 && errno == EAGAIN));
	n = n < 0 ? -errno : 0;
	close(fd);
	return (int)n;
}

static int attach_all(struct bpf *b, bool no_switches)
{
	int err = ctxsw_attach_iterator(&b->loaded);

	/* First, because the programs use its findings about the kernel. */
	if (!err)
		err = sched_bpf_iterate(b);
	return err ? err : ctxsw_attach(&b->loaded, !no_switches);
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

int sched_bpf_open(struct sched *s, char *why, size_t why_len, char *fix, size_t fix_len)
{
	int err = check_machine(why, why_len, fix, fix_len);
	struct stat st;
	struct bpf *b;

	if (err)
		return err;
	/* Else it may come to stand, and leave none for the rest of the collection. */
	if (limits_free_descriptors() < NEEDS_DESCRIPTORS) {
		snprintf(why, why_len, "eBPF needs %d descriptors, of which too few are left",
			 NEEDS_DESCRIPTORS);
		snprintf(fix, fix_len, "ulimit -n 1024");
		return -EMFILE;
	}
	b = s->data = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	s->must_announce = !stat("/proc/self/ns/pid", &st) && st.st_ino != SCHED_INITIAL_PID_NS;
	b->map.slots = slots_per_cpu(s->cpu.cnt);
	err = load(s, b);
	if (!err)
		err = map_all(s, b);
	if (!err)
		err = attach_all(b, s->no_switches);
	if (err)
		explain(err, why, why_len, fix, fix_len);
	else if (s->calls.wanted)
		b->calls = calls_open(s, b->loaded.flags, s->calls.why, sizeof(s->calls.why));
	s->calls.has = b->calls != NULL;
	return err;
}

#endif
