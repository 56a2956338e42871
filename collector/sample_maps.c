/*
 * sample_maps.c - see sample_maps.h.
 *
 * The maps of a process are read when it is first sampled, and again when an address is in none of them. What has no
 * mapping (a stack without frame pointers has such addresses) does not make us read for every sample.
 */
#include "collector/sample_maps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collector/db.h"

#define BUCKETS     256u
#define CACHE       8192u /* frames, by address */
#define REREAD_NS   UINT64_C(100000000)
#define LATE_NS     UINT64_C(5000000000) /* so long after its end samples of a process may be read */
#define KERNEL_NAME "[kernel.kallsyms]"

struct range {
	uint64_t from, to;
	int64_t module;
};

struct space {
	struct space *next;
	uint32_t pid;
	uint32_t parent; /* whose copy it is; 0: its own */
	uint64_t serial; /* of what it holds, for the cache */
	uint64_t read_ns, ended_ns;
	struct range *ranges;
	size_t cnt, cap;
};

struct symbol {
	uint64_t at;
	const char *name, *module; /* module NULL: of the kernel itself */
};

struct cached {
	uint64_t serial, ip; /* serial 0: empty; 1: the kernel */
	struct sample_frame frame;
};

struct sample_maps {
	struct space *bucket[BUCKETS];
	uint64_t serial, purged_ns;
	bool has_kernel; /* was tried */
	char *text;
	struct symbol *symbols;
	size_t symbol_cnt;
	struct cached cache[CACHE];
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int64_t text_id(struct db *db, const char *text)
{
	return db_string(db, text, strlen(text));
}

struct sample_maps *sample_maps_new(void)
{
	struct sample_maps *m = calloc(1, sizeof(*m));

	if (m)
		m->serial = 1;
	return m;
}

static void space_free(struct space *s)
{
	free(s->ranges);
	free(s);
}

void sample_maps_free(struct sample_maps *m)
{
	if (!m)
		return;
	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct space *s = m->bucket[i], *next; s; s = next) {
			next = s->next;
			space_free(s);
		}
	free(m->symbols);
	free(m->text);
	free(m);
}

/* ---- processes ---- */

static struct space *space_find(struct sample_maps *m, uint32_t pid)
{
	struct space *s = m->bucket[pid % BUCKETS];

	while (s && s->pid != pid)
		s = s->next;
	return s;
}

static struct space *space_get(struct sample_maps *m, uint32_t pid)
{
	struct space *s = space_find(m, pid);

	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->pid = pid;
	s->serial = ++m->serial;
	s->next = m->bucket[pid % BUCKETS];
	m->bucket[pid % BUCKETS] = s;
	return s;
}

static void space_clear(struct sample_maps *m, struct space *s)
{
	s->serial = ++m->serial;
	s->cnt = 0;
	s->parent = 0;
	s->read_ns = s->ended_ns = 0;
}

void sample_maps_forked(struct sample_maps *m, uint32_t pid, uint32_t parent)
{
	struct space *s = space_get(m, pid);

	if (!s)
		return;
	space_clear(m, s);
	s->parent = parent;
}

void sample_maps_execed(struct sample_maps *m, uint32_t pid)
{
	struct space *s = space_find(m, pid);

	if (s)
		space_clear(m, s);
}

/* Those that ended long ago go. */
static void purge(struct sample_maps *m, uint64_t now)
{
	m->purged_ns = now;
	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct space **at = &m->bucket[i], *s; (s = *at);) {
			if (!s->ended_ns || now - s->ended_ns < LATE_NS) {
				at = &s->next;
				continue;
			}
			*at = s->next;
			space_free(s);
		}
}

void sample_maps_ended(struct sample_maps *m, uint32_t pid)
{
	struct space *s = space_find(m, pid);
	uint64_t now = now_ns();

	if (s)
		s->ended_ns = now;
	if (now - m->purged_ns > LATE_NS)
		purge(m, now);
}

/* ---- maps ---- */

static void add_range(struct space *s, const struct range *r)
{
	struct range *grown;

	if (s->cnt == s->cap) {
		grown = realloc(s->ranges, (s->cap * 2 + 16) * sizeof(*grown));
		if (!grown)
			return;
		s->ranges = grown;
		s->cap = s->cap * 2 + 16;
	}
	s->ranges[s->cnt++] = *r;
}

/* What the process has now, if it is still there: else what was known of it stays. */
static void read_maps(struct sample_maps *m, struct db *db, struct space *s)
{
	char path[32], *line = NULL;
	size_t size = 0;
	FILE *f;

	s->read_ns = now_ns();
	snprintf(path, sizeof(path), "/proc/%u/maps", s->pid);
	f = s->ended_ns ? NULL : fopen(path, "re");
	for (size_t lines = 0; f && getline(&line, &size, f) > 0; lines++) {
		struct range r;
		char may[5];
		int at = 0;

		if (!lines) { /* a process that has just ended has none */
			s->cnt = 0;
			s->serial = ++m->serial;
		}
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %*s %n", &r.from, &r.to, may,
			   &at) < 3 ||
		    may[2] != 'x' || !at)
			continue;
		line[strcspn(line, "\n")] = 0;
		r.module = text_id(db, line[at] ? line + at : "[anonymous]");
		add_range(s, &r);
	}
	free(line);
	if (f)
		fclose(f);
}

/* The file is in the order of addresses. */
static const struct range *range_at(const struct space *s, uint64_t ip)
{
	size_t low = 0, high = s->cnt;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (s->ranges[mid].to <= ip)
			low = mid + 1;
		else
			high = mid;
	}
	return low < s->cnt && s->ranges[low].from <= ip ? &s->ranges[low] : NULL;
}

static const struct range *find_range(struct sample_maps *m, struct db *db, struct space *s,
				      uint64_t ip)
{
	struct space *from = s->parent ? space_find(m, s->parent) : NULL;
	const struct range *r = range_at(s, ip);

	if (!r && from)
		r = range_at(from, ip);
	if (r || now_ns() - s->read_ns < REREAD_NS)
		return r;
	read_maps(m, db, s);
	return range_at(s, ip);
}

/* ---- the kernel ---- */

static int by_address(const void *a, const void *b)
{
	const struct symbol *one = a, *other = b;

	return one->at < other->at ? -1 : one->at > other->at;
}

static char *whole_file(const char *path)
{
	FILE *f = fopen(path, "re");
	size_t len = 0, cap = 1u << 22, n;
	char *text = f ? malloc(cap) : NULL, *grown;

	while (text && (n = fread(text + len, 1, cap - len - 1, f)) > 0) {
		len += n;
		if (cap - len > 1)
			continue;
		grown = realloc(text, cap *= 2);
		if (!grown)
			break;
		text = grown;
	}
	if (text)
		text[len] = 0;
	if (f)
		fclose(f);
	return text;
}

/* "ffffffff81000000 T name\t[module]", of code; addresses are 0 for those who may not know them. */
static bool parse_symbol(char *line, struct symbol *s)
{
	char *end, *tab;

	s->at = strtoull(line, &end, 16);
	if (!s->at || end[0] != ' ' || !end[1] || !strchr("tTwW", end[1]) || end[2] != ' ')
		return false;
	s->name = end + 3;
	s->module = NULL;
	tab = strchr(end + 3, '\t');
	if (tab) {
		*tab = 0;
		s->module = tab + 1;
	}
	return true;
}

static void read_kernel(struct sample_maps *m)
{
	size_t cap = 0;
	char *save = NULL;

	m->has_kernel = true;
	m->text = whole_file("/proc/kallsyms");
	for (char *line = m->text ? strtok_r(m->text, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save)) {
		if (m->symbol_cnt == cap) {
			struct symbol *grown =
				realloc(m->symbols, (cap = cap * 2 + 65536) * sizeof(*grown));

			if (!grown)
				break;
			m->symbols = grown;
		}
		m->symbol_cnt += parse_symbol(line, &m->symbols[m->symbol_cnt]);
	}
	if (m->symbol_cnt)
		qsort(m->symbols, m->symbol_cnt, sizeof(*m->symbols), by_address);
}

static const struct symbol *symbol_at(struct sample_maps *m, uint64_t ip)
{
	size_t low = 0, high;

	if (!m->has_kernel)
		read_kernel(m);
	for (high = m->symbol_cnt; low < high;) {
		size_t mid = (low + high) / 2;

		if (m->symbols[mid].at <= ip)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? &m->symbols[low - 1] : NULL;
}

/* ---- frames ---- */

static struct sample_frame make(struct sample_maps *m, struct db *db, struct space *s, uint64_t ip,
				bool is_kernel, bool *is_known)
{
	const struct symbol *in_kernel = is_kernel ? symbol_at(m, ip) : NULL;
	const struct range *r = is_kernel ? NULL : s ? find_range(m, db, s, ip) : NULL;
	struct sample_frame frame = {.is_address = !in_kernel};
	char address[32];

	*is_known = is_kernel || r;
	snprintf(address, sizeof(address), "0x%" PRIx64, ip);
	frame.symbol = text_id(db, in_kernel ? in_kernel->name : address);
	if (r)
		frame.module = r->module;
	else if (is_kernel)
		frame.module = text_id(db, in_kernel && in_kernel->module ? in_kernel->module
									  : KERNEL_NAME);
	else
		frame.module = text_id(db, "[Unknown]");
	return frame;
}

struct sample_frame sample_maps_find(struct sample_maps *m, struct db *db, uint32_t pid,
				     uint64_t ip, bool is_kernel)
{
	struct space *s = is_kernel ? NULL : space_get(m, pid);
	uint64_t serial = s ? s->serial : 1;
	struct sample_frame frame;
	bool is_known;
	struct cached *c = &m->cache[(ip ^ ip >> 13 ^ serial * 2654435761u) % CACHE];

	if (c->serial == serial && c->ip == ip)
		return c->frame;
	frame = make(m, db, s, ip, is_kernel, &is_known);
	if (!is_known) /* yet: code that was made, or loaded, since the maps were read */
		return frame;
	c->frame = frame;
	c->serial = s ? s->serial : 1; /* its maps may just have been read */
	c->ip = ip;
	return frame;
}
