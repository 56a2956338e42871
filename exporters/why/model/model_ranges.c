/*
 * model_ranges.c - NVTX ranges, as places of what has no stack: the innermost range of each thread at any time. Names that differ in
 * nothing but their numbers are one, if they are many ("step 1", "step 2", ...).
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/hash.h"
#include "exporters/read/sql_rows.h"
#include "exporters/why/model/model_internal.h"

#define ROWS_MOST 2000000 /* beyond, ranges are not read: the answer would wait for them */
#define VARIANTS  8       /* names with one stem that are kept apart */

struct range {
	int64_t start, end;
	uint32_t thread, name;
};

struct text_name {
	uint32_t name;
};

struct hidden { /* a domain */
	int64_t process, id;
};

struct reading {
	struct why_model *m;
	WHY_LIST(range, list);
	struct id_map texts;          /* textId, */
	WHY_LIST(text_name, of_text); /* and its name */
	WHY_LIST(hidden, hidden);
	struct slots by_text;
};

/* ---- names ---- */

/* The number of a name; WHY_NONE: no memory. */
static uint32_t name_of(struct reading *r, const char *text)
{
	struct why_model *m = r->m;
	uint64_t hash = hash_text(text);
	uint32_t at, i;

	for (i = slots_first(&r->by_text, hash, &at); i != SLOTS_NONE;
	     i = slots_next(&r->by_text, hash, &at))
		if (strcmp(m->range_names[i].text, text) == 0)
			return i;
	if (!grow(&m->range_names, m->range_names_cnt, &m->range_names_room,
		  sizeof(*m->range_names)) ||
	    !slots_add(&r->by_text, hash, (uint32_t)m->range_names_cnt))
		return WHY_NONE;
	m->range_names[m->range_names_cnt] =
		(struct why_range_name){.text = strdup(text), .stem = WHY_NONE};
	if (!m->range_names[m->range_names_cnt].text)
		return WHY_NONE;
	return (uint32_t)m->range_names_cnt++;
}

/* With # for each number; NULL: it has none, or no memory. */
static char *stem_of(const char *text)
{
	char *stem = strpbrk(text, "0123456789") ? strdup(text) : NULL, *to = stem;

	for (const char *at = text; stem && *at; at++) {
		bool digit = isdigit((unsigned char)*at);

		if (digit && at > text && isdigit((unsigned char)at[-1]))
			continue;
		*to++ = digit ? '#' : *at;
	}
	if (stem)
		*to = '\0';
	return stem;
}

/* A new name counts among those of its stem. */
static uint32_t name_with_stem(struct reading *r, const char *text)
{
	struct why_model *m = r->m;
	size_t had = m->range_names_cnt;
	uint32_t name = name_of(r, text), stem;
	char *words = name == had ? stem_of(text) : NULL;

	if (!words)
		return name;
	stem = name_of(r, words);
	free(words);
	if (stem == WHY_NONE)
		return WHY_NONE;
	m->range_names[name].stem = stem;
	m->range_names[stem].variants++;
	return name;
}

/* The name of a text of StringIds. */
static uint32_t name_of_id(struct reading *r, int64_t id)
{
	long number = id_map_add(&r->texts, id);
	sqlite3_stmt *stmt;
	const char *text;
	uint32_t name = WHY_NONE;

	if (number < 0 || (size_t)number < r->of_text_cnt)
		return number < 0 ? WHY_NONE : r->of_text[number].name;
	stmt = sql_first_of(r->m->db, "SELECT value FROM StringIds WHERE id = ?1", id);
	text = stmt ? (const char *)sqlite3_column_text(stmt, 0) : NULL;
	if (grow(&r->of_text, r->of_text_cnt, &r->of_text_room, sizeof(*r->of_text)))
		r->of_text[r->of_text_cnt++].name = name =
			name_with_stem(r, text && *text ? text : "?");
	sqlite3_finalize(stmt);
	return name;
}

/* ---- rows ---- */

/* process, domain: of ranges that are no part of the program */
static int hidden_row(void *ctx, sqlite3_value **v)
{
	struct reading *r = ctx;

	if (!grow(&r->hidden, r->hidden_cnt, &r->hidden_room, sizeof(*r->hidden)))
		return SQLITE_NOMEM;
	r->hidden[r->hidden_cnt++] =
		(struct hidden){sqlite3_value_int64(v[0]), sqlite3_value_int64(v[1])};
	return SQLITE_OK;
}

static bool is_hidden(const struct reading *r, int64_t process, int64_t domain)
{
	for (size_t i = 0; i < r->hidden_cnt; i++)
		if (r->hidden[i].process == process && r->hidden[i].id == domain)
			return true;
	return false;
}

/* globalTid, start, end, textId, text, domainId */
static int range_row(void *model, sqlite3_value **v)
{
	struct reading *r = model;
	int64_t tid = sqlite3_value_int64(v[0]);
	const char *text = (const char *)sqlite3_value_text(v[4]);
	struct range of = {.start = why_time(v[1]),
			   .end = sqlite3_value_type(v[2]) == SQLITE_NULL ? INT64_MAX
									  : why_time(v[2]),
			   .thread = why_model_thread(r->m, tid)};

	if (r->hidden_cnt && is_hidden(r, tid >> 24, sqlite3_value_int64(v[5])))
		return SQLITE_OK;
	of.name =
		text && *text ? name_with_stem(r, text) : name_of_id(r, sqlite3_value_int64(v[3]));
	if (of.thread == WHY_NONE || of.name == WHY_NONE ||
	    !big_grow(&r->list, r->list_cnt, &r->list_room, sizeof(of)))
		return SQLITE_NOMEM;
	r->list[r->list_cnt++] = of;
	return SQLITE_OK;
}

/* ---- the innermost ---- */

/* By thread, then time; of those that begin together, the longest is the outermost. */
static int by_thread(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->end < y->end) - (x->end > y->end);
}

/* From @time on; nothing where the name stays. */
static bool add_part(struct why_thread *t, int64_t time, uint32_t name)
{
	struct why_range *last = t->ranges_cnt ? &t->ranges[t->ranges_cnt - 1] : NULL;

	if (last && last->time == time) {
		last->name = name;
		return true;
	}
	if (last ? last->name == name : name == WHY_NONE)
		return true;
	if (!big_grow(&t->ranges, t->ranges_cnt, &t->ranges_room, sizeof(*t->ranges)))
		return false;
	t->ranges[t->ranges_cnt++] = (struct why_range){time, name};
	return true;
}

/* Ends the ranges of @open that end at @until or before. */
static bool close_until(struct why_thread *t, const struct range *list, const uint32_t *open,
			size_t *cnt, int64_t until)
{
	while (*cnt && list[open[*cnt - 1]].end <= until) {
		int64_t end = list[open[--*cnt]].end;

		/* Ranges of a process may end in any order. */
		while (*cnt && list[open[*cnt - 1]].end <= end)
			--*cnt;
		if (!add_part(t, end, *cnt ? list[open[*cnt - 1]].name : WHY_NONE))
			return false;
	}
	return true;
}

/* Name by which a range is shown. */
static uint32_t shown(const struct why_model *m, uint32_t name)
{
	uint32_t stem = m->range_names[name].stem;

	return stem != WHY_NONE && m->range_names[stem].variants > VARIANTS ? stem : name;
}

static int find_innermost(struct reading *r)
{
	struct range *list = r->list;
	uint32_t *open = big_calloc(r->list_cnt + 1, sizeof(*open));
	struct why_thread *t = NULL;
	bool ok = open;
	size_t cnt = 0;

	why_sort(list, r->list_cnt, sizeof(*list), by_thread);
	for (size_t i = 0; i < r->list_cnt && ok; i++) {
		if (i && list[i].thread != list[i - 1].thread)
			ok = close_until(t, list, open, &cnt, INT64_MAX);
		cnt = i && list[i].thread != list[i - 1].thread ? 0 : cnt;
		t = &r->m->threads[list[i].thread];
		list[i].name = shown(r->m, list[i].name);
		ok = ok && close_until(t, list, open, &cnt, list[i].start) &&
		     add_part(t, list[i].start, list[i].name);
		open[cnt++] = (uint32_t)i;
	}
	if (t && ok)
		ok = close_until(t, list, open, &cnt, INT64_MAX);
	big_free(open);
	return ok ? SQLITE_OK : SQLITE_NOMEM;
}

static bool has_more(sqlite3 *db)
{
	sqlite3_stmt *stmt =
		sql_first_of(db, "SELECT 1 FROM NVTX_EVENTS LIMIT 1 OFFSET ?1", ROWS_MOST);
	bool more = stmt != NULL;

	sqlite3_finalize(stmt);
	return more;
}

int why_read_ranges(struct why_model *m)
{
	struct reading r = {.m = m};
	int rc = SQLITE_OK;

	/* Samples and the stacks of calls are better places. */
	if ((m->has_samples && (!m->has_gpu_calls || m->has_gpu_stacks)) ||
	    !db_read_has(m->db, "NVTX_EVENTS") || has_more(m->db))
		return SQLITE_OK;
	rc = sql_values(m->db, "globalTid >> 24, domainId",
			"NVTX_EVENTS WHERE eventType = 75 AND text = 'GIL Trace'", hidden_row, &r);
	if (rc == SQLITE_OK)
		rc = sql_values(m->db, "globalTid, start, end, textId, text, domainId",
				"NVTX_EVENTS WHERE eventType IN (59, 60) AND globalTid IS NOT NULL",
				range_row, &r);
	if (rc == SQLITE_OK)
		rc = find_innermost(&r);
	big_free(r.list);
	free(r.of_text);
	free(r.hidden);
	id_map_free(&r.texts);
	slots_free(&r.by_text);
	return rc;
}

void why_free_ranges(struct why_model *m)
{
	for (size_t i = 0; i < m->range_names_cnt; i++)
		free(m->range_names[i].text);
	free(m->range_names);
}
