/*
 * sample_python.c - loads bpf/pysample.bpf.c, registers processes with it, pairs its records with samples.
 *
 * The record of a sample has its time. Where the kernel does not pass that (before 6.2), perf reads the clock just after
 * the program: the sample is the first of its CPU that is younger.
 */
#include "collector/kernel/sample/sample_python.h"
#include "collector/base/now.h"
#include "collector/kernel/perf/perf_rings.h"

#if SL_SAMPLE_PYTHON

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "collector/kernel/bpf/pysample.h"
#include "collector/kernel/sample/sample_python_code.h"
#include "collector/kernel/sample/sample_python_frames.h"
#include "collector/kernel/sample/sample_python_find.h"
#include "collector/kernel/sample/sample_tree.h"
#include "collector/kernel/sched/sched.h"
#include "collector/kernel/sched/sched_load.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wsign-compare"
#include "pysample.skel.h"
#pragma GCC diagnostic pop

#define BUCKETS    256u
#define RING_WORDS 65536u /* of each CPU */
#define RING_LEAST 8192u
#define RINGS_MOST (1u << 22)            /* words of all together: 32 MiB */
#define KEEP_NS    UINT64_C(10000000000) /* of an ended process: samples may be late */
#define NONE_NS    UINT64_C(100000000) /* a look that found no Python answers requests for so long */

struct process {
	struct process *next;
	uint64_t image;
	struct pycode_from from; /* at.version 0: no Python */
	struct pycodes codes;
	uint64_t last_ns; /* of its records */
	uint64_t none_ns; /* the last look, which found no file with a Python; 0: none did */
	bool is_unknown;  /* has a Python of a version that is not known */
	bool has_ended;   /* its first thread has; others may go on */
};

struct sample_python {
	struct sample_ask ask;
	struct sample_files *files;
	struct sample_tree *
		tree; /* asks for processes until the object is there; NULL: it is loaded at once */
	struct ring_buffer *tree_asks;
	struct bpf_object *object; /* NULL: there was no Python yet */
	int failed;                /* to load it, -errno */
	struct ring_buffer *asks;
	int processes; /* the map */
	struct {
		struct pysample_ring *rings;
		const uint64_t *words, *fault_runs;
		size_t rings_bytes, words_bytes;
		unsigned cpus, shift;
	} map;
	struct {
		uint64_t *tails, *seen; /* paired up to; code objects known up to */
		uint64_t *heads;        /* when last looked at */
	} at;
	struct process *bucket[BUCKETS];
	uint32_t serial; /* of code objects */
	uint64_t nameless;
	uint32_t unknown;
	bool is_refused;
};

/* ---- loading ---- */

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

static struct bpf_map *map_of(const struct sample_python *sp, const char *name)
{
	return bpf_object__find_map_by_name(sp->object, name);
}

static int load(struct sample_python *sp)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "pysample");
	struct pysample_config config = {.ring_shift = sp->map.shift,
					 .cpus = sp->map.cpus,
					 .tree = !sp->tree && sample_is_of_cpus(&sp->ask),
					 .is_called = sp->tree != NULL};
	struct bpf_map *flags;
	const void *elf;
	struct stat st;
	size_t len;

	if (stat("/proc/self/ns/pid", &st))
		return -errno;
	config.ns_ino = st.st_ino;
	elf = pysample__elf_bytes(&len);
	sp->object = bpf_object__open_mem(elf, len, &opts);
	if (!sp->object)
		return -errno;
	memcpy((void *)(uintptr_t)bpf_map__initial_value(map_of(sp, ".rodata"), &len), &config,
	       sizeof(config));
	bpf_map__set_max_entries(map_of(sp, "rings"), sp->map.cpus);
	bpf_map__set_max_entries(map_of(sp, "words"), sp->map.cpus << sp->map.shift);
	flags = map_of(sp, "flags");
	if (config.tree ? bpf_map__reuse_fd(flags, sp->ask.kernel->flags)
			: bpf_map__set_max_entries(flags, 1))
		return -EINVAL;
	return bpf_object__load(sp->object);
}

static void *map_memory(const struct sample_python *sp, const char *name, size_t *bytes, int prot)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *memory;

	*bytes = (*bytes + page - 1) / page * page;
	memory = mmap(NULL, *bytes, prot, MAP_SHARED, bpf_map__fd(map_of(sp, name)), 0);
	return memory == MAP_FAILED ? NULL : memory;
}

static int program_of(const struct sample_python *sp)
{
	return bpf_program__fd(bpf_object__find_program_by_name(sp->object, "on_sample"));
}

static int on_ask(void *ctx, void *data, size_t size);

static int map_all(struct sample_python *sp)
{
	sp->processes = bpf_map__fd(map_of(sp, "processes"));
	sp->map.rings_bytes = sp->map.cpus * sizeof(*sp->map.rings);
	sp->map.words_bytes = ((size_t)sp->map.cpus << sp->map.shift) * sizeof(*sp->map.words);
	sp->map.rings = map_memory(sp, "rings", &sp->map.rings_bytes, PROT_READ | PROT_WRITE);
	sp->map.words = map_memory(sp, "words", &sp->map.words_bytes, PROT_READ);
	sp->map.fault_runs = ctxsw_variables(sp->object);
	sp->at.tails = calloc(sp->map.cpus, sizeof(*sp->at.tails));
	sp->at.seen = calloc(sp->map.cpus, sizeof(*sp->at.seen));
	sp->at.heads = calloc(sp->map.cpus, sizeof(*sp->at.heads));
	sp->asks = ring_buffer__new(bpf_map__fd(map_of(sp, "asks")), on_ask, sp, NULL);
	return sp->map.rings && sp->map.words && sp->at.tails && sp->at.seen && sp->at.heads &&
			       sp->asks
		       ? 0
		       : -ENOMEM;
}

/* Loads what reads the frames. 0 or -errno. */
static int load_walker(struct sample_python *sp)
{
	libbpf_print_fn_t print = libbpf_set_print(quiet);
	int err;

	sp->map.shift = (unsigned)__builtin_ctz(RING_WORDS);
	while (1u << sp->map.shift > RING_LEAST && sp->map.cpus << sp->map.shift > RINGS_MOST)
		sp->map.shift--;
	err = load(sp);
	if (!err)
		err = map_all(sp);
	libbpf_set_print(print);
	if (!err && sp->ask.on_ring)
		sp->ask.on_ring(sp->ask.ctx, bpf_map__fd(map_of(sp, "asks")));
	return err;
}

static void unload_walker(struct sample_python *sp)
{
	ring_buffer__free(sp->asks);
	if (sp->map.rings)
		munmap(sp->map.rings, sp->map.rings_bytes);
	if (sp->map.words)
		munmap((void *)(uintptr_t)sp->map.words, sp->map.words_bytes);
	ctxsw_variables_release(sp->map.fault_runs);
	bpf_object__close(sp->object);
	free(sp->at.tails);
	free(sp->at.seen);
	free(sp->at.heads);
	sp->asks = NULL;
	sp->object = NULL;
	memset(&sp->at, 0, sizeof(sp->at));
	sp->map.rings = NULL;
	sp->map.words = sp->map.fault_runs = NULL;
}

/* The walker exists, from the first Python on. */
static bool has_walker(struct sample_python *sp)
{
	if (sp->object || sp->failed || !sp->tree)
		return sp->object;
	sp->failed = load_walker(sp);
	if (!sp->failed)
		sp->failed = sample_tree_continue(sp->tree, program_of(sp));
	if (sp->failed)
		unload_walker(sp);
	return sp->object;
}

/* The program that asks has the ids of the initial PID namespace. Before 5.17 the walker cannot be loaded, and that is known now. */
static bool may_be_late(const struct sample_ask *ask)
{
	struct stat st;

	return ask->python == SAMPLE_PYTHON_LATE && ask->frequency && ask->off_cpu_ns < 0 &&
	       sample_is_of_cpus(ask) && ctxsw_kernel_version() >= 5017 &&
	       !stat("/proc/self/ns/pid", &st) && st.st_ino == SCHED_INITIAL_PID_NS;
}

/* False: all is to be loaded at once. */
static bool open_tree(struct sample_python *sp)
{
	sp->tree = may_be_late(&sp->ask) ? sample_tree_open(sp->ask.kernel, true) : NULL;
	if (!sp->tree)
		return false;
	sp->tree_asks = ring_buffer__new(sample_tree_asks(sp->tree), on_ask, sp, NULL);
	if (sp->tree_asks && sp->ask.on_ring)
		sp->ask.on_ring(sp->ask.ctx, sample_tree_asks(sp->tree));
	if (sp->tree_asks)
		return true;
	sample_tree_close(sp->tree);
	sp->tree = NULL;
	return false;
}

static void explain(int err, char *why, size_t why_len)
{
	if (err == -EPERM || err == -EACCES)
		snprintf(why, why_len,
			 "Python's frames in samples need eBPF (root, or CAP_BPF and "
			 "CAP_PERFMON)");
	else
		snprintf(why, why_len,
			 "Python's frames in samples need eBPF of Linux 5.17 or later: %s",
			 strerror(-err));
}

struct sample_python *sample_python_open(const struct sample_ask *ask, struct sample_files *files,
					 char *why, size_t why_len)
{
	struct sample_python *sp = calloc(1, sizeof(*sp));
	int err = sp ? 0 : -ENOMEM;

	if (sp) {
		sp->ask = *ask;
		sp->files = files;
		sp->map.cpus = perf_cpu_cnt();
		if (!open_tree(sp))
			err = load_walker(sp);
		/* The caller's. */
		sp->ask.kernel = NULL;
	}
	if (!err)
		return sp;
	explain(err, why, why_len);
	sample_python_close(sp);
	return NULL;
}

int sample_python_program(const struct sample_python *sp)
{
	return sp->tree ? sample_tree_program(sp->tree) : program_of(sp);
}

const uint64_t *sample_python_fault_runs(const struct sample_python *sp)
{
	return sp->tree ? sample_tree_fault_runs(sp->tree) : sp->map.fault_runs;
}

bool sample_python_has_walker(const struct sample_python *sp)
{
	return sp->object != NULL;
}

int sample_python_map(const struct sample_python *sp, const char *name)
{
	return bpf_map__fd(map_of(sp, name));
}

bool sample_python_failed(struct sample_python *sp, char *why, size_t why_len)
{
	if (sp->failed >= 0)
		return false;
	explain(sp->failed, why, why_len);
	sp->failed = 1;
	return true;
}

static void process_free(struct process *p)
{
	pycodes_release(&p->codes);
	free(p);
}

void sample_python_close(struct sample_python *sp)
{
	if (!sp)
		return;
	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct process *p = sp->bucket[i], *next; p; p = next) {
			next = p->next;
			process_free(p);
		}
	unload_walker(sp);
	ring_buffer__free(sp->tree_asks);
	sample_tree_close(sp->tree);
	free(sp);
}

/* ---- processes ---- */

static struct process *process_find(const struct sample_python *sp, uint32_t pid)
{
	struct process *p = sp->bucket[pid % BUCKETS];

	while (p && p->from.pid != pid)
		p = p->next;
	return p;
}

static void tell_kernel(struct sample_python *sp, const struct process *p, uint64_t runtime)
{
	const struct sl_pylayout *at = &p->from.at;
	struct pysample_process told = {
		.image = p->image,
		.runtime = runtime,
		.runtime_at.finalizing = at->finalizing,
		.runtime_at.interpreters = at->interpreters,
		.interpreter_at.next = at->next_interpreter,
		.interpreter_at.threads = at->threads,
		.thread_at.next = at->next_thread,
		.thread_at.id = at->thread_id,
		.thread_at.frame = at->current,
		.thread_at.base = at->base,
		.thread_at.has_cframe = at->has_cframe,
		.thread_at.frame_of_cframe = at->cframe_current,
		.frame_at.previous = at->previous,
		.frame_at.code = at->code,
		.frame_at.instruction = at->instruction,
		.frame_at.flag = at->is_entry ? at->is_entry : at->owner,
		.frame_at.flag_of_c = at->owner ? SL_PYLAYOUT_OWNED_BY_C : 0,
		.code_at.name = at->name,
		.code_at.file = at->file,
		.code_at.line_table = at->line_table,
		.code_at.first_line = at->first_line,
		.code_at.shown_name = at->qualified_name ? at->qualified_name : at->name,
		.bytes_at.size = at->bytes_size,
		.bytes_at.data = at->bytes,
		.code_at.size = (uint32_t)pycode_size(at),
		.code_at.copies = at->copies,
		.frame_at.copy_number = at->copy_number,
		.code_at.bytecode = at->bytecode,
	};

	if (has_walker(sp))
		bpf_map_update_elem(sp->processes, &p->from.pid, &told, BPF_ANY);
}

/*
 * The expected data may belong to an image that is gone. A version counts as unknown at the second
 * look: at the first, the runtime may not be whole yet.
 */
static void look_into(struct sample_python *sp, struct process *p)
{
	bool was_known = p->from.at.version;
	struct pyfind found;

	pyfind_process(&found, sp->files, p->from.pid);
	sp->is_refused |= found.is_refused;
	if (!found.is_there)
		return;
	p->from = found.from;
	p->none_ns = found.has_file ? 0 : (uint64_t)mono_ns();
	if (found.runtime || was_known)
		tell_kernel(sp, p, found.runtime);
	if (found.unknown && p->is_unknown)
		sp->unknown = found.unknown;
	p->is_unknown = found.unknown;
}

/* A process, or another image in it. */
static struct process *process_of(struct sample_python *sp, uint32_t pid, uint64_t image)
{
	struct process *p = process_find(sp, pid);

	if (p && p->image == image)
		return p;
	if (p && !p->image) {
		p->image = image;
		p->none_ns = 0;
		return p;
	}
	if (p) {
		pycodes_release(&p->codes);
	} else {
		p = calloc(1, sizeof(*p));
		if (!p)
			return NULL;
		p->next = sp->bucket[pid % BUCKETS];
		sp->bucket[pid % BUCKETS] = p;
	}
	p->from = (struct pycode_from){.pid = pid};
	p->image = image;
	p->last_ns = (uint64_t)mono_ns();
	p->none_ns = 0;
	p->has_ended = false;
	return p;
}

static struct pyframes_of of(struct sample_python *sp, struct process *p)
{
	return (struct pyframes_of){.from = &p->from,
				    .codes = &p->codes,
				    .serial = &sp->serial,
				    .nameless = &sp->nameless};
}

/*
 * Requests double their distance, so that most come right after the first. Records of mappings report a library that is loaded
 * meanwhile (sample_python_mapped()); where they are lost, a later request finds it.
 */
static bool is_without_python(const struct process *p)
{
	return p->none_ns && (uint64_t)mono_ns() - p->none_ns < NONE_NS;
}

static int on_ask(void *ctx, void *data, size_t size)
{
	const struct pysample_ask *ask = data;
	struct sample_python *sp = ctx;
	struct process *p;

	if (size < sizeof(*ask))
		return 0;
	if (ask->is_code) {
		p = process_find(sp, ask->pid);
		if (p && p->image == ask->image &&
		    size >= offsetof(struct pysample_code, lines_bytes))
			pycode_copied(&p->codes, &p->from, data, size, &sp->serial);
		return 0;
	}
	p = process_of(sp, ask->pid, ask->image);
	if (p && !is_without_python(p))
		look_into(sp, p);
	return 0;
}

void sample_python_expect(struct sample_python *sp, uint32_t pid)
{
	struct process *p = process_find(sp, pid) ? NULL : process_of(sp, pid, 0);

	if (p)
		look_into(sp, p);
}

void sample_python_mapped(struct sample_python *sp, const struct sample_mapped *what)
{
	struct process *p = process_find(sp, what->pid);
	const struct pyfind_file *in;
	struct sample_file *file;

	if (!p || p->from.at.version || what->path[0] != '/')
		return;
	file = sample_file_get(sp->files, what);
	in = file ? pyfind_file(file, false) : NULL;
	if (!in || !in->has_python)
		return;
	look_into(sp, p);
	/* Python is being loaded just now: later samples ask again. */
	if (!p->from.at.version)
		tell_kernel(sp, p, 0);
}

void sample_python_ended(struct sample_python *sp, uint32_t pid)
{
	struct process *p = process_find(sp, pid);
	uint64_t now = (uint64_t)mono_ns();

	if (p)
		p->has_ended = true;
	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct process **at = &sp->bucket[i]; (p = *at);) {
			if (!p->has_ended || p->last_ns + KEEP_NS > now) {
				at = &p->next;
				continue;
			}
			*at = p->next;
			process_free(p);
		}
}

/* ---- records ---- */

static struct pyrecord record_at(const struct sample_python *sp, unsigned cpu, uint64_t at)
{
	return (struct pyrecord){.words = sp->map.words + ((size_t)cpu << sp->map.shift),
				 .at = at,
				 .mask = (UINT64_C(1) << sp->map.shift) - 1};
}

static uint64_t behind(const struct sample_python *sp, unsigned cpu, uint64_t at)
{
	const struct pyrecord r = record_at(sp, cpu, at);

	return at + pyrecord_words(&r);
}

/* That of a record, as long as it has the same image. */
static struct process *process_at(const struct sample_python *sp, const struct pyrecord *r)
{
	struct process *p =
		process_find(sp, (uint32_t)(pyrecord_word(r, PYSAMPLE_HEAD_THREAD) >> 32));

	return p && p->image == pyrecord_word(r, PYSAMPLE_HEAD_IMAGE) ? p : NULL;
}

/* Code objects get their names while the process is there. */
static void meet(struct sample_python *sp, const struct pyrecord *r)
{
	struct process *p = process_at(sp, r);
	struct pyframes_of whose;

	if (!p)
		return;
	p->last_ns = pyrecord_word(r, PYSAMPLE_HEAD_NS);
	whose = of(sp, p);
	pyframes_meet(&whose, r);
}

void sample_python_look(struct sample_python *sp)
{
	if (sp->tree_asks)
		ring_buffer__consume(sp->tree_asks);
	if (!sp->object)
		return;
	/* Pairs with record() in pysample.bpf.c: a record below head is whole, and its code objects have been delivered. */
	for (unsigned cpu = 0; cpu < sp->map.cpus; cpu++)
		sp->at.heads[cpu] = __atomic_load_n(&sp->map.rings[cpu].head, __ATOMIC_ACQUIRE);
	ring_buffer__consume(sp->asks);
	for (unsigned cpu = 0; cpu < sp->map.cpus; cpu++) {
		while (sp->at.seen[cpu] < sp->at.heads[cpu]) {
			const struct pyrecord r = record_at(sp, cpu, sp->at.seen[cpu]);

			meet(sp, &r);
			sp->at.seen[cpu] = behind(sp, cpu, sp->at.seen[cpu]);
		}
	}
}

unsigned sample_python_frames(struct sample_python *sp, const struct sample_sink *sink,
			      const struct sample_python_of *sample, uint64_t *frames)
{
	struct pyrecord r, found = {.words = NULL};
	struct pyframes_of whose;
	struct process *p;
	unsigned cpu = sample->cpu;

	if (!sp->object || cpu >= sp->map.cpus)
		return 0;
	while (sp->at.tails[cpu] < sp->at.seen[cpu]) {
		r = record_at(sp, cpu, sp->at.tails[cpu]);
		if (pyrecord_word(&r, PYSAMPLE_HEAD_NS) > sample->ns)
			break;
		found = r;
		sp->at.tails[cpu] += pyrecord_words(&r);
	}
	if (!found.words)
		return 0;
	if (pyrecord_word(&found, PYSAMPLE_HEAD_CNT) & PYSAMPLE_EXACT &&
	    pyrecord_word(&found, PYSAMPLE_HEAD_NS) != sample->ns)
		return 0;
	if (pyrecord_word(&found, PYSAMPLE_HEAD_THREAD) !=
	    ((uint64_t)sample->pid << 32 | sample->tid))
		return 0;
	p = process_at(sp, &found);
	if (!p)
		return 0;
	whose = of(sp, p);
	return pyframes_make(&whose, &found, sink, frames);
}

unsigned sample_python_away(struct sample_python *sp, const struct sample_sink *sink,
			    const void *record, size_t bytes, uint64_t *frames)
{
	const struct pyrecord r = {.words = record, .mask = UINT64_MAX};
	struct pyframes_of whose;
	struct process *p;

	if (bytes < PYSAMPLE_HEAD_WORDS * sizeof(*r.words) ||
	    bytes < pyrecord_words(&r) * sizeof(*r.words))
		return 0;
	p = process_at(sp, &r);
	if (!p)
		return 0;
	whose = of(sp, p);
	return pyframes_make(&whose, &r, sink, frames);
}

void sample_python_done(struct sample_python *sp)
{
	for (unsigned cpu = 0; sp->object && cpu < sp->map.cpus; cpu++)
		/* Pairs with the load of tail in record(): words were read before their room is given. */
		__atomic_store_n(&sp->map.rings[cpu].tail, sp->at.tails[cpu], __ATOMIC_RELEASE);
}

uint64_t sample_python_lost(const struct sample_python *sp)
{
	uint64_t lost = 0;

	for (unsigned cpu = 0; sp->object && cpu < sp->map.cpus; cpu++)
		lost += sp->map.rings[cpu].lost;
	return lost;
}

uint64_t sample_python_nameless(const struct sample_python *sp)
{
	return sp->nameless;
}

uint32_t sample_python_unknown(struct sample_python *sp)
{
	uint32_t version = sp->unknown;

	sp->unknown = 0;
	return version;
}

bool sample_python_refused(struct sample_python *sp)
{
	bool was = sp->is_refused;

	sp->is_refused = false;
	return was;
}

#endif
