/*
 * symbols_jit.c - functions that were made while the program ran, as their makers list them: /tmp/perf-PID.map (a
 * line each: address, size, name) and jitdump (records with times, as the kernel's tools/perf documents them).
 *
 * Memory is used again: of several functions at one address the right one is the youngest that was there by then. A map
 * has no times; later lines count more.
 */
#include "collector/base/grow.h"
#include "collector/symbols/symbols_internal.h"

#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct function {
	uint64_t at, size, until; /* until: the largest end of it and those before */
	int64_t since;            /* CLOCK_MONOTONIC; INT64_MIN: not known */
	size_t number;            /* in the order of the files */
	size_t name_len;
	const char *name;
	const uint8_t *lines; /* of a jitdump, entries as there; NULL: none */
	uint64_t line_cnt;
	size_t lines_len;
};

struct text_map { /* a file in memory */
	const uint8_t *at;
	size_t size;
};

struct symbols_jit {
	struct text_map file[8];
	unsigned files;
	struct function *list;
	size_t cnt, cap;
	char text[2][4096]; /* of the frame last found */
};

static bool map_file(struct symbols_jit *j, const char *path, struct text_map *m)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	void *at = MAP_FAILED;

	if (fd < 0)
		return false;
	if (j->files < sizeof(j->file) / sizeof(j->file[0]) && fstat(fd, &st) == 0 &&
	    S_ISREG(st.st_mode) && st.st_size > 0)
		at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (at == MAP_FAILED)
		return false;
	*m = (struct text_map){at, (size_t)st.st_size};
	j->file[j->files++] = *m;
	return true;
}

static void add(struct symbols_jit *j, const struct function *f)
{
	if (!grow(&j->list, j->cnt, &j->cap, sizeof(*j->list)))
		return;
	j->list[j->cnt] = *f;
	j->list[j->cnt].number = j->cnt;
	j->cnt++;
}

/* ---- perf-PID.map ---- */

static bool hex(const char **p, const char *end, uint64_t *value)
{
	const char *from = *p;

	*value = 0;
	if (end - *p > 2 && (*p)[0] == '0' && (*p)[1] == 'x')
		from = *p += 2;
	for (; *p < end; ++*p) {
		char c = **p;

		if (c >= '0' && c <= '9')
			*value = *value << 4 | (uint64_t)(c - '0');
		else if ((c | 32) >= 'a' && (c | 32) <= 'f')
			*value = *value << 4 | (uint64_t)((c | 32) - 'a' + 10);
		else
			break;
	}
	return *p > from && *p < end && **p == ' ' && ++*p;
}

static void read_map(struct symbols_jit *j, const struct text_map *m)
{
	const char *p = (const char *)m->at, *end = p + m->size, *eol;

	for (; p < end; p = eol + 1) {
		struct function f = {.since = INT64_MIN};

		eol = memchr(p, '\n', (size_t)(end - p));
		if (!eol) /* not written to its end */
			break;
		if (!hex(&p, eol, &f.at) || !hex(&p, eol, &f.size) || p == eol || !f.size)
			continue;
		f.name = p;
		f.name_len = (size_t)(eol - p);
		add(j, &f);
	}
}

/* ---- jitdump ---- */

#define DUMP_MAGIC      0x4a695444u
#define DUMP_ARCH_CLOCK 1u
#define DUMP_LOAD       0u
#define DUMP_MOVE       1u
#define DUMP_LINES      2u
#define LINE_HEAD       16u /* address, line, discriminator; then the name */

struct dump_head {
	uint32_t magic, version, size, machine, pad, pid;
	uint64_t time, flags;
};
struct dump_record {
	uint32_t id, size;
	uint64_t time;
};
struct dump_load {
	uint32_t pid, tid;
	uint64_t vma, at, size, index; /* then name and code */
};
struct dump_move {
	uint32_t pid, tid;
	uint64_t vma, from, to, size, index;
};
struct dump_lines {
	uint64_t at, cnt; /* then the entries */
};

static void dump_loaded(struct symbols_jit *j, const uint8_t *body, size_t len, int64_t since,
			const struct function *lines)
{
	struct function f = {.since = since};
	struct dump_load load;

	if (len <= sizeof(load))
		return;
	memcpy(&load, body, sizeof(load));
	f.at = load.at;
	f.size = load.size;
	f.name = (const char *)body + sizeof(load);
	f.name_len = strnlen(f.name, len - sizeof(load));
	if (lines->at == f.at) {
		f.lines = lines->lines;
		f.lines_len = lines->lines_len;
		f.line_cnt = lines->line_cnt;
	}
	if (f.size)
		add(j, &f);
}

static void dump_moved(struct symbols_jit *j, const uint8_t *body, size_t len, int64_t since)
{
	struct dump_move move;
	struct function f;

	if (len < sizeof(move))
		return;
	memcpy(&move, body, sizeof(move));
	for (size_t i = j->cnt; i--;)
		if (j->list[i].at == move.from) {
			f = j->list[i];
			f.at = move.to;
			f.since = since;
			f.lines = NULL; /* they are by address */
			add(j, &f);
			return;
		}
}

static void read_dump(struct symbols_jit *j, const struct text_map *m)
{
	struct function lines = {0};
	struct dump_head h;
	struct dump_record r;

	if (m->size < sizeof(h))
		return;
	memcpy(&h, m->at, sizeof(h));
	if (h.magic != DUMP_MAGIC || h.size < sizeof(h))
		return;
	for (size_t at = h.size; at < m->size && m->size - at >= sizeof(r); at += r.size) {
		const uint8_t *body = m->at + at + sizeof(r);
		int64_t since;
		size_t len;

		memcpy(&r, m->at + at, sizeof(r));
		if (r.size < sizeof(r) || r.size > m->size - at)
			break;
		len = r.size - sizeof(r);
		since = h.flags & DUMP_ARCH_CLOCK ? INT64_MIN : (int64_t)r.time;
		if (r.id == DUMP_LOAD) {
			dump_loaded(j, body, len, since, &lines);
			lines = (struct function){0}; /* they are of the one that follows */
		} else if (r.id == DUMP_MOVE) {
			dump_moved(j, body, len, since);
		} else if (r.id == DUMP_LINES && len >= sizeof(struct dump_lines)) {
			struct dump_lines head;

			memcpy(&head, body, sizeof(head));
			lines = (struct function){.at = head.at,
						  .lines = body + sizeof(head),
						  .lines_len = len - sizeof(head),
						  .line_cnt = head.cnt};
		}
	}
}

/* ---- both ---- */

static int by_address(const void *a, const void *b)
{
	const struct function *one = a, *other = b;

	if (one->at != other->at)
		return one->at < other->at ? -1 : 1;
	return one->number < other->number ? -1 : one->number > other->number;
}

static void read_dumps(struct symbols_jit *j, const char *pattern)
{
	struct text_map m;
	glob_t found;

	if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0) {
		for (size_t i = 0; i < found.gl_pathc; i++)
			if (map_file(j, found.gl_pathv[i], &m))
				read_dump(j, &m);
		globfree(&found);
	}
}

struct symbols_jit *symbols_jit_open(int64_t pid)
{
	struct symbols_jit *j = calloc(1, sizeof(*j));
	const char *home = getenv("HOME");
	struct text_map m;
	char path[PATH_MAX];
	uint64_t until = 0;

	if (!j)
		return NULL;
	snprintf(path, sizeof(path), "/tmp/perf-%lld.map", (long long)pid);
	if (map_file(j, path, &m))
		read_map(j, &m);
	snprintf(path, sizeof(path), "/tmp/jit-%lld.dump", (long long)pid);
	read_dumps(j, path);
	snprintf(path, sizeof(path), "jit-%lld.dump", (long long)pid);
	read_dumps(j, path);
	snprintf(path, sizeof(path), "%s/.debug/jit/*/jit-%lld.dump", home ? home : "",
		 (long long)pid);
	read_dumps(j, path);
	if (!j->cnt) {
		symbols_jit_close(j);
		return NULL;
	}
	qsort(j->list, j->cnt, sizeof(*j->list), by_address);
	for (size_t i = 0; i < j->cnt; i++) {
		struct function *f = &j->list[i];

		if (f->size > UINT64_MAX - f->at)
			f->size = UINT64_MAX - f->at;
		if (f->at + f->size > until)
			until = f->at + f->size;
		f->until = until;
	}
	return j;
}

void symbols_jit_close(struct symbols_jit *j)
{
	if (!j)
		return;
	for (unsigned i = 0; i < j->files; i++)
		munmap((void *)j->file[i].at, j->file[i].size);
	free(j->list);
	free(j);
}

/* Which of two that cover the address? */
static bool is_better(const struct function *f, const struct function *than, int64_t ns)
{
	bool there = f->since <= ns, was_there = than && than->since <= ns;

	if (!than || there != was_there)
		return !than || there;
	if (f->since != than->since)
		return there ? f->since > than->since : f->since < than->since;
	return f->number > than->number;
}

/* Entries are in the order of addresses; a file's name may be given as "the same as before". */
static void find_line(struct symbols_jit *j, const struct function *f, uint64_t address,
		      struct symbols_frame *frame)
{
	static const char same[] = "\xff";
	const char *name = NULL, *found = NULL;

	for (size_t at = 0, i = 0; i < f->line_cnt && at + LINE_HEAD < f->lines_len; i++) {
		const char *text = (const char *)f->lines + at + LINE_HEAD;
		size_t room = f->lines_len - at - LINE_HEAD, len = strnlen(text, room);
		uint64_t where;
		uint32_t line;

		if (len == room)
			break;
		memcpy(&where, f->lines + at, 8);
		memcpy(&line, f->lines + at + 8, 4);
		if (strcmp(text, same) != 0)
			name = text;
		if (where <= address) {
			found = name;
			frame->line = line <= INT_MAX ? (int)line : 0;
		}
		at += LINE_HEAD + len + 1;
	}
	if (!found)
		return;
	snprintf(j->text[1], sizeof(j->text[1]), "%s", found);
	frame->file = j->text[1];
}

bool symbols_jit_find(struct symbols_jit *j, uint64_t address, int64_t mono_ns,
		      struct symbols_frame *frame)
{
	const struct function *best = NULL;
	size_t low = 0, high = j->cnt;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (j->list[mid].at <= address)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low && j->list[low - 1].until > address; low--) {
		const struct function *f = &j->list[low - 1];

		if (address - f->at < f->size && is_better(f, best, mono_ns))
			best = f;
	}
	if (!best)
		return false;
	*frame = (struct symbols_frame){.function = j->text[0]};
	snprintf(j->text[0], sizeof(j->text[0]), "%.*s",
		 best->name_len < sizeof(j->text[0]) ? (int)best->name_len
						     : (int)sizeof(j->text[0]),
		 best->name);
	find_line(j, best, address, frame);
	return true;
}
