/*
 * symbols_jit.c - functions that were made while the program ran, as their makers list them: /tmp/perf-PID.map (a
 * line each: address, size, name) and jitdump (records with times, as the kernel's tools/perf documents them).
 *
 * Memory is used again: of several functions at one address the right one is the youngest that was there by then. A map
 * has no times; later lines count more.
 *
 * A process of another mount or PID namespace has its map elsewhere: symbols_jit_kept.c.
 *
 * Any user may put a file under these names. So links are not followed, the owner counts, as with
 * perf; memory and steps are bounded; and the file is copied: a text parsed twice is the same
 * twice, and its end stays where it is.
 */
#include "collector/base/grow.h"
#include "collector/base/plain_file.h"
#include "collector/symbols/symbols_internal.h"
#include "collector/base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_BYTES  (1u << 20) /* between two looks at signals */
#define LINES_BYTES (1u << 20) /* of one function; real ones have a few KiB */
#define MOVE_STEPS  (1u << 27) /* back to the functions that are moved, of a process */
#define FIND_STEPS  (1u << 16) /* over functions that overlap */
#define USERS       64u

struct lines { /* of a jitdump, entries as there; all 0: none */
	const uint8_t *at;
	size_t len;
	uint64_t cnt;
};

struct function {
	uint64_t at, size, until; /* until: the largest end of it and those before */
	int64_t since;            /* CLOCK_MONOTONIC; INT64_MIN: not known */
	size_t number;            /* in the order of the files */
	size_t name_len;
	const char *name;
	struct lines lines;
};

struct content { /* of a file */
	uint8_t *at;
	size_t size;
};

struct symbols_jit {
	struct content file[8];
	unsigned files;
	struct function *list;
	size_t cnt, cap;
	size_t *room; /* in bytes, of the session */
	unsigned move_steps;
	char text[2][4096]; /* of the frame last found */
};

/* ---- files ---- */

static uid_t users[USERS];
static unsigned user_cnt;

void symbols_jit_trust(uid_t user)
{
	for (unsigned i = 0; i < user_cnt; i++)
		if (users[i] == user)
			return;
	if (user_cnt < USERS)
		users[user_cnt++] = user;
}

static bool is_trusted(uid_t owner, int64_t pid)
{
	char path[40];
	struct stat st;

	if (owner == 0 || owner == geteuid())
		return true;
	for (unsigned i = 0; i < user_cnt; i++)
		if (users[i] == owner)
			return true;
	snprintf(path, sizeof(path), "%s/%lld", proc_root(), (long long)pid);
	return stat(path, &st) == 0 && st.st_uid == owner;
}

/* Up to its end, if that comes within @size. False: it was cut off, cannot be read, or a signal is pending. */
static bool read_whole(int fd, uint8_t *to, size_t size, const struct symbols_server *server)
{
	size_t len = 0;

	while (len < size) {
		ssize_t n;

		if (symbols_is_interrupted(server))
			return false;
		n = read(fd, to + len, size - len < READ_BYTES ? size - len : READ_BYTES);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		len += (size_t)n;
	}
	return true;
}

/* Closes @fd, of a plain file with @st. */
static bool read_open(struct symbols_jit *j, int fd, const struct stat *st, int64_t pid,
		      const struct symbols_server *server)
{
	struct content c = {0};

	if (j->files < sizeof(j->file) / sizeof(j->file[0]) && st->st_size > 0 &&
	    (uint64_t)st->st_size <= *j->room && is_trusted(st->st_uid, pid)) {
		c.size = (size_t)st->st_size;
		c.at = malloc(c.size);
	}
	if (c.at && !read_whole(fd, c.at, c.size, server)) {
		free(c.at);
		c.at = NULL;
	}
	close(fd);
	if (!c.at)
		return false;
	*j->room -= c.size;
	j->file[j->files++] = c;
	return true;
}

static bool read_file(struct symbols_jit *j, const char *path, int64_t pid,
		      const struct symbols_server *server)
{
	struct stat st;
	int fd = plain_file_open(path, false, &st);

	return fd >= 0 && read_open(j, fd, &st, pid, server);
}

/* Of a process in another namespace: a file here by its number is another's. */
static bool read_kept(struct symbols_jit *j, int64_t pid, const struct symbols_server *server)
{
	struct stat st;
	int fd;

	symbols_jit_keep(pid);
	fd = symbols_jit_kept(pid);
	if (fd >= 0 && fstat(fd, &st) < 0) {
		close(fd);
		return false;
	}
	return fd >= 0 && read_open(j, fd, &st, pid, server);
}

static void add(struct symbols_jit *j, const struct function *f)
{
	if (*j->room < sizeof(*f) || !grow(&j->list, j->cnt, &j->cap, sizeof(*j->list)))
		return;
	*j->room -= sizeof(*f);
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

static void read_map(struct symbols_jit *j, const struct content *m)
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
			uint64_t lines_at, const struct lines *lines)
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
	if (lines_at == f.at)
		f.lines = *lines;
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
	for (size_t i = j->cnt; i-- && j->move_steps; j->move_steps--)
		if (j->list[i].at == move.from) {
			f = j->list[i];
			f.at = move.to;
			f.since = since;
			f.lines = (struct lines){0}; /* they are by address */
			add(j, &f);
			return;
		}
}

static void read_dump(struct symbols_jit *j, const struct content *m)
{
	struct lines lines = {0};
	uint64_t lines_at = 0;
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
			dump_loaded(j, body, len, since, lines_at, &lines);
			lines = (struct lines){0}; /* they are of the one that follows */
		} else if (r.id == DUMP_MOVE) {
			dump_moved(j, body, len, since);
		} else if (r.id == DUMP_LINES && len >= sizeof(struct dump_lines)) {
			struct dump_lines head;

			memcpy(&head, body, sizeof(head));
			len -= sizeof(head);
			lines_at = head.at;
			lines = (struct lines){.at = body + sizeof(head),
					       .len = len < LINES_BYTES ? len : LINES_BYTES,
					       .cnt = head.cnt};
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

static void read_dumps(struct symbols_jit *j, const char *pattern, int64_t pid,
		       const struct symbols_server *server)
{
	glob_t found;

	if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0) {
		for (size_t i = 0; i < found.gl_pathc; i++)
			if (read_file(j, found.gl_pathv[i], pid, server))
				read_dump(j, &j->file[j->files - 1]);
		globfree(&found);
	}
}

struct symbols_jit *symbols_jit_open(int64_t pid, size_t *room, const struct symbols_server *server)
{
	struct symbols_jit *j = calloc(1, sizeof(*j));
	const char *home = getenv("HOME");
	char path[PATH_MAX];
	uint64_t until = 0;

	if (!j)
		return NULL;
	j->room = room;
	j->move_steps = MOVE_STEPS;
	snprintf(path, sizeof(path), "/tmp/perf-%lld.map", (long long)pid);
	if (read_kept(j, pid, server) || read_file(j, path, pid, server))
		read_map(j, &j->file[j->files - 1]);
	snprintf(path, sizeof(path), "/tmp/jit-%lld.dump", (long long)pid);
	read_dumps(j, path, pid, server);
	snprintf(path, sizeof(path), "jit-%lld.dump", (long long)pid);
	read_dumps(j, path, pid, server);
	snprintf(path, sizeof(path), "%s/.debug/jit/*/jit-%lld.dump", home ? home : "",
		 (long long)pid);
	read_dumps(j, path, pid, server);
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
		free(j->file[i].at);
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
static void find_line(struct symbols_jit *j, const struct lines *l, uint64_t address,
		      struct symbols_frame *frame)
{
	static const char same[] = "\xff";
	const char *name = NULL, *found = NULL;

	for (size_t at = 0, i = 0; i < l->cnt && at + LINE_HEAD < l->len; i++) {
		const char *text = (const char *)l->at + at + LINE_HEAD;
		size_t room = l->len - at - LINE_HEAD, len = strnlen(text, room);
		uint64_t where;
		uint32_t line;

		if (len == room)
			break;
		memcpy(&where, l->at + at, 8);
		memcpy(&line, l->at + at + 8, 4);
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
	size_t low = 0, high = j->cnt, steps = FIND_STEPS;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (j->list[mid].at <= address)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low && steps && j->list[low - 1].until > address; low--, steps--) {
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
	find_line(j, &best->lines, address, frame);
	return true;
}
