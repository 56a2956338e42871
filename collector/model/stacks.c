/*
 * stacks.c - keeps stacks, modules and code objects of each arena and writes them to the report.
 *
 * Records come from programs that we do not trust: ids, lengths and the memory used are bounded. A stack beyond the bounds
 * is in the report that was open when its record was drained, and missing in later ones.
 */
#include "collector/model/stacks.h"
#include "collector/model/ring_reader.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/budget.h"
#include "collector/base/grow.h"
#include "collector/report/db_stacks.h"
#include "collector/base/proc.h"

#define PAGE        64u         /* entries: most processes need few */
#define PAGES       65536u      /* of them: ids beyond make no sense */
#define KEEP_BYTES  (64u << 20) /* of an arena */
#define TABLE_BYTES (32u << 20) /* of a table of it */
#define MODULES_MAX 65536u      /* of an arena */

/* As recorded. */
struct stack {
	uint64_t *frames; /* NULL: no record yet, or not kept */
	uint64_t since;   /* ticks */
	uint32_t cnt, number;
};

struct module {
	struct module *next; /* of this process */
	uint64_t start, end, bias, since;
	uint8_t build_id[64];
	uint32_t build_id_len;
	char path[]; /* as the loader has it */
};

struct code {
	char *file, *name; /* in one piece; NULL: no record yet */
	uint8_t *lines;
	uint32_t lines_len, lines_cap;
	int first_line, version;
};

/* Memory of a process of the arena. */
struct space {
	uint32_t parent; /* number; 0 none */
	uint32_t pid;    /* our view, 0 not known */
	struct module *modules, **last;
	struct module **unwritten; /* the first that the report lacks; of a space that it has */
};

/* Entries by number, in pages made when needed. */
struct table {
	void **page;
	uint32_t pages;
	size_t size;  /* of an entry */
	size_t bytes; /* of the pages */
};

struct stacks {
	struct table stack, code, space;
	size_t bytes; /* kept */
	uint32_t modules;
	char *exe;
};

static void *entry(struct table *t, uint32_t id, bool make)
{
	uint32_t n = id / PAGE;
	char *page = n < t->pages ? t->page[n] : NULL;

	if (!page && make && n < PAGES && t->bytes + PAGE * t->size <= TABLE_BYTES) {
		page = grow_page(&t->page, &t->pages, n, PAGE * t->size);
		t->bytes += page ? PAGE * t->size : 0;
	}
	return page ? page + id % PAGE * t->size : NULL;
}

static struct stacks *stacks_of(struct arena *a)
{
	struct stacks *s = a->family.stacks;

	if (!s && (s = calloc(1, sizeof(*s)))) {
		s->stack.size = sizeof(struct stack);
		s->code.size = sizeof(struct code);
		s->space.size = sizeof(struct space);
		a->family.stacks = s;
	}
	return s;
}

static bool may_keep(struct stacks *s, size_t bytes)
{
	if (s->bytes + bytes > KEEP_BYTES || !budget_take(bytes))
		return false;
	s->bytes += bytes;
	return true;
}

/* ---- into the report ---- */

/* A file as the kernel calls it in its maps, where samples find it: the loader may have it by a link's name. */
static char *unlinked(const struct arena *a, char *path)
{
	char *real = path && *path == '/' && !a->flags.is_foreign ? realpath(path, NULL) : NULL;

	if (!real)
		return path;
	free(path);
	return real;
}

/* @path as the program saw it, absolute: "" is its executable. malloc'd. */
static char *absolute(const struct stacks *s, uint32_t pid, const char *path)
{
	char link[64], dir[PATH_MAX], *text = NULL;
	ssize_t n;

	if (!*path)
		return s->exe ? strdup(s->exe) : proc_exe(pid);
	if (*path == '/' || *path == '[')
		return strdup(path);
	/* In no file. */
	if (strncmp(path, "linux-vdso.so", 13) == 0)
		return strdup("[vdso]");
	snprintf(link, sizeof(link), "%s/%u/cwd", proc_root(), pid);
	n = readlink(link, dir, sizeof(dir));
	if (n <= 0 || n == sizeof(dir) || asprintf(&text, "%.*s/%s", (int)n, dir, path) < 0)
		return strdup(path);
	return text;
}

static void write_module(struct arenas *as, const struct arena *a, uint32_t number,
			 const struct module *m)
{
	struct db_module row = {.space = SPACE_ID(a->id, number),
				.start = m->start,
				.end = m->end,
				.bias = m->bias,
				.since = clock_map_ns(as->clock, m->since),
				.path = m->path,
				.build_id = m->build_id,
				.build_id_len = m->build_id_len};

	db_module(as->db, &row);
}

/* With the address spaces that it was forked from, and their modules. */
static void write_space(struct arenas *as, struct arena *a, uint32_t number)
{
	struct space *sp;
	struct module **m;

	/* As many generations as there can be; a parent's number is smaller, or it is none. */
	for (; number && !db_has_space(as->db, SPACE_ID(a->id, number)); number = sp->parent) {
		sp = entry(&a->family.stacks->space, number, false);
		if (!sp) {
			db_space(as->db, SPACE_ID(a->id, number), 0, 0);
			return;
		}
		db_space(as->db, SPACE_ID(a->id, number),
			 sp->parent ? SPACE_ID(a->id, sp->parent) : 0,
			 sp->pid ? GLOBAL_PID(sp->pid) : 0);
		for (m = &sp->modules; *m; m = &(*m)->next)
			write_module(as, a, number, *m);
		sp->unwritten = m;
	}
}

/* Writes modules of a space that were learned after it was written, perhaps ahead of their records. */
static void write_new_modules(struct arenas *as, const struct arena *a, uint32_t number,
			      struct space *sp)
{
	if (!sp->unwritten)
		sp->unwritten = &sp->modules;
	for (; *sp->unwritten; sp->unwritten = &(*sp->unwritten)->next)
		write_module(as, a, number, *sp->unwritten);
}

static void write_code(struct arenas *as, struct arena *a, uint32_t id)
{
	const struct code *c = entry(&a->family.stacks->code, id, false);
	struct db_code row;

	if (!c || !c->file)
		return;
	row = (struct db_code){.id = STACK_ID(a->id, id),
			       .file = c->file,
			       .name = c->name,
			       .first_line = c->first_line,
			       .version = c->version,
			       .lines = c->lines,
			       .lines_len = c->lines_len};
	db_code(as->db, &row);
}

static void write_stack(struct arenas *as, struct arena *a, uint32_t id, const struct stack *s)
{
	write_space(as, a, s->number);
	for (uint32_t i = 0; i < s->cnt; i++)
		if (s->frames[i] & SL_FRAME_PYTHON && !(s->frames[i] & SL_FRAME_REMARK))
			write_code(as, a, sl_frame_code(s->frames[i]));
	db_stack(as->db, STACK_ID(a->id, id), SPACE_ID(a->id, s->number),
		 clock_map_ns(as->clock, s->since), s->frames, s->cnt);
}

/* ---- records ---- */

static bool copy_frames(struct stacks *all, struct stack *s, const struct stack_meta *m)
{
	size_t bytes = m->cnt * sizeof(*m->frames);

	if (!may_keep(all, bytes))
		return false;
	s->frames = malloc(bytes);
	if (!s->frames)
		return false;
	memcpy(s->frames, m->frames, bytes);
	s->cnt = m->cnt;
	return true;
}

/* Keeps it. False: it is known, or cannot be kept. */
static bool learn_stack(struct arena *a, uint32_t number, uint64_t since,
			const struct stack_meta *m)
{
	struct stack *s = entry(&a->family.stacks->stack, m->id, true);

	if (!s || s->frames || !copy_frames(a->family.stacks, s, m))
		return false;
	s->since = since;
	s->number = number;
	return true;
}

static struct space *space_of(struct arena *a, uint32_t number)
{
	struct space *sp = number ? entry(&a->family.stacks->space, number, true) : NULL;

	if (sp && !sp->last)
		sp->last = &sp->modules;
	return sp;
}

static bool is_known(const struct space *sp, const struct stack_meta *m, uint64_t since)
{
	for (const struct module *k = sp->modules; k; k = k->next)
		if (k->start == m->start && k->end == m->end && k->since == since)
			return true;
	return false;
}

/* Makes its path absolute while /proc may still have the program. */
static void learn_module(struct arena *a, uint32_t number, uint64_t since,
			 const struct stack_meta *m)
{
	struct stacks *s = a->family.stacks;
	struct space *sp = space_of(a, number);
	char text[PATH_MAX] = "", *path;
	struct module *k;
	size_t len;

	if (!sp || is_known(sp, m, since) || s->modules >= MODULES_MAX)
		return;
	len = m->len - m->build_id_len;
	memcpy(text, m->bytes + m->build_id_len, len < sizeof(text) ? len : sizeof(text) - 1);
	path = unlinked(a, absolute(s, sp->pid ? sp->pid : a->peer.pid, text));
	len = path ? strlen(path) : 0;
	k = may_keep(s, sizeof(*k) + len) ? calloc(1, sizeof(*k) + len + 1) : NULL;
	if (k) {
		k->start = m->start;
		k->end = m->end;
		k->bias = m->bias;
		k->since = since;
		k->build_id_len = m->build_id_len <= 64 ? m->build_id_len : 0;
		memcpy(k->build_id, m->bytes, k->build_id_len);
		memcpy(k->path, path ? path : "", len);
		*sp->last = k;
		sp->last = &k->next;
		s->modules++;
	}
	free(path);
}

/* Makes room for the line table, and takes the part of it from @position on. */
static void learn_lines(struct stacks *s, struct code *c, uint32_t position, const char *lines,
			uint32_t len)
{
	/* In order, or not at all: a hole would be believed to be lines. */
	if (position != c->lines_len || len > c->lines_cap - c->lines_len)
		return;
	if (!c->lines) {
		if (!len || !may_keep(s, c->lines_cap))
			return;
		c->lines = malloc(c->lines_cap);
		if (!c->lines)
			return;
	}
	memcpy(c->lines + position, lines, len);
	c->lines_len += len;
}

static bool learn_code(struct arena *a, const struct stack_meta *m)
{
	struct stacks *s = a->family.stacks;
	struct code *c = entry(&s->code, m->id, true);
	size_t file, name;
	char *text;

	if (!c || c->file || !may_keep(s, m->len))
		return false;
	text = malloc(m->len + 2);
	if (!text)
		return false;
	memcpy(text, m->bytes, m->len);
	text[m->len] = text[m->len + 1] = 0;
	file = strlen(text);
	name = file < m->len ? strlen(text + file + 1) : 0;
	c->file = strdup(text);
	c->name = NULL;
	if (c->file && !(c->name = strdup(text + (file < m->len ? file + 1 : file)))) {
		free(c->file);
		c->file = NULL;
	}
	c->first_line = (int)m->first_line;
	c->version = (int)m->version;
	c->lines_cap = m->lines_len;
	if (c->file && file + name + 2 <= m->len) {
		size_t len = m->len - file - name - 2;

		learn_lines(s, c, 0, text + file + name + 2,
			    (uint32_t)(len < c->lines_cap ? len : c->lines_cap));
	}
	free(text);
	return c->file != NULL;
}

static void learn_more_lines(struct arena *a, const struct stack_meta *m)
{
	struct code *c = entry(&a->family.stacks->code, m->id, false);

	if (c && c->file)
		learn_lines(a->family.stacks, c, m->position, m->bytes, m->len);
}

static void prescan(struct arena *a, uint32_t number, const struct call *c)
{
	struct stack_meta m;

	if (!decode_stack_meta(c, &m) || !stacks_of(a))
		return;
	if (c->hook == SL_META_STACK)
		learn_stack(a, number, c->start, &m);
	else if (c->hook == SL_META_MODULE)
		learn_module(a, number, c->start, &m);
	else if (c->hook == SL_META_CODE)
		learn_code(a, &m);
	else if (c->hook == SL_META_CODE_LINES)
		learn_more_lines(a, &m);
}

/* One that is too much to be kept goes into this report all the same. */
static void stack_told(struct arenas *as, struct arena *a, uint32_t number, uint64_t since,
		       const struct stack_meta *m)
{
	const struct stack *s;
	uint64_t frames[SL_FRAME_MAX];

	learn_stack(a, number, since, m);
	s = entry(&a->family.stacks->stack, m->id, false);
	if (s && s->frames) {
		if (!db_has_stack(as->db, STACK_ID(a->id, m->id)))
			write_stack(as, a, m->id, s);
		return;
	}
	memcpy(frames, m->frames, m->cnt * sizeof(*frames));
	write_stack(
		as, a, m->id,
		&(struct stack){.frames = frames, .cnt = m->cnt, .since = since, .number = number});
}

static void module_told(struct arenas *as, struct arena *a, uint32_t number, uint64_t since,
			const struct stack_meta *m)
{
	bool has_space = db_has_space(as->db, SPACE_ID(a->id, number));
	struct space *sp;

	learn_module(a, number, since, m);
	sp = space_of(a, number);
	if (!has_space)
		write_space(as, a, number);
	else if (sp)
		write_new_modules(as, a, number, sp);
}

static void record(struct arenas *as, struct thread *t, const struct call *c)
{
	struct arena *a = t->image->arena;
	uint32_t number = t->image->number;
	struct stack_meta m;

	if (!decode_stack_meta(c, &m)) {
		as->lost.corrupt++;
		return;
	}
	if (c->hook == SL_META_CHAIN) {
		t->stack.id = m.id;
		t->stack.call_start = c->start;
		return;
	}
	if (!stacks_of(a))
		return;
	switch (c->hook) {
	case SL_META_STACK:
		stack_told(as, a, number, c->start, &m);
		break;
	case SL_META_MODULE:
		module_told(as, a, number, c->start, &m);
		break;
	case SL_META_CODE:
		learn_code(a, &m);
		write_code(as, a, m.id);
		break;
	default:
		learn_more_lines(a, &m);
		write_code(as, a, m.id);
	}
}

int64_t stacks_take(struct arenas *as, struct thread *t, uint64_t start)
{
	struct arena *a = t->image->arena;
	uint32_t id = t->stack.id;
	const struct stack *s;
	int64_t stack;

	if (!id)
		return 0;
	t->stack.id = 0;
	if (t->stack.call_start != start)
		return 0;
	stack = STACK_ID(a->id, id);
	if (db_has_stack(as->db, stack) || !stacks_of(a))
		return stack;
	s = entry(&a->family.stacks->stack, id, false);
	if (!s || !s->frames) {
		/* Recorded by another thread, whose ring is not drained that far. */
		ring_prescan(a);
		s = entry(&a->family.stacks->stack, id, false);
	}
	if (s && s->frames)
		write_stack(as, a, id, s);
	return stack;
}

static void thread_begin(struct arenas *as, const struct image *im)
{
	struct arena *a = im->arena;
	struct space *sp = stacks_of(a) ? space_of(a, im->number) : NULL;
	int64_t space = SPACE_ID(a->id, im->number);

	if (!sp)
		return;
	/* Numbers are given in order; anything else is no parent. */
	sp->parent = im->parent < im->number ? im->parent : 0;
	sp->pid = im->proc->pid;
	if (db_has_space(as->db, space))
		db_space(as->db, space, sp->parent ? SPACE_ID(a->id, sp->parent) : 0,
			 GLOBAL_PID(sp->pid));
}

void stacks_exe(struct arena *a, const char *path)
{
	if (!*path || !stacks_of(a))
		return;
	free(a->family.stacks->exe);
	a->family.stacks->exe = strdup(path);
}

/* ---- recover ---- */

struct load {
	struct arenas *as;
	struct arena *a;
};

static uint64_t ticks_of(const struct load *l, int64_t since)
{
	return clock_map_ticks(l->as->clock, since + l->as->clock->zero);
}

static void load_space(void *to, int64_t space, int64_t parent, int64_t global_pid)
{
	struct load *l = to;
	struct space *sp = space_of(l->a, (uint32_t)space);

	if (!sp)
		return;
	sp->parent = (uint32_t)parent < (uint32_t)space ? (uint32_t)parent : 0;
	sp->pid = (uint32_t)(global_pid >> 24) & 0xffffff;
}

static void load_module(void *to, const struct db_module *m)
{
	struct load *l = to;
	char bytes[64 + PATH_MAX];
	size_t len = strnlen(m->path, PATH_MAX - 1);
	struct space *sp;
	struct stack_meta told = {.start = m->start,
				  .end = m->end,
				  .bias = m->bias,
				  .build_id_len = (uint32_t)m->build_id_len,
				  .len = (uint32_t)(m->build_id_len + len),
				  .bytes = bytes};

	memcpy(bytes, m->build_id, m->build_id_len);
	memcpy(bytes + m->build_id_len, m->path, len);
	learn_module(l->a, (uint32_t)m->space, ticks_of(l, m->since), &told);
	/* The module is in the report. */
	if ((sp = space_of(l->a, (uint32_t)m->space)))
		sp->unwritten = sp->last;
}

static void load_code(void *to, const struct db_code *row)
{
	struct load *l = to;
	struct code *c = entry(&l->a->family.stacks->code, (uint32_t)row->id, true);

	if (!c || c->file || row->lines_len > DECODE_LINES_MAX)
		return;
	c->file = strdup(row->file);
	c->name = strdup(row->name);
	c->first_line = row->first_line;
	c->version = row->version;
	/* The table's intended length is lost: its present part counts as all. */
	c->lines_cap = (uint32_t)row->lines_len;
	if (row->lines_len)
		learn_lines(l->a->family.stacks, c, 0, (const char *)row->lines, c->lines_cap);
}

static void load_stack(void *to, int64_t id, int64_t space, int64_t since, const uint64_t *frames,
		       size_t cnt)
{
	struct load *l = to;
	struct stack_meta told = {.id = (uint32_t)id, .cnt = (uint32_t)cnt, .frames = frames};

	if (cnt && cnt <= SL_FRAME_MAX)
		learn_stack(l->a, (uint32_t)space, ticks_of(l, since), &told);
}

static void restore(struct arenas *as, struct arena *a)
{
	struct load l = {as, a};
	const struct db_stacks_reader reader = {&l, load_space, load_module, load_code, load_stack};

	if (stacks_of(a))
		db_stacks_read(as->db, STACK_ID(a->id, 0), STACK_ID(a->id, UINT32_MAX), &reader);
}

/* ---- end ---- */

static void free_code(void *at)
{
	struct code *c = at;

	free(c->file);
	free(c->name);
	free(c->lines);
}

static void free_stack(void *at)
{
	free(((struct stack *)at)->frames);
}

static void free_space(void *at)
{
	struct space *sp = at;

	while (sp->modules) {
		struct module *m = sp->modules;

		sp->modules = m->next;
		free(m);
	}
}

static void free_table(struct table *t, void (*free_one)(void *at))
{
	for (uint32_t i = 0; i < t->pages; i++) {
		for (uint32_t k = 0; t->page[i] && k < PAGE; k++)
			free_one((char *)t->page[i] + k * t->size);
		free(t->page[i]);
	}
	free(t->page);
}

static void release(struct arenas *as, struct arena *a)
{
	struct stacks *s = a->family.stacks;

	(void)as;
	if (!s)
		return;
	free_table(&s->stack, free_stack);
	free_table(&s->code, free_code);
	free_table(&s->space, free_space);
	budget_give(s->bytes);
	free(s->exe);
	free(s);
	a->family.stacks = NULL;
}

const struct record_family stack_records = {
	.prescan = prescan,
	.record = record,
	.thread_begin = thread_begin,
	.restore = restore,
	.release = release,
};
