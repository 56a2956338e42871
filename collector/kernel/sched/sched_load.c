/*
 * sched_load.c - loads bpf/ctxsw.bpf.c, the quickest way that works.
 *
 * Loading is start-up time of every traced program. libbpf reads and parses all of the kernel's types
 * (14 ms of a run of 28); the light skeleton is a program that lets the kernel, which has them parsed,
 * do the same (5 ms). It needs more of the kernel, so libbpf is what comes after it.
 */
#ifdef SL_HAVE_BPF

#include "collector/kernel/sched/sched_load.h"

#include <errno.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wpointer-arith"
#include "ctxsw.lskel.h"
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

/* ---- light ---- */

static int load_light(struct ctxsw_loaded *l, const struct ctxsw_ask *ask,
		      const struct ctxsw_config *config)
{
	int err;

	l->light = ctxsw_light__open();
	if (!l->light)
		return -ENOMEM;
	l->light->rodata->config = *config;
	l->light->maps.lives.max_entries = ask->lives;
	l->light->maps.rings.max_entries = ask->rings;
	l->light->maps.switches.max_entries = ask->switches;
	err = ctxsw_light__load(l->light);
	if (err) {
		ctxsw_light__destroy(l->light);
		l->light = NULL;
		return err;
	}
	l->lives = l->light->maps.lives.map_fd;
	l->rings = l->light->maps.rings.map_fd;
	l->switches = l->light->maps.switches.map_fd;
	l->flags = l->light->maps.flags.map_fd;
	l->shared = l->light->maps.bss.map_fd;
	return 0;
}

/* ---- libbpf ---- */

static int fd_of(struct ctxsw_loaded *l, const char *name)
{
	return bpf_map__fd(bpf_object__find_map_by_name(l->object, name));
}

static int load_full(struct ctxsw_loaded *l, const struct ctxsw_ask *ask,
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
	/* Best first; distributions backport, so the version only says where to begin. */
	static const struct {
		bool light, old, state_argument;
		int since;
	} ways[] = {
		{true, false, true, 6002},
		{false, false, true, 6002},
		{false, true, true, 5018},
		{false, true, false, 0},
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
		err = ways[i].light ? load_light(l, ask, &config)
				    : load_full(l, ask, &config, ways[i].old);
		/* Who may not load with libbpf may not with an older object either. */
		if (!err || (!ways[i].light && (err == -EPERM || err == -ENOMEM)))
			break;
	}
	libbpf_set_print(print);
	log_to = NULL;
	return err;
}

/* ---- attaching ---- */

int ctxsw_attach_iterator(struct ctxsw_loaded *l)
{
	if (l->light) {
		l->iterator = ctxsw_light__on_task__attach(l->light);
		return l->iterator < 0 ? -errno : 0;
	}
	l->iterator_link =
		bpf_program__attach(bpf_object__find_program_by_name(l->object, "on_task"));
	if (!l->iterator_link)
		return -errno;
	l->iterator = bpf_link__fd(l->iterator_link);
	return 0;
}

/* Attaching returns a descriptor or -1. */
static int attach_light(struct ctxsw_light *light)
{
	static int (*const attach[])(struct ctxsw_light *) = {
		ctxsw_light__on_newtask__attach,
		ctxsw_light__on_exec__attach,
		ctxsw_light__on_rename__attach,
		ctxsw_light__on_exit__attach,
	};

	for (size_t i = 0; i < sizeof(attach) / sizeof(*attach); i++)
		if (attach[i](light) < 0)
			return -errno;
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
static int attach_full(struct ctxsw_loaded *l, bool hot)
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

static void detach_light(int *fd)
{
	if (*fd > 0)
		close(*fd);
	*fd = 0; /* 0 is "none" there */
}

static void detach_hot(struct ctxsw_loaded *l)
{
	struct bpf_program *program;
	int at = 0;

	if (l->light) {
		detach_light(&l->light->links.on_waking_fd);
		detach_light(&l->light->links.on_switch_fd);
		return;
	}
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
	if (!on) {
		detach_hot(l);
		return 0;
	}
	if (!l->light)
		return attach_full(l, true);
	if (ctxsw_light__on_waking__attach(l->light) < 0 ||
	    ctxsw_light__on_switch__attach(l->light) < 0)
		return -errno;
	return 0;
}

int ctxsw_attach(struct ctxsw_loaded *l, bool hot)
{
	int err = l->light ? attach_light(l->light) : attach_full(l, false);

	return err || !hot ? err : ctxsw_attach_hot(l, true);
}

int ctxsw_ask_holders(struct ctxsw_loaded *l, unsigned cpus)
{
	int fd = l->light ? l->light->progs.on_ask.prog_fd
			  : bpf_program__fd(bpf_object__find_program_by_name(l->object, "on_ask"));

	for (unsigned cpu = 0; cpu < cpus; cpu++) {
		LIBBPF_OPTS(bpf_test_run_opts, opts, .flags = BPF_F_TEST_RUN_ON_CPU, .cpu = cpu);
		int err = bpf_prog_test_run_opts(fd, &opts);

		if (err && err != -ENXIO) /* CPU is offline */
			return err;
	}
	return 0;
}

void ctxsw_detach(struct ctxsw_loaded *l)
{
	if (l->light) {
		detach_hot(l);
		detach_light(&l->light->links.on_newtask_fd);
		detach_light(&l->light->links.on_exec_fd);
		detach_light(&l->light->links.on_rename_fd);
		detach_light(&l->light->links.on_exit_fd);
	}
	for (int i = 0; i < PROGRAM_CNT; i++) {
		bpf_link__destroy(l->links[i]);
		l->links[i] = NULL;
	}
}

void ctxsw_unload(struct ctxsw_loaded *l)
{
	ctxsw_detach(l);
	if (l->light)
		ctxsw_light__destroy(l->light);
	bpf_link__destroy(l->iterator_link);
	bpf_object__close(l->object);
	memset(l, 0, sizeof(*l));
}

#endif
