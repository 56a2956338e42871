/*
 * symbols.c - the session: modules by address, and the cache of results.
 *
 * Symbol tables are read here (symbols_table.c), debug information by libdw. Of elfutils only libdw is used, not
 * libdwfl: which file is the right one is ours to say, and libdwfl brings a client of debuginfod that cannot be given
 * a time to be ready in.
 */
#include "collector/symbols/symbols_session.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/hash.h"
#include "collector/base/plain_file.h"
#include "collector/symbols/symbols_answer.h"
#include "collector/symbols/symbols_owner.h"
#include "collector/symbols/sigbus_guard.h"

#define HELD_MOST 64

/* ---- texts ---- */

const char *symbols_text(struct symbols *s, const char *text)
{
	return symbols_texts_keep(&s->texts, text);
}

const char *symbols_demangled(struct symbols *s, const char *symbol)
{
	return symbols_texts_demangled(&s->texts, symbol);
}

/* ---- session ---- */

struct symbols *symbols_open(void)
{
	struct symbols *s = calloc(1, sizeof(*s));

	if (s) {
		s->server.left_ms = symbols_debuginfod_ms;
		s->jit_room = JIT_BYTES;
	}
	return s;
}

static void close_files(struct symbols_module *m)
{
	symbols_dwarf_close(m->dwarf);
	symbols_table_free(&m->table);
	symbols_file_close(&m->file);
	m->dwarf = NULL;
	m->file = (struct symbols_file){0};
}

static void module_free(struct symbols_module *m)
{
	if (m->is_open)
		close_files(m);
	if (m->mapped.fd >= 0)
		close(m->mapped.fd);
	free(m->frame);
	free(m->answers.list);
	free(m->path);
	free(m);
}

struct cached_key symbols_key_of(const struct symbols_module *m)
{
	return (struct cached_key){m->build_id, m->build_id_len, m->path, m->mapped.fd};
}

void symbols_close(struct symbols *s)
{
	if (!s || symbols_leave(s))
		return;
	if (s->cache)
		symbols_keep_answers(s);
	for (unsigned i = 0; i < MODULES; i++)
		for (struct symbols_module *m = s->module[i], *next; m; m = next) {
			next = m->next;
			module_free(m);
		}
	for (unsigned i = 0; i < PIDS; i++)
		for (struct jit *j = s->jit[i], *next; j; j = next) {
			next = j->next;
			symbols_jit_close(j->of);
			free(j);
		}
	symbols_apart_free(s->apart);
	symbols_kernel_close(s->kernel);
	symbols_cache_close(s->cache);
	symbols_texts_free(&s->texts);
	free(s);
}

struct symbols_module *symbols_module_alone(struct symbols *s, const char *path,
					    const uint8_t *build_id, size_t build_id_len, int fd)
{
	struct symbols_module **bucket = &s->module[hash_text(path) % MODULES],
			      *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->mapped.fd = fd;
	m->path = strdup(path);
	if (!m->path) {
		free(m);
		return NULL;
	}
	if (build_id_len)
		memcpy(m->build_id, build_id, build_id_len);
	m->build_id_len = build_id_len;
	m->next = *bucket;
	*bucket = m;
	return m;
}

struct symbols_module *symbols_module(struct symbols *s, const char *path, const uint8_t *build_id,
				      size_t build_id_len)
{
	struct symbols_module **bucket = &s->module[hash_text(path) % MODULES], *m;

	if (build_id_len > sizeof(m->build_id))
		build_id_len = 0;
	for (m = *bucket; m; m = m->next)
		if (strcmp(m->path, path) == 0 && m->build_id_len == build_id_len &&
		    (!build_id_len || memcmp(m->build_id, build_id, build_id_len) == 0))
			return m;
	return symbols_module_alone(s, path, build_id, build_id_len, -1);
}

void symbols_mapped(struct symbols *s, struct symbols_module *m, const struct symbols_mapped *by)
{
	struct stat st;

	if (m->mapped.by.pid)
		return;
	m->mapped.by = *by;
	if (s->held >= HELD_MOST || m->path[0] != '/' || strncmp(m->path, "/usr/", 5) == 0)
		return;
	m->mapped.fd = symbols_file_is_gone(m->path) ? symbols_process_open(by, m->path)
						     : plain_file_open(m->path, true, &st);
	s->held += m->mapped.fd >= 0;
}

struct opening {
	struct symbols *symbols;
	struct symbols_module *module;
};

static void open_files(void *of)
{
	const struct opening *o = of;
	struct symbols_module *m = o->module;
	uid_t owner;

	symbols_file_open(&m->file, m->path, m->mapped.fd, m->build_id, m->build_id_len,
			  &o->symbols->server);
	/* The path may be that of another file by now, which only a build id can show. */
	if (!m->file.image.at && m->path[0] == '/' && m->build_id_len &&
	    !symbols_owner_met(&owner)) {
		int fd = symbols_process_open(&m->mapped.by, m->path);

		if (fd >= 0) {
			if (m->mapped.fd >= 0)
				close(m->mapped.fd);
			m->mapped.fd = fd;
			symbols_file_close(&m->file);
			symbols_file_open(&m->file, m->path, m->mapped.fd, m->build_id,
					  m->build_id_len, &o->symbols->server);
		}
	}
	if (symbols_owner_met(&owner))
		return;
	symbols_table_fill(&m->table, &m->file);
	if (m->file.debug.at)
		m->dwarf = symbols_dwarf_open(m->file.debug_path);
	else if (m->file.image.at && m->file.path[0] == '/')
		m->dwarf = symbols_dwarf_open(m->file.path);
}

/* By @fd, or by its path where that is -1. True: it is the file that was mapped. */
static bool open_apart_from(struct symbols *s, struct symbols_module *m, int fd)
{
	if (!s->apart)
		s->apart = symbols_apart_new();
	m->is_broken = !s->apart || symbols_apart_open(s->apart, s, &m->apart.file, m->path, fd,
						       m->build_id, m->build_id_len);
	return !m->is_broken && m->apart.file.state & SYMBOLS_HAS_IMAGE;
}

static void open_apart(struct symbols *s, struct symbols_module *m)
{
	bool is_here = m->mapped.fd < 0 && !symbols_file_is_gone(m->path), has_image;
	struct stat st;
	int fd = is_here ? plain_file_open(m->path, true, &st) : m->mapped.fd;

	has_image = open_apart_from(s, m, fd);
	if (is_here && fd >= 0)
		close(fd);
	if (has_image || m->is_broken || m->path[0] != '/' || !m->build_id_len)
		return;
	/* As in open_files(). */
	fd = symbols_process_open(&m->mapped.by, m->path);
	if (fd < 0)
		return;
	open_apart_from(s, m, fd);
	close(fd);
}

/* A file that is being built anew may lose its end: then nothing more is looked up in it. */
static void module_open(struct symbols *s, struct symbols_module *m)
{
	struct opening o = {s, m};

	if (m->is_open)
		return;
	m->is_open = true;
	symbols_owner_begin();
	m->is_broken = !bus_error_try(open_files, &o);
	m->apart.is = symbols_owner_met(&m->apart.file.owner);
	if (!m->apart.is)
		return;
	close_files(m);
	open_apart(s, m);
}

uint32_t symbols_module_state(struct symbols *s, struct symbols_module *m)
{
	module_open(s, m);
	/* All of its files have been mapped, or are none. */
	if (m->mapped.fd >= 0)
		close(m->mapped.fd);
	m->mapped.fd = -1;
	if (m->is_broken)
		return 0;
	return (m->file.image.at ? SYMBOLS_HAS_IMAGE : 0) |
	       (m->table.cnt || m->dwarf ? SYMBOLS_HAS_NAMES : 0);
}

bool symbols_lost(const struct symbols *s, unsigned i, struct symbols_lost *lost)
{
	return s->apart && symbols_apart_lost(s->apart, i, lost);
}

static bool find_in_kernel(struct symbols *s, uint64_t address, const char **function,
			   const char **module)
{
	if (!s->has_kernel)
		s->kernel = symbols_kernel_open();
	s->has_kernel = true;
	return symbols_kernel_find(s, s->kernel, address, function, module);
}

void symbols_kernel_know(struct symbols *s, uint64_t address)
{
	const char *function, *module;

	find_in_kernel(s, address, &function, &module);
}

struct symbols_reader **symbols_reader(struct symbols *s)
{
	return &s->reader;
}

struct symbols_server *symbols_server(struct symbols *s)
{
	return &s->server;
}

/* ---- answers ---- */

struct question {
	struct symbols *symbols;
	struct symbols_module *module;
	uint64_t address;
	struct symbols_frame *frame;
	size_t room, cnt;
	uint64_t until;
};

static void look_up(void *of)
{
	struct question *q = of;
	struct symbols_module *m = q->module;
	const struct symbols_entry *e = symbols_table_find(&m->table, q->address);
	struct symbols_frame *outer;
	uint64_t entry = 0, table_until = symbols_table_until(&m->table, e, q->address);

	q->until = UINT64_MAX;
	if (m->dwarf)
		q->cnt = symbols_dwarf_at(q->symbols, m->dwarf, q->address, q->frame, q->room,
					  &entry, &q->until);
	if (table_until < q->until)
		q->until = table_until;
	if (!q->cnt && !e)
		return;
	if (!q->cnt)
		q->frame[q->cnt++] = (struct symbols_frame){0};
	outer = &q->frame[q->cnt - 1];
	/*
	 * The exported name is clearer than the source's: "read", not "__GI___libc_read". And variants that
	 * the compiler made of C++ functions have their full name here only.
	 */
	if (e && (!outer->function ||
		  (e->at == entry && (!e->is_local || strncmp(e->name, "_Z", 2) == 0))))
		outer->function = symbols_demangled(q->symbols, e->name);
	outer->is_interpreter = (e && symbols_is_interpreter(e->name)) ||
				(outer->function && symbols_is_interpreter(outer->function));
}

static bool has_names(const struct symbols_module *m)
{
	return m->apart.is ? m->apart.file.state & SYMBOLS_HAS_NAMES : m->table.cnt || m->dwarf;
}

static size_t ask_apart(struct symbols *s, struct symbols_module *m, uint64_t address,
			struct symbols_frame *frame, size_t room)
{
	enum symbols_apart_result result = SYMBOLS_APART_ANEW;
	size_t cnt = 0;

	/* The process that knows the file may have given way to those of other owners. */
	for (int i = 0; i < 2 && result == SYMBOLS_APART_ANEW && !m->is_broken; i++) {
		result = symbols_apart_ask(s->apart, s, &m->apart.file, m->path, address, frame,
					   room, &cnt);
		if (result == SYMBOLS_APART_ANEW)
			open_apart(s, m);
		else
			m->is_broken = result != SYMBOLS_APART_DONE;
	}
	return cnt;
}

size_t symbols_ask(struct symbols *s, struct symbols_module *m, uint64_t address,
		   struct symbols_frame *frame, size_t room, uint64_t *until)
{
	struct question q = {s, m, address, frame, room, 0, address + 1};

	*until = address + 1;
	module_open(s, m);
	if (m->is_broken || !has_names(m))
		return 0;
	if (m->apart.is)
		return ask_apart(s, m, address, frame, room);
	m->is_broken = !bus_error_try(look_up, &q);
	if (m->is_broken)
		return 0;
	*until = q.until;
	return q.cnt;
}

static size_t place(const struct symbols_module *m, uint64_t address)
{
	size_t at = (size_t)(address * 0x9e3779b97f4a7c15u >> 16);

	while (m->answers.list[at &= m->answers.cap - 1].first &&
	       m->answers.list[at].address != address)
		at++;
	return at;
}

static bool grow_answers(struct symbols_module *m)
{
	struct symbols_module grown = {.answers.cap = m->answers.cap ? m->answers.cap * 2 : 256};

	grown.answers.list = calloc(grown.answers.cap, sizeof(*grown.answers.list));
	if (!grown.answers.list)
		return false;
	for (size_t i = 0; i < m->answers.cap; i++)
		if (m->answers.list[i].first)
			grown.answers.list[place(&grown, m->answers.list[i].address)] =
				m->answers.list[i];
	free(m->answers.list);
	m->answers.list = grown.answers.list;
	m->answers.cap = grown.answers.cap;
	return true;
}

static bool keep_frames(struct symbols_module *m, const struct symbols_frame *frame, size_t cnt)
{
	if (m->frames + cnt + 1 > m->frame_cap) {
		size_t cap = (m->frame_cap + cnt + 256) * 2;
		struct symbols_frame *more = realloc(m->frame, cap * sizeof(*more));

		if (!more)
			return false;
		m->frame = more;
		m->frame_cap = cap;
		if (!m->frames)
			m->frames = 1;
	}
	memcpy(m->frame + m->frames, frame, cnt * sizeof(*frame));
	m->frames += cnt;
	return true;
}

/* What an earlier recording has found. */
static bool is_in_cache(struct symbols *s, struct symbols_module *m, uint64_t address,
			struct symbols_frame *frame, size_t room, size_t *cnt)
{
	struct cached_key key = symbols_key_of(m);

	if (!m->build_id_len)
		return false;
	if (!s->has_cache)
		s->cache = symbols_cache_open();
	s->has_cache = true;
	if (!m->answers.has_asked_cache && s->cache)
		m->answers.cached = symbols_cache_module(s->cache, &key);
	m->answers.has_asked_cache = true;
	return m->answers.cached &&
	       symbols_cache_find(m->answers.cached, address, frame, room, cnt);
}

/* NULL: unavailable. */
static const struct answer *answer(struct symbols *s, struct symbols_module *m, uint64_t address)
{
	struct symbols_frame found[SYMBOLS_FRAMES_MAX + 1];
	struct answer *a;
	uint64_t until;
	size_t cnt;

	if (m->is_broken || (m->is_open && !has_names(m)))
		return NULL;
	if (m->answers.cnt * 2 >= m->answers.cap && !grow_answers(m))
		return NULL;
	a = &m->answers.list[place(m, address)];
	if (!a->first) {
		if (!is_in_cache(s, m, address, found, SYMBOLS_FRAMES_MAX + 1, &cnt)) {
			cnt = symbols_ask(s, m, address, found, SYMBOLS_FRAMES_MAX + 1, &until);
			m->answers.has_new = true;
		}
		if (!keep_frames(m, found, cnt))
			return NULL;
		a->address = address;
		a->first = (uint32_t)(m->frames - cnt);
		a->cnt = (uint32_t)cnt;
		m->answers.cnt++;
	}
	return a;
}

void symbols_know(struct symbols *s, struct symbols_module *m, uint64_t address)
{
	answer(s, m, address);
}

size_t symbols_at(struct symbols *s, struct symbols_module *m, uint64_t address,
		  struct symbols_frame *frame, size_t room)
{
	const struct answer *a;
	size_t cnt;

	__atomic_store_n(&s->server.is_waited_for, true, __ATOMIC_RELAXED);
	a = m && room ? answer(s, m, address) : NULL;
	if (!a)
		return 0;
	/* No room for all: the innermost are left out, which are the ones that were inlined. */
	cnt = a->cnt < room ? a->cnt : room;
	memcpy(frame, m->frame + a->first + (a->cnt - cnt), cnt * sizeof(*frame));
	return cnt;
}

/* ---- code without a file ---- */

bool symbols_jit(struct symbols *s, int64_t pid, uint64_t address, int64_t mono_ns,
		 struct symbols_frame *frame)
{
	struct jit **bucket = &s->jit[(uint64_t)pid % PIDS], *j = *bucket;

	while (j && j->pid != pid)
		j = j->next;
	if (!j) {
		j = calloc(1, sizeof(*j));
		if (!j)
			return false;
		j->pid = pid;
		__atomic_store_n(&s->server.is_waited_for, true, __ATOMIC_RELAXED);
		j->of = symbols_jit_open(pid, &s->jit_room, &s->server);
		j->next = *bucket;
		*bucket = j;
	}
	if (!j->of || !symbols_jit_find(j->of, address, mono_ns, frame))
		return false;
	frame->function = symbols_demangled(s, frame->function);
	if (frame->file)
		frame->file = symbols_text(s, frame->file);
	return frame->function;
}

bool symbols_kernel(struct symbols *s, uint64_t address, struct symbols_frame *frame,
		    const char **module)
{
	const char *function;

	*module = "[kernel.kallsyms]";
	if (!find_in_kernel(s, address, &function, module))
		return false;
	*frame = (struct symbols_frame){.function = function};
	return true;
}
