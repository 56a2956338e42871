/* sample_tree.c - loads bpf/treesample.bpf.c. */
#include "collector/kernel/sample/sample_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef SL_HAVE_BPF

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "collector/kernel/bpf/pysample.h"
#include "collector/kernel/sched/sched_load.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wsign-compare"
#include "treesample.skel.h"
#pragma GCC diagnostic pop

struct sample_tree {
	struct bpf_object *object;
	const uint64_t *fault_runs;
};

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

static struct bpf_map *map_of(const struct sample_tree *st, const char *name)
{
	return bpf_object__find_map_by_name(st->object, name);
}

static bool load(struct sample_tree *st, const struct sched_maps *kernel, bool python)
{
	const struct treesample_config config = {.python = python};
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "treesample");
	const void *elf;
	size_t len;

	elf = treesample__elf_bytes(&len);
	st->object = bpf_object__open_mem(elf, len, &opts);
	if (!st->object)
		return false;
	memcpy((void *)(uintptr_t)bpf_map__initial_value(map_of(st, ".rodata"), &len), &config,
	       sizeof(config));
	bpf_map__set_max_entries(map_of(st, "asks"), (uint32_t)sysconf(_SC_PAGESIZE));
	return !bpf_map__reuse_fd(map_of(st, "flags"), kernel->flags) &&
	       !bpf_object__load(st->object);
}

struct sample_tree *sample_tree_open(const struct sched_maps *kernel, bool python)
{
	libbpf_print_fn_t print = libbpf_set_print(quiet);
	struct sample_tree *st = calloc(1, sizeof(*st));
	bool is_loaded = st && load(st, kernel, python);

	libbpf_set_print(print);
	if (is_loaded)
		st->fault_runs = ctxsw_variables(st->object);
	if (is_loaded)
		return st;
	sample_tree_close(st);
	return NULL;
}

int sample_tree_asks(const struct sample_tree *st)
{
	return bpf_map__fd(map_of(st, "asks"));
}

int sample_tree_continue(const struct sample_tree *st, int program)
{
	uint32_t key = 0;

	return bpf_map_update_elem(bpf_map__fd(map_of(st, "walker")), &key, &program, BPF_ANY);
}

int sample_tree_program(const struct sample_tree *st)
{
	return bpf_program__fd(bpf_object__find_program_by_name(st->object, "on_sample"));
}

const uint64_t *sample_tree_fault_runs(const struct sample_tree *st)
{
	return st->fault_runs;
}

void sample_tree_close(struct sample_tree *st)
{
	if (!st)
		return;
	ctxsw_variables_release(st->fault_runs);
	bpf_object__close(st->object);
	free(st);
}

#else

struct sample_tree *sample_tree_open(const struct sched_maps *kernel, bool python)
{
	(void)kernel;
	(void)python;
	return NULL;
}

int sample_tree_asks(const struct sample_tree *st)
{
	(void)st;
	return -1;
}

int sample_tree_continue(const struct sample_tree *st, int program)
{
	(void)st;
	(void)program;
	return -ENOSYS;
}

int sample_tree_program(const struct sample_tree *st)
{
	(void)st;
	return -1;
}

const uint64_t *sample_tree_fault_runs(const struct sample_tree *st)
{
	(void)st;
	return NULL;
}

void sample_tree_close(struct sample_tree *st)
{
	(void)st;
}

#endif
