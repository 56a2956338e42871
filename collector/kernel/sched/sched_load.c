/*
 * sched_load.c - loads bpf/ctxsw.bpf.c by libbpf and attaches its programs; before Linux 6.2, ctxsw_old.bpf.c.
 */
#ifdef SL_HAVE_BPF

#include "collector/kernel/sched/sched_load.h"

#include <errno.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "collector/kernel/bpf/kernel_types.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wpointer-arith"
#include "ctxsw.skel.h"
#include "ctxsw_old.skel.h"
#pragma GCC diagnostic pop

static char *log_to;
static size_t log_room;

__attribute__((format(printf, 2, 0))) static int log_first(enum libbpf_print_level level,
							   const char *format, va_list args)
{
	if (level == LIBBPF_WARN && log_to && !*log_to) {
		vsnprintf(log_to, log_room, format, args);
		log_to[strcspn(log_to, "\n")] = 0;
	}
	return 0;
}

int ctxsw_kernel_version(void)
{
	struct utsname u;
	int major = 0, minor = 0;

	if (uname(&u) || sscanf(u.release, "%d.%d", &major, &minor) != 2)
		return 0;
	return major * 1000 + minor;
}

static int fd_of(struct ctxsw_loaded *l, const char *name)
{
	return bpf_map__fd(bpf_object__find_map_by_name(l->object, name));
}

static int load_object(struct ctxsw_loaded *l, const struct ctxsw_ask *ask,
		       const struct ctxsw_config *config, bool old)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "ctxsw");
	const void *elf;
	size_t len;
	int err;

	*log_to = 0;
	elf = old ? ctxsw_old__elf_bytes(&len) : ctxsw__elf_bytes(&len);
	l->object = bpf_object__open_mem(elf, len, &opts);
	if (!l->object)
		return -errno;
	memcpy((void *)(uintptr_t)bpf_map__initial_value(
		       bpf_object__find_map_by_name(l->object, ".rodata"), &len),
	       config, sizeof(*config));
	bpf_map__set_max_entries(bpf_object__find_map_by_name(l->object, "lives"), ask->lives);
	bpf_map__set_max_entries(bpf_object__find_map_by_name(l->object, "rings"), ask->rings);
	bpf_map__set_max_entries(bpf_object__find_map_by_name(l->object, "switches"),
				 ask->switches);
	err = bpf_object__load(l->object);
	if (err) {
		bpf_object__close(l->object);
		l->object = NULL;
		return err;
	}
	l->lives = fd_of(l, "lives");
	l->rings = fd_of(l, "rings");
	l->switches = fd_of(l, "switches");
	l->flags = fd_of(l, "flags");
	l->shared = fd_of(l, ".bss");
	return 0;
}

int ctxsw_load(struct ctxsw_loaded *l, const struct ctxsw_ask *ask, char *log, size_t log_len)
{
	/* Best first; distributions backport, so the version is only where to begin. */
	static const struct {
		bool old, state_argument;
		int since;
	} ways[] = {
		{false, true, 6002},
		{true, true, 5018},
		{true, false, 0},
	};
	libbpf_print_fn_t print = libbpf_set_print(log_first);
	struct ctxsw_config config = ask->config;
	int err = -ENOSYS, version = ctxsw_kernel_version();

	memset(l, 0, sizeof(*l));
	l->iterator = -1;
	log_to = log;
	log_room = log_len;
	*log = 0;
	for (size_t i = ask->skip; i < sizeof(ways) / sizeof(*ways); i++) {
		if (version < ways[i].since)
			continue;
		config.state_argument = ways[i].state_argument;
		config.regs_type = ways[i].old ? 0 : kernel_types_struct("pt_regs");
		err = load_object(l, ask, &config, ways[i].old);
		/* Without the permission for one object, the others fail, too. */
		if (!err || err == -EPERM || err == -ENOMEM)
			break;
	}
	libbpf_set_print(print);
	log_to = NULL;
	return err;
}

/* ---- attaching ---- */

int ctxsw_attach_iterator(struct ctxsw_loaded *l)
{
	l->iterator_link =
		bpf_program__attach(bpf_object__find_program_by_name(l->object, "on_task"));
	if (!l->iterator_link)
		return -errno;
	l->iterator = bpf_link__fd(l->iterator_link);
	return 0;
}

static bool is_hot(const struct bpf_program *program)
{
	return !strcmp(bpf_program__name(program), "on_switch") ||
	       !strcmp(bpf_program__name(program), "on_waking");
}

static bool is_called(const struct bpf_program *program)
{
	return !strcmp(bpf_program__name(program), "on_task") ||
	       !strcmp(bpf_program__name(program), "on_ask");
}

/* links[] in the order of programs. */
static int attach(struct ctxsw_loaded *l, bool hot)
{
	struct bpf_program *program;
	int at = 0;

	bpf_object__for_each_program(program, l->object)
	{
		if (!is_called(program) && is_hot(program) == hot && !l->links[at]) {
			l->links[at] = bpf_program__attach(program);
			if (!l->links[at])
				return -errno;
		}
		at++;
	}
	return 0;
}

static void detach_hot(struct ctxsw_loaded *l)
{
	struct bpf_program *program;
	int at = 0;

	bpf_object__for_each_program(program, l->object)
	{
		if (is_hot(program)) {
			bpf_link__destroy(l->links[at]);
			l->links[at] = NULL;
		}
		at++;
	}
}

int ctxsw_attach_hot(struct ctxsw_loaded *l, bool on)
{
	if (on)
		return attach(l, true);
	detach_hot(l);
	return 0;
}

int ctxsw_attach(struct ctxsw_loaded *l, bool hot)
{
	int err = attach(l, false);

	return err || !hot ? err : attach(l, true);
}

int ctxsw_ask_holders(struct ctxsw_loaded *l, unsigned cpus)
{
	int fd = bpf_program__fd(bpf_object__find_program_by_name(l->object, "on_ask"));

	for (unsigned cpu = 0; cpu < cpus; cpu++) {
		LIBBPF_OPTS(bpf_test_run_opts, opts, .flags = BPF_F_TEST_RUN_ON_CPU, .cpu = cpu);
		int err = bpf_prog_test_run_opts(fd, &opts);

		if (err && err != -ENXIO) /* CPU is offline */
			return err;
	}
	return 0;
}

const void *ctxsw_variables(const struct bpf_object *object)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(object, ".bss");
	void *page = map ? mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED,
				bpf_map__fd(map), 0)
			 : MAP_FAILED;

	return page == MAP_FAILED ? NULL : page;
}

void ctxsw_variables_release(const void *variables)
{
	if (variables)
		munmap((void *)(uintptr_t)variables, (size_t)sysconf(_SC_PAGESIZE));
}

uint64_t ctxsw_missed(int program)
{
	struct bpf_prog_info info = {0};
	__u32 len = sizeof(info);

	return program < 0 || bpf_obj_get_info_by_fd(program, &info, &len) ? 0
									   : info.recursion_misses;
}

uint64_t ctxsw_all_missed(const struct ctxsw_loaded *l)
{
	struct bpf_program *program;
	uint64_t cnt = 0;

	bpf_object__for_each_program(program, l->object)
	{
		if (!is_called(program))
			cnt += ctxsw_missed(bpf_program__fd(program));
	}
	return cnt;
}

/* Detaches the programs; the iterator stays. */
static void ctxsw_detach(struct ctxsw_loaded *l)
{
	for (int i = 0; i < PROGRAM_CNT; i++) {
		bpf_link__destroy(l->links[i]);
		l->links[i] = NULL;
	}
}

void ctxsw_unload(struct ctxsw_loaded *l)
{
	ctxsw_detach(l);
	bpf_link__destroy(l->iterator_link);
	bpf_object__close(l->object);
	memset(l, 0, sizeof(*l));
}

#endif
