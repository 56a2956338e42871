/*
 * symbols.c - the session: modules by address, and the cache of results.
 *
 * Symbol tables are read here (symbols_table.c), debug information by libdw. Of elfutils only libdw is used, not
 * libdwfl: which file is the right one is ours to say, and libdwfl brings a client of debuginfod that cannot be given
 * a time to be ready in.
 */
#include "collector/symbols/symbols_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/plain_file.h"
#include "collector/symbols/symbols_answer.h"
#include "collector/symbols/symbols_apart.h"
#include "collector/symbols/symbols_owner.h"
#include "collector/symbols/sigbus_guard.h"
#include "collector/symbols/symbols_cache.h"
#include "collector/symbols/demangle.h"

#define BLOCK_BYTES 65536u
#define MODULES     1024u /* buckets */
#define PIDS        64u
#define JIT_BYTES   (256u << 20) /* bytes kept of maps and dumps of code made at run time */

struct block {
	struct block *next;
	size_t used;
	char text[];
};

/* Texts, each once, by their sources. */
struct known {
	const char *key, *text;
};

struct answer {
	uint64_t address;
	uint32_t first, cnt; /* in the module's frames; first 0: free */
};

struct symbols_module {
	struct symbols_module *next;
	char *path;
	uint8_t build_id[64];
	size_t build_id_len;
	struct {
		struct symbols_mapped by; /* pid 0: not known */
		int fd;                   /* descriptor of the file; -1: none */
	} mapped;
	bool is_open, is_broken;
	struct {
		bool is; /* read by another process: its names are not here */
		struct symbols_apart_file file;
	} apart;
	struct symbols_file file;
	struct symbols_table table;
	struct symbols_dwarf *dwarf;
	struct symbols_frame *frame; /* of all answers; the first is not used */
	size_t frames, frame_cap;
	struct {
		struct answer *list; /* open addressing */
		size_t cnt, cap;
		const struct cached_module *cached; /* of earlier recordings; NULL: none */
		bool has_asked_cache, has_new;      /* new: not from there */
	} answers;
};

struct jit {
	struct jit *next;
	int64_t pid;
	struct symbols_jit *of; /* NULL: nothing there */
};

struct symbols {
	struct block *blocks;
	struct known *known;
	size_t known_cnt, known_cap;
	struct symbols_module *module[MODULES];
	struct jit *jit[PIDS];
	size_t jit_room; /* in bytes */
	struct symbols_kernel *kernel;
	bool has_kernel; /* was tried */
	struct symbols_cache *cache;
	bool has_cache; /* was tried */
	struct symbols_server server;
	struct symbols_reader *reader;
	struct symbols_apart *apart; /* NULL: no file of another user yet */
	unsigned held;               /* descriptors of files */
};

#define HELD_MOST 64
/* For later recordings: bytes around an address, and all that are looked at in a file. */
#define SPAN_MOST 256u
#define WALK_MOST 8192u

static size_t hash_text(const char *text)
{
	uint64_t h = 14695981039346656037u;

	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * 1099511628211u;
	return (size_t)(h ^ h >> 32);
}

/* ---- texts ---- */

static char *keep(struct symbols *s, const char *text)
{
	size_t len = strlen(text) + 1, cap = len > BLOCK_BYTES ? len : BLOCK_BYTES;
	struct block *b = s->blocks;
	char *copy;

	if (!b || cap - b->used < len || len > BLOCK_BYTES) {
		b = malloc(sizeof(*b) + cap);
		if (!b)
			return NULL;
		b->used = 0;
		b->next = s->blocks;
		s->blocks = b;
	}
	copy = b->text + b->used;
	memcpy(copy, text, len);
	b->used += len;
	return copy;
}

static bool grow_known(struct symbols *s)
{
	size_t cap = s->known_cap ? s->known_cap * 2 : 4096;
	struct known *list = calloc(cap, sizeof(*list));

	if (!list)
		return false;
	for (size_t i = 0; i < s->known_cap; i++) {
		size_t at;

		if (!s->known[i].key)
			continue;
		for (at = hash_text(s->known[i].key); list[at &= cap - 1].key; at++)
			;
		list[at] = s->known[i];
	}
	free(s->known);
	s->known = list;
	s->known_cap = cap;
	return true;
}

static struct known *known_at(struct symbols *s, const char *key)
{
	size_t at;

	if (s->known_cnt * 2 >= s->known_cap && !grow_known(s))
		return NULL;
	for (at = hash_text(key); s->known[at &= s->known_cap - 1].key; at++)
		if (strcmp(s->known[at].key, key) == 0)
			break;
	return &s->known[at];
}

const char *symbols_text(struct symbols *s, const char *text)
{
	struct known *k = known_at(s, text);

	if (k && !k->key) {
		k->key = keep(s, text);
		s->known_cnt += k->key != NULL;
	}
	return k ? k->key : NULL;
}

const char *symbols_demangled(struct symbols *s, const char *symbol)
{
	struct known *k = known_at(s, symbol);
	char *name;

	if (!k)
		return NULL;
	if (!k->key) {
		k->key = keep(s, symbol);
		if (!k->key)
			return NULL;
		s->known_cnt++;
	}
	if (!k->text) {
		name = demangle_function(symbol);
		k->text = name && *name ? keep(s, name) : k->key;
		free(name);
	}
	return k->text;
}

/*
 * The loop of the interpreter is one function, in parts: the one that is called, and ".cold" or the like. Where it is
 * built of functions that call each other at their ends (3.14), any of them.
 */
bool symbols_is_interpreter(const char *symbol)
{
	static const char loop[] = "_PyEval_EvalFrameDefault", tail[] = "_TAIL_CALL_";

	return (strncmp(symbol, loop, sizeof(loop) - 1) == 0 &&
		(!symbol[sizeof(loop) - 1] || symbol[sizeof(loop) - 1] == '.')) ||
	       strncmp(symbol, tail, sizeof(tail) - 1) == 0;
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

static struct cached_key key_of(const struct symbols_module *m)
{
	return (struct cached_key){m->build_id, m->build_id_len, m->path, m->mapped.fd};
}

/* Debug information of its own, for a file that its path leads to: what distributions ship. */
static bool is_kept(const struct symbols_module *m)
{
	return m->answers.has_new && m->build_id_len && !m->is_broken && m->dwarf &&
	       m->file.debug.at && (m->mapped.fd >= 0 || strcmp(m->file.path, m->path) == 0) &&
	       symbols_dwarf_is_alone(m->dwarf);
}

static void cache_write(struct symbols *s);

void symbols_close(struct symbols *s)
{
	if (!s || symbols_leave(s))
		return;
	if (s->cache)
		cache_write(s);
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
	for (struct block *b = s->blocks, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	free(s->known);
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
};

static void look_up(void *of)
{
	struct question *q = of;
	struct symbols_module *m = q->module;
	const struct symbols_entry *e = symbols_table_find(&m->table, q->address);
	struct symbols_frame *outer;
	uint64_t entry = 0;

	if (m->dwarf)
		q->cnt = symbols_dwarf_at(q->symbols, m->dwarf, q->address, q->frame, q->room,
					  &entry);
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

static size_t ask(struct symbols *s, struct symbols_module *m, uint64_t address,
		  struct symbols_frame *frame, size_t room)
{
	struct question q = {s, m, address, frame, room, 0};

	module_open(s, m);
	if (m->is_broken || !has_names(m))
		return 0;
	if (m->apart.is)
		return ask_apart(s, m, address, frame, room);
	m->is_broken = !bus_error_try(look_up, &q);
	return m->is_broken ? 0 : q.cnt;
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
	struct cached_key key = key_of(m);

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
	size_t cnt;

	if (m->is_broken || (m->is_open && !has_names(m)))
		return NULL;
	if (m->answers.cnt * 2 >= m->answers.cap && !grow_answers(m))
		return NULL;
	a = &m->answers.list[place(m, address)];
	if (!a->first) {
		if (!is_in_cache(s, m, address, found, SYMBOLS_FRAMES_MAX + 1, &cnt)) {
			cnt = ask(s, m, address, found, SYMBOLS_FRAMES_MAX + 1);
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

/* ---- answers for later recordings ---- */

static bool is_equal(const struct symbols_frame *a, const struct symbols_frame *b, size_t cnt)
{
	/* Texts are kept once. */
	for (size_t i = 0; i < cnt; i++)
		if (a[i].function != b[i].function || a[i].file != b[i].file ||
		    a[i].line != b[i].line || a[i].is_inlined != b[i].is_inlined ||
		    a[i].is_interpreter != b[i].is_interpreter)
			return false;
	return true;
}

struct walk { /* through addresses of a file, in order */
	struct symbols *symbols;
	struct symbols_module *module;
	struct cached_span span; /* bytes 0: none */
	struct symbols_frame frame[SYMBOLS_FRAMES_MAX + 1];
	size_t cnt, left; /* left: addresses that may still be asked for */
};

static void put_span(struct walk *w)
{
	if (w->span.bytes)
		symbols_cache_answer(w->symbols->cache, &w->span, w->frame, w->cnt);
	w->span.bytes = 0;
}

static void walk_over(struct walk *w, uint64_t address)
{
	struct symbols_frame found[SYMBOLS_FRAMES_MAX + 1];
	size_t cnt = ask(w->symbols, w->module, address, found, SYMBOLS_FRAMES_MAX + 1);

	if (w->span.bytes && w->span.from + w->span.bytes == address && cnt == w->cnt &&
	    is_equal(found, w->frame, cnt)) {
		w->span.bytes++;
		return;
	}
	put_span(w);
	w->span = (struct cached_span){address, 1};
	memcpy(w->frame, found, cnt * sizeof(*found));
	w->cnt = cnt;
}

/* A sample is rarely taken at the same place again, but often near it. */
static void walk_around(struct walk *w, uint64_t address, uint64_t *done)
{
	uint64_t from = address > SPAN_MOST ? address - SPAN_MOST : 0;

	for (uint64_t at = from > *done ? from : *done; at < address + SPAN_MOST && w->left; at++) {
		w->left--;
		walk_over(w, at);
		*done = at + 1;
	}
}

static int by_number(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return one < other ? -1 : one > other;
}

/* New ones, in order. */
static size_t new_addresses(const struct symbols_module *m, uint64_t *list)
{
	struct symbols_frame known[SYMBOLS_FRAMES_MAX + 1];
	size_t new = 0, cnt;

	for (size_t i = 0; i < m->answers.cap; i++) {
		const struct answer *a = &m->answers.list[i];

		if (a->first &&
		    !(m->answers.cached && symbols_cache_find(m->answers.cached, a->address, known,
							      SYMBOLS_FRAMES_MAX + 1, &cnt)))
			list[new ++] = a->address;
	}
	qsort(list, new, sizeof(*list), by_number);
	return new;
}

static void cache_module(struct symbols *s, struct symbols_module *m)
{
	const struct cached_key key = key_of(m);
	uint64_t *list = is_kept(m) ? calloc(m->answers.cnt + 1, sizeof(*list)) : NULL, done = 0;
	struct walk w = {.symbols = s, .module = m, .left = WALK_MOST};
	size_t cnt;

	if (list && symbols_cache_add(s->cache, &key, m->file.debug_path, m->answers.cached)) {
		cnt = new_addresses(m, list);
		for (size_t i = 0; i < cnt; i++)
			walk_around(&w, list[i], &done);
		if (!m->is_broken)
			put_span(&w);
	}
	free(list);
}

static void cache_write(struct symbols *s)
{
	for (unsigned i = 0; i < MODULES; i++)
		for (struct symbols_module *m = s->module[i]; m; m = m->next)
			cache_module(s, m);
	symbols_cache_end(s->cache);
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
