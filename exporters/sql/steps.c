/* steps.c - reads the ranges that may be steps: the words of their names, and how often each occurs in a thread. */
#include "exporters/sql/steps_internal.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/search.h"
#include "exporters/read/sql_rows.h"
#include "exporters/sql/projection_internal.h"
#include "exporters/sql/sweeps.h"

static bool is_like(const char *pattern, const char *text)
{
	return sqlite3_strlike(pattern, text, 0) == 0;
}

/* ---- domains ---- */

/* Domains whose ranges libraries and the tracer make. */
static bool is_library(const char *domain)
{
	static const char *const names[] = {"GIL Trace", "NCCL",   "MPI",  "UCX",
					    "CCCL",      "cuBLAS", "cuDNN"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(domain, names[i]) == 0)
			return true;
	return false;
}

/* process, id, name: in order of the first two */
static int domain_row(void *ctx, sqlite3_stmt *q)
{
	struct steps *s = ctx;
	const char *name = (const char *)sqlite3_column_text(q, 2);
	struct step_domain *d;

	if (!name)
		return SQLITE_OK;
	if (!grow(&s->domains, s->domains_cnt, &s->domains_room, sizeof(*d)))
		return SQLITE_NOMEM;
	d = &s->domains[s->domains_cnt];
	*d = (struct step_domain){
		.process = sqlite3_column_int64(q, 0),
		.id = sqlite3_column_int64(q, 1),
		.name = strdup(name),
		.len = strlen(name),
		.is_library = is_library(name),
		.is_pytorch = strcmp(name, "pytorch") == 0,
		.is_marked = strcmp(name, "python-step") == 0,
	};
	if (!d->name)
		return SQLITE_NOMEM;
	s->domains_cnt++;
	s->by.only_marked = s->by.only_marked || d->is_marked;
	return SQLITE_OK;
}

static char no_name[] = "";
static const struct step_domain no_domain = {.name = no_name};

static const struct step_domain *domain_of(const struct steps *s, int64_t process,
					   struct sweep_id id)
{
	size_t low =
		search_first(i, 0, id.known ? s->domains_cnt : 0,
			     s->domains[i].process < process || (s->domains[i].process == process &&
								 s->domains[i].id < id.value));

	return id.known && low < s->domains_cnt && s->domains[low].process == process &&
			       s->domains[low].id == id.value
		       ? &s->domains[low]
		       : &no_domain;
}

/* ---- names ---- */

static bool may_be_step(const struct steps *s, const struct step_domain *d, const char *name)
{
	const char *own = name + d->len + 1;

	if (s->range)
		return is_like(s->range, own) || is_like(s->range, name);
	if (d->is_library || (s->by.only_marked && !d->is_marked))
		return false;
	if (is_like("aten::%", own) || is_like("%, op_id = %", own))
		return false;
	return !d->is_pytorch || is_like("Optimizer.step#%", own);
}

static enum likely likely_of(const char *name)
{
	if (is_like("%optimizer%", name))
		return LIKELY_NOT;
	if (is_like("%step%", name) || is_like("%iter%", name) || is_like("%batch%", name))
		return LIKELY_STEP;
	return is_like("%epoch%", name) ? LIKELY_EPOCH : LIKELY_NOT;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A # for each number, of 16 digits at most. In place; the length. */
static size_t cut_numbers(char *name, size_t len)
{
	size_t to = 0, at = 0;

	while (at < len && !is_digit(name[at]))
		at++;
	if (at == len)
		return len;
	for (at = 0; at < len;) {
		size_t run = 0;

		while (at + run < len && (is_digit(name[at + run]) || name[at + run] == '#'))
			run++;
		for (size_t i = 0; i < (run + 15) / 16; i++)
			name[to++] = '#';
		at += run;
		if (!run)
			name[to++] = name[at++];
	}
	name[to] = '\0';
	return to;
}

/* The stem of the name in the buffer, which it overwrites. */
static int find_stem(struct steps *s, const struct step_domain *d, size_t len, int64_t *stem)
{
	char *name = s->by.buf;
	size_t before = s->stems.cnt;
	enum likely likely;
	int rc;

	*stem = STEP_NONE;
	if (!may_be_step(s, d, name))
		return SQLITE_OK;
	likely = likely_of(name);
	len = cut_numbers(name, len);
	rc = hist_pool_add(&s->stems, name, (uint32_t)len, stem);
	if (rc != SQLITE_OK || s->stems.cnt == before)
		return rc;
	if (!grow(&s->found.stem, before, &s->found.stem_room, sizeof(*s->found.stem)))
		return SQLITE_NOMEM;
	s->found.stem[before] = (struct step_stem){
		.likely = likely, .is_optimizer = is_like("%optimizer%step%", name)};
	return SQLITE_OK;
}

/* The name in the buffer: its number and stem. */
static int find_name(struct steps *s, const struct step_domain *d, size_t len, int64_t *name,
		     int64_t *stem)
{
	bool is_full = s->names.bytes >= texts_bytes_max;
	struct step_names *b = &s->by;
	int rc = SQLITE_OK;

	/* A name that is no step takes no place in the file. */
	if (is_full && !may_be_step(s, d, b->buf)) {
		*stem = STEP_NONE;
		return SQLITE_OK;
	}
	rc = texts_add(&s->names, b->buf, len, name);
	if (rc == SQLITE_OK && is_full)
		return find_stem(s, d, len, stem);
	if (rc != SQLITE_OK)
		return rc;
	if ((size_t)*name <= b->cnt) {
		*stem = b->stem[*name - 1];
		return SQLITE_OK;
	}
	if (!grow(&b->stem, b->cnt, &b->room, sizeof(*b->stem)))
		return SQLITE_NOMEM;
	rc = find_stem(s, d, len, stem);
	b->stem[b->cnt++] = *stem;
	return rc;
}

/* Domain and text into the buffer. */
static int put_name(struct steps *s, const struct step_domain *d, const char *text, size_t text_len,
		    size_t *len)
{
	*len = d->len + 1 + text_len;
	if (*len >= s->by.buf_room) {
		free(s->by.buf);
		s->by.buf_room = 0;
		s->by.buf = malloc(*len * 2);
		if (!s->by.buf)
			return SQLITE_NOMEM;
		s->by.buf_room = *len * 2;
	}
	memcpy(s->by.buf, d->name, d->len);
	s->by.buf[d->len] = ':';
	memcpy(s->by.buf + d->len + 1, text, text_len);
	s->by.buf[*len] = '\0';
	return SQLITE_OK;
}

static int by_id(struct steps *s, const struct step_domain *d, struct sweep_id id, int64_t *name,
		 int64_t *stem)
{
	struct step_cached *c = &s->by.cache[(uint64_t)id.value % STEP_CACHE];
	sqlite3_stmt *q = s->by.by_id;
	const char *text = NULL;
	size_t len = 0;
	int rc;

	if (c->domain == d && c->id == id.value) {
		*name = c->name;
		*stem = c->stem;
		return SQLITE_OK;
	}
	sqlite3_bind_int64(q, 1, id.value);
	rc = sqlite3_step(q);
	if (rc == SQLITE_ROW)
		text = (const char *)sqlite3_column_text(q, 0);
	if (rc == SQLITE_ROW || rc == SQLITE_DONE)
		rc = put_name(s, d, text ? text : "", text ? (size_t)sqlite3_column_bytes(q, 0) : 0,
			      &len);
	sqlite3_reset(q);
	if (rc == SQLITE_OK)
		rc = find_name(s, d, len, name, stem);
	if (rc == SQLITE_OK)
		*c = (struct step_cached){id.value, *name, *stem, d};
	return rc;
}

/* ---- ranges ---- */

static int count_range(struct steps *s, int64_t tid, int64_t stem, int64_t *group)
{
	const int64_t key[2] = {tid, stem};
	size_t before = s->groups.cnt;
	int rc = hist_pool_add(&s->groups, (const char *)key, sizeof(key), group);

	if (rc != SQLITE_OK)
		return rc;
	if (s->groups.cnt > before) {
		if (!grow(&s->found.group, before, &s->found.group_room, sizeof(*s->found.group)))
			return SQLITE_NOMEM;
		s->found.group[before] = (struct step_group){.tid = tid, .stem = stem};
	}
	s->found.group[*group].cnt++;
	return SQLITE_OK;
}

/* eventType, globalTid, domainId, start, end, text, textId */
static int range_row(void *ctx, sqlite3_value **v)
{
	struct steps *s = ctx;
	struct sweep_id tid = sweep_value(v[1]), id = sweep_value(v[2]), end = sweep_value(v[4]);
	int64_t start = sqlite3_value_int64(v[3]), name = 0, stem = STEP_NONE;
	bool counts = sqlite3_value_int64(v[0]) == (s->is_start_end ? 60 : 59),
	     is_main = step_is_main(tid.value);
	const struct step_domain *d;
	const char *text;
	size_t len;
	int rc;

	s->found.has_main = s->found.has_main || (tid.known && counts && is_main);
	if (!tid.known || !end.known || !(counts || s->range))
		return SQLITE_OK;
	d = domain_of(s, tid.value >> 24, id);
	text = (const char *)sqlite3_value_text(v[5]);
	if (text || sqlite3_value_type(v[6]) == SQLITE_NULL) {
		rc = put_name(s, d, text ? text : "", text ? (size_t)sqlite3_value_bytes(v[5]) : 0,
			      &len);
		if (rc == SQLITE_OK)
			rc = find_name(s, d, len, &name, &stem);
	} else {
		rc = by_id(s, d, sweep_value(v[6]), &name, &stem);
	}
	if (rc == SQLITE_OK && stem != STEP_NONE) {
		int64_t r[SR_WORDS] = {
			[SR_TID] = tid.value, [SR_DOMAIN] = id.value,  [SR_START] = start,
			[SR_NAME] = name,     [SR_LATER] = ~end.value,
		};

		if (start < s->found.span[is_main].start)
			s->found.span[is_main].start = start;
		if (end.value > s->found.span[is_main].end)
			s->found.span[is_main].end = end.value;
		rc = count_range(s, tid.value, stem, &r[SR_GROUP]);
		if (rc == SQLITE_OK)
			rc = sorter_add(s->ranges, r);
	}
	return rc;
}

int steps_read(struct steps *s)
{
	int rc;

	s->ranges = sorter_new(SR_WORDS, SR_KEYS);
	s->optimizer = sorter_new(SR_WORDS, SR_KEYS);
	s->rows = sorter_new(ST_WORDS, ST_KEYS);
	s->by.cache = calloc(STEP_CACHE, sizeof(*s->by.cache));
	for (int i = 0; i < 2; i++) {
		s->found.span[i].start = INT64_MAX;
		s->found.span[i].end = INT64_MIN;
	}
	if (!s->ranges || !s->optimizer || !s->rows || !s->by.cache)
		return SQLITE_NOMEM;
	rc = sql_rows(s->db,
		      "SELECT process, domain, name FROM SL_NVTX_DOMAINS WHERE process IS NOT NULL "
		      "AND domain IS NOT NULL ORDER BY 1, 2",
		      domain_row, s);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(s->db, "SELECT value FROM StringIds WHERE id = ?1", -1,
					&s->by.by_id, NULL);
	if (rc == SQLITE_OK)
		rc = sql_values(s->db, "eventType, globalTid, domainId, start, end, text, textId",
				"NVTX_EVENTS WHERE eventType IN (59, 60)", range_row, s);
	if (rc == SQLITE_OK && s->names.file && fflush(s->names.file) != 0)
		rc = SQLITE_FULL;
	return rc;
}

void steps_free(struct steps *s)
{
	for (size_t i = 0; i < s->domains_cnt; i++)
		free(s->domains[i].name);
	free(s->domains);
	texts_free(&s->names);
	hist_pool_free(&s->stems);
	hist_pool_free(&s->groups);
	free(s->by.stem);
	free(s->by.buf);
	free(s->by.cache);
	sqlite3_finalize(s->by.by_id);
	free(s->found.stem);
	free(s->found.group);
	sorter_free(s->ranges);
	sorter_free(s->optimizer);
	sorter_free(s->rows);
	memset(s, 0, sizeof(*s));
}
