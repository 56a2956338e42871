/*
 * sample_spaces.c - keeps the mappings of each address space, by time.
 *
 * Copies of a fork share their list of mappings until one of them is sampled or maps something: most children exec first.
 */
#include "collector/kernel/sample/sample_spaces.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/report/db.h"
#include "collector/report/db_ids.h"
#include "collector/kernel/sample/sample_mapped.h"
#include "collector/kernel/sample/sample_sink.h"
#include "collector/kernel/sample/sample_stacks.h"
#include "collector/base/now.h"
#include "collector/base/proc.h"
#include "collector/symbols/symbols.h"
#include "preload/wire/frame.h"

#define BUCKETS     256u
#define ANONYMOUS   "[anonymous]"
#define REREAD_NS   UINT64_C(100000000)
#define LATE_NS     UINT64_C(5000000000)
#define JIT_WAIT_NS UINT64_C(50000000) /* doubled each time */

struct sample_space {
	struct sample_space *next;
	uint32_t pid;
	uint32_t number, parent; /* in the report; 0: none */
	uint32_t generation;     /* of the mappings: equal addresses may mean other code */
	uint32_t told_to;        /* report that has it */
	uint64_t read_ns, ended_ns;
	struct sample_ranges *code, *data; /* mappings that can be run; others */
	uint64_t jit_due, jit_wait; /* when the map of code made at run time is sought again */
	bool is_fresh;              /* after an exec, nothing of it seen yet */
};

struct path {
	struct path *next;
	char text[];
};

struct sample_spaces {
	struct sample_files *files;
	struct sample_space *bucket[BUCKETS];
	struct path *paths[BUCKETS];
	uint32_t numbers, report;
	uint64_t purged_ns, keep_ns;
	struct sample_stacks stacks;
};

struct sample_spaces *sample_spaces_new(struct sample_files *files, size_t stacks)
{
	struct sample_spaces *ss = calloc(1, sizeof(*ss));

	if (!ss)
		return NULL;
	ss->files = files;
	ss->report = 1;
	ss->keep_ns = LATE_NS;
	ss->stacks.most = stacks;
	return ss;
}

/* ---- processes ---- */

static struct sample_space *space_find(const struct sample_spaces *ss, uint32_t pid)
{
	struct sample_space *s = ss->bucket[pid % BUCKETS];

	while (s && s->pid != pid)
		s = s->next;
	return s;
}

static void release(struct sample_space *s)
{
	sample_ranges_release(s->code);
	sample_ranges_release(s->data);
	s->code = s->data = NULL;
}

/* A new image: nothing is mapped. */
static struct sample_space *space_begin(struct sample_spaces *ss, uint32_t pid)
{
	struct sample_space *s = space_find(ss, pid);

	if (!s) {
		s = calloc(1, sizeof(*s));
		if (!s)
			return NULL;
		s->pid = pid;
		s->next = ss->bucket[pid % BUCKETS];
		ss->bucket[pid % BUCKETS] = s;
	}
	release(s);
	s->number = ++ss->numbers;
	s->parent = 0;
	s->told_to = 0;
	s->generation++;
	s->read_ns = s->ended_ns = 0;
	s->is_fresh = false;
	return s;
}

static void space_free(struct sample_space *s)
{
	release(s);
	free(s);
}

void sample_spaces_free(struct sample_spaces *ss)
{
	if (!ss)
		return;
	for (unsigned i = 0; i < BUCKETS; i++) {
		for (struct sample_space *s = ss->bucket[i], *next; s; s = next) {
			next = s->next;
			space_free(s);
		}
		for (struct path *p = ss->paths[i], *next; p; p = next) {
			next = p->next;
			free(p);
		}
	}
	sample_stacks_release(&ss->stacks);
	free(ss);
}

void sample_spaces_forked(struct sample_spaces *ss, uint32_t pid, uint32_t parent)
{
	struct sample_space *s = space_begin(ss, pid), *from = space_find(ss, parent);

	if (!s || !from)
		return;
	s->parent = from->number;
	s->read_ns = from->read_ns;
	s->code = sample_ranges_share(from->code);
	s->data = sample_ranges_share(from->data);
}

void sample_spaces_execed(struct sample_spaces *ss, uint32_t pid)
{
	struct sample_space *s = space_begin(ss, pid);

	if (s)
		s->is_fresh = true;
}

/* Frees spaces that ended long ago. */
static void purge(struct sample_spaces *ss, uint64_t now)
{
	ss->purged_ns = now;
	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct sample_space **at = &ss->bucket[i], *s; (s = *at);) {
			if (!s->ended_ns || now - s->ended_ns < ss->keep_ns) {
				at = &s->next;
				continue;
			}
			*at = s->next;
			space_free(s);
		}
}

void sample_spaces_ended(struct sample_spaces *ss, uint32_t pid)
{
	struct sample_space *s = space_find(ss, pid);
	uint64_t now = (uint64_t)mono_ns();

	if (s)
		s->ended_ns = now;
	if (now - ss->purged_ns > LATE_NS)
		purge(ss, now);
}

/* ---- mappings ---- */

/* One copy of each, for good: paths are compared by where they are. */
static const char *path_of(struct sample_spaces *ss, const char *text)
{
	size_t len = strlen(text);
	uint32_t hash = 5381;
	struct path *p;

	for (size_t i = 0; i < len; i++)
		hash = hash * 33 + (unsigned char)text[i];
	for (p = ss->paths[hash % BUCKETS]; p; p = p->next)
		if (strcmp(p->text, text) == 0)
			return p->text;
	p = malloc(sizeof(*p) + len + 1);
	if (!p)
		return "?";
	memcpy(p->text, text, len + 1);
	p->next = ss->paths[hash % BUCKETS];
	ss->paths[hash % BUCKETS] = p;
	return p->text;
}

/* The kernel has several names for mappings without a file. */
static const char *name_of(const char *path)
{
	if (!path[0] || strcmp(path, "//anon") == 0 || strncmp(path, "[anon", 5) == 0 ||
	    strcmp(path, "/anon_hugepage (deleted)") == 0)
		return ANONYMOUS;
	return path;
}

static struct sample_range make(struct sample_spaces *ss, const struct sample_mapped *what,
				uint64_t since)
{
	struct sample_range r = {
		.from = what->start,
		.to = what->end,
		.bias = what->start - what->offset,
		.path = path_of(ss, name_of(what->path)),
		.device = what->device,
		.inode = what->inode,
		.offset = what->path[0] == '/' && what->path[1] != '/' ? what->offset : 0,
		.since = since};

	if (what->is_data)
		return r;
	if (what->path[0] == '/' && what->path[1] != '/')
		r.file = sample_file_get(ss->files, what);
	else if (strcmp(what->path, "[vdso]") == 0)
		r.file = sample_file_get(ss->files, what);
	if (r.file)
		r.bias = sample_file_bias(r.file, what);
	return r;
}

/* Something of the file that @r is of is mapped still, as far as @pid runs. */
static bool is_loaded(uint32_t pid, const struct sample_range *r)
{
	char path[64], *line = NULL;
	bool is = false;
	size_t size = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%u/maps", proc_root(), pid);
	f = fopen(path, "re");
	while (f && !is && getline(&line, &size, f) > 0) {
		struct sample_mapped what;

		is = sample_mapped_parse(line, &what) && what.inode == r->inode &&
		     strcmp(what.path, r->path) == 0;
	}
	free(line);
	if (f)
		fclose(f);
	return is;
}

/*
 * Code that a program copied to anonymous memory at its place, for large pages: it is the file's still. Code made where
 * a library was before is not: of that file nothing is mapped any more.
 */
static void keep_moved(const struct sample_space *s, struct sample_range *r)
{
	const struct sample_range *old = sample_ranges_find(s->code, r->from);

	if (strcmp(r->path, ANONYMOUS) != 0 || !old || !old->file || r->to > old->to ||
	    !is_loaded(s->pid, old))
		return;
	r->is_moved = true;
	r->file = old->file;
	r->path = old->path;
	r->bias = old->bias;
	r->device = old->device;
	r->inode = old->inode;
	r->offset = old->offset + (r->from - old->from);
}

static void put(struct sample_spaces *ss, struct sample_space *s, const struct sample_mapped *what,
		uint64_t since)
{
	struct sample_range r = make(ss, what, since);

	if (what->is_data) {
		sample_ranges_put(&s->data, &r);
		return;
	}
	keep_moved(s, &r);
	s->generation += sample_ranges_put(&s->code, &r);
}

void sample_spaces_mapped(struct sample_spaces *ss, const struct sample_mapped *what, uint64_t ns)
{
	struct sample_space *s = space_find(ss, what->pid);

	if (!s)
		s = space_begin(ss, what->pid);
	if (s)
		put(ss, s, what, ns);
}

/* Reads the process's present mappings; of a process that is gone, the known ones stay. */
static void read_maps(struct sample_spaces *ss, struct sample_space *s, uint64_t since)
{
	char path[64], *line = NULL;
	size_t size = 0;
	FILE *f;

	s->read_ns = (uint64_t)mono_ns();
	snprintf(path, sizeof(path), "%s/%u/maps", proc_root(), s->pid);
	f = s->ended_ns ? NULL : fopen(path, "re");
	while (f && getline(&line, &size, f) > 0) {
		struct sample_mapped what = {.pid = s->pid};

		if (sample_mapped_parse(line, &what))
			put(ss, s, &what, since);
	}
	free(line);
	if (f)
		fclose(f);
}

struct sample_space *sample_space_get(struct sample_spaces *ss, uint32_t pid, uint64_t ns)
{
	struct sample_space *s = space_find(ss, pid);

	(void)ns;
	if (s)
		return s;
	s = space_begin(ss, pid);
	if (s)
		read_maps(ss, s, 0);
	return s;
}

const struct sample_range *sample_space_find(struct sample_spaces *ss, struct sample_space *s,
					     uint64_t address, uint64_t ns)
{
	const struct sample_range *r = sample_ranges_find(s->code, address);

	/* Addresses without a mapping (a damaged stack has some) must not cause a reading per sample. */
	if (r || (uint64_t)mono_ns() - s->read_ns < REREAD_NS)
		return r;
	read_maps(ss, s, s->code ? ns : 0);
	return sample_ranges_find(s->code, address);
}

void sample_space_jit(struct sample_space *s)
{
	uint64_t now;

	if (s->jit_due == UINT64_MAX || s->ended_ns)
		return;
	now = (uint64_t)mono_ns();
	if (now < s->jit_due)
		return;
	s->jit_wait = s->jit_wait ? s->jit_wait * 2 : JIT_WAIT_NS;
	s->jit_due = symbols_jit_keep(s->pid) ? UINT64_MAX : now + s->jit_wait;
}

/* Code and data may have followed each other there: the younger is there now. */
static const struct sample_range *either(const struct sample_space *s, uint64_t address)
{
	const struct sample_range *code = sample_ranges_find(s->code, address),
				  *data = sample_ranges_find(s->data, address);

	return !code || (data && data->since > code->since) ? data : code;
}

bool sample_space_page(struct sample_spaces *ss, struct sample_space *s, uint64_t address,
		       uint64_t ns, struct sample_page *page)
{
	const uint64_t size = (uint64_t)sysconf(_SC_PAGESIZE);
	const struct sample_range *r = either(s, address);

	if (!r && (uint64_t)mono_ns() - s->read_ns >= REREAD_NS) {
		read_maps(ss, s, s->code ? ns : 0);
		r = either(s, address);
	}
	if (!r)
		return false;
	page->path = r->is_moved || strcmp(r->path, ANONYMOUS) == 0 ? "" : r->path;
	page->offset = (r->is_moved ? 0 : r->offset) + (address - r->from) / size * size;
	return true;
}

bool sample_space_has_begun(struct sample_spaces *ss, struct sample_space *s, uint64_t address,
			    uint64_t ns)
{
	s->is_fresh = s->is_fresh && !sample_space_find(ss, s, address, ns);
	return !s->is_fresh;
}

/* ---- into the report ---- */

static void tell_space(const struct sample_space *s, const struct sample_sink *sink)
{
	sink->ops->space(sink->to, SPACE_ID(0, s->number), s->parent ? SPACE_ID(0, s->parent) : 0,
			 GLOBAL_PID(s->pid));
}

static void tell_module(const struct sample_space *s, const struct sample_sink *sink,
			struct sample_range *r)
{
	struct db_module m = {.space = SPACE_ID(0, s->number),
			      .start = r->from,
			      .end = r->to,
			      .bias = r->bias,
			      .since = (int64_t)r->since,
			      .path = r->path};

	if (r->file)
		m.build_id_len = sample_file_build_id(r->file, &m.build_id);
	sink->ops->module(sink->to, &m);
	r->is_told = true;
}

static void tell(struct sample_spaces *ss, struct sample_space *s, const struct sample_sink *sink,
		 const uint64_t *frames, size_t cnt)
{
	struct sample_ranges *rs = sample_ranges_own(&s->code, 0);

	/* Writes again a space that a full disk has dropped. */
	if (s->told_to != ss->report || !sink->ops->has_space(sink->to, SPACE_ID(0, s->number))) {
		s->told_to = ss->report;
		for (size_t i = 0; rs && i < rs->cnt; i++)
			rs->list[i].is_told = false;
		tell_space(s, sink);
	}
	for (size_t i = 0; i < cnt; i++) {
		struct sample_range *r;

		if (frames[i] & (SL_FRAME_REMARK | SL_FRAME_PYTHON | SL_FRAME_KERNEL))
			continue;
		r = sample_ranges_find(s->code,
				       sl_frame_address(frames[i]) - !(frames[i] & SL_FRAME_EXACT));
		if (r && !r->is_told)
			tell_module(s, sink, r);
	}
}

int64_t sample_space_stack(struct sample_spaces *ss, struct sample_space *s,
			   const struct sample_sink *sink, uint64_t ns, const uint64_t *frames,
			   size_t cnt)
{
	bool is_new;
	uint32_t number = sample_stacks_number(
		&ss->stacks, (uint64_t)s->number << 32 | s->generation, frames, cnt, &is_new);

	if (!number)
		return DB_NULL;
	if (is_new || !sink->ops->has_stack(sink->to, STACK_ID(0, number))) {
		tell(ss, s, sink, frames, cnt);
		sink->ops->stack(sink->to, STACK_ID(0, number), SPACE_ID(0, s->number), ns, frames,
				 cnt);
	}
	return STACK_ID(0, number);
}

void sample_spaces_renew(struct sample_spaces *ss)
{
	ss->report++;
	sample_stacks_renew(&ss->stacks);
}

size_t sample_spaces_bytes(const struct sample_spaces *ss)
{
	return ss->stacks.slots * sizeof(*ss->stacks.slot);
}
