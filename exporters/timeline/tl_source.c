/*
 * tl_source.c - one table as rows in the order of their start.
 *
 * Tables lie in about that order already; tl_late.c handles the exceptions.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/hash.h"
#include "exporters/timeline/tl_internal.h"

/* Columns of every statement; keys follow. */
#define START 1
#define END   2

const struct tl_source_def tl_source_defs[] = {
#define SOURCE(table, activity, place, category, times, keys, correlation, name, args) \
	{#table, TL_ACT_##activity, TL_AT_##place, category, times, keys, correlation, name, args},
#include "exporters/timeline/timeline.def"
#undef SOURCE
	{0},
};

/* The temporary tables that the timeline makes are not in the file. */
static const char *schema_of(const char *table)
{
	return strncmp(table, "SL_TL_", 6) == 0 ? "temp" : "main";
}

bool tl_has_column(sqlite3 *db, const char *table, const char *column)
{
	return sqlite3_table_column_metadata(db, schema_of(table), table, column, NULL, NULL, NULL,
					     NULL, NULL) == SQLITE_OK;
}

/* The selected columns; a column that is selected already is found by its name. */
struct columns {
	sqlite3 *db;
	sqlite3_str *sql;
	const char *table;
	int cnt;
	char name[64][64];
};

/* Appends a column, or NULL for one that is not there. Returns its place. */
static int add_column(struct columns *c, const char *column, int len)
{
	char name[64];

	snprintf(name, sizeof(name), "%.*s", len, column);
	if (c->cnt < (int)(sizeof(c->name) / sizeof(c->name[0])))
		memcpy(c->name[c->cnt], name, sizeof(name));
	if (tl_has_column(c->db, c->table, name))
		sqlite3_str_appendf(c->sql, ", \"%w\"", name);
	else
		sqlite3_str_appendall(c->sql, ", NULL");
	return c->cnt++;
}

/* The same, but each row's value is decoded once only. */
static int find_column(struct columns *c, const char *name)
{
	for (int i = 1; i < c->cnt && i < (int)(sizeof(c->name) / sizeof(c->name[0])); i++)
		if (strcmp(c->name[i], name) == 0)
			return i;
	return add_column(c, name, (int)strlen(name));
}

/* The words of a list, as columns side by side. Returns how many. */
static int add_columns(struct columns *c, const char *list, int len)
{
	const char *end = list + len;
	int cnt = 0;

	while (list < end) {
		int word = 0;

		while (list + word < end && list[word] != ' ')
			word++;
		if (word > 0) {
			add_column(c, list, word);
			cnt++;
		}
		list += word + 1;
	}
	return cnt;
}

/* "key:kind=column" or "key:@ENUM=column". */
static void add_arg(struct tl_source *s, struct columns *c, const char *text, int len)
{
	struct tl_arg_def *a = &s->args[s->arg_cnt];
	int key = (int)strcspn(text, ":"), eq = (int)strcspn(text, "=");

	snprintf(a->key, sizeof(a->key), "%.*s", key, text);
	a->kind = text[key + 1];
	a->again = s->arg_cnt > 0 && strcmp(a[-1].key, a->key) == 0;
	if (a->kind == '@') {
		snprintf(a->table, sizeof(a->table), "%.*s", eq - key - 2, text + key + 2);
		a->at = (int)(s->def - tl_source_defs) * 4 + s->arg_cnt % 4;
	}
	/* A column that is not there needs no place among the arguments. */
	int first = eq + 1, word = first;

	while (word < len && text[word] != ' ')
		word++;
	char name[64];

	snprintf(name, sizeof(name), "%.*s", word - first, text + first);
	if (!tl_has_column(c->db, c->table, name))
		return;
	a->col = c->cnt;
	if (word == len)
		a->col = find_column(c, name);
	else
		add_columns(c, text + first, len - first);
	s->arg_cnt++;
}

static int add_args(struct tl_run *r, struct tl_source *s, struct columns *columns)
{
	const char *p = s->def->args;
	int cnt = 1;

	for (const char *c = p; *c; c++)
		cnt += *c == ',';
	s->args = calloc((size_t)cnt, sizeof(*s->args));
	if (!s->args)
		return -1;
	while (*p && (r->args_for & s->def->activity)) {
		int len = (int)strcspn(p, ",");

		add_arg(s, columns, p, len);
		p += len;
		p += strspn(p, ", ");
	}
	return 0;
}

static void add_name(struct tl_source *s, struct columns *c)
{
	static const struct {
		const char *word;
		tl_maker *make;
	} makers[] = {
		{"memcpy", tl_make_memcpy}, {"memset", tl_make_memset}, {"sync", tl_make_sync}};
	const char *name = s->def->name;
	size_t word = strcspn(name, ":");

	s->name_col = c->cnt;
	if (name[0] == '=') {
		s->name_kind = '=';
		s->constant = (struct tl_text){0, name + 1, strlen(name + 1)};
		return;
	}
	s->name_kind = word == 1 ? name[0] : 'm';
	for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++)
		if (strlen(makers[i].word) == word && strncmp(makers[i].word, name, word) == 0) {
			s->make = makers[i].make;
			s->maker = (int)i + 1;
		}
	s->name_cols = add_columns(c, name + word + 1, (int)strlen(name + word + 1));
}

/*
 * Ranges and marks, not the events that name domains and the like; a list in brackets would be looked up in a tree for each
 * row.
 */
static const char nvtx_events[] = "(eventType = 59 OR eventType = 60 OR eventType = 34)";
/* nsys may have rows of their own for where a call of libc, cuDNN or cuBLAS began and ended: these are no calls. */
static const char whole_calls[] = "ifnull(eventClass, 27) NOT IN (31, 32, 33, 34, 35, 36)";

static const char *rows_meant(const struct tl_run *r, const struct tl_source *s)
{
	if (s->def->place == TL_AT_NVTX)
		return nvtx_events;
	if (s->def->place == TL_AT_CALL && tl_has_column(r->db, s->def->table, "eventClass") &&
	    !db_read_has(r->db, "SL_PROCESS_TREE"))
		return whole_calls;
	return "1";
}

static char *select_text(struct tl_source *s, sqlite3_str *sql, bool whole, bool sorted,
			 const char *where, const char *start, const char *end)
{
	sqlite3_str_appendf(sql, whole ? " FROM %s.\"%w\"" : " FROM %.0s\"%w\"",
			    schema_of(s->def->table), s->def->table);
	if (strcmp(where, "1") != 0 || *s->bound)
		sqlite3_str_appendf(sql, " WHERE %s %s", s->bound, where);
	if (!sorted)
		sqlite3_str_appendf(sql, " ORDER BY \"%w\"", start);
	if (!sorted && end)
		sqlite3_str_appendf(sql, ", ifnull(\"%w\", 0x7FFFFFFFFFFFFFFF) DESC", end);
	return sqlite3_str_finish(sql);
}

/* All rows in order, decoded many at a time. */
static int prepare_rows(struct tl_run *r, struct tl_source *s, const char *columns,
			const char *where)
{
	int text_col = s->name_kind == 'n' || s->name_kind == 't' ? s->name_col : -1;

	s->rows = tl_rows_new(r->db, s, text_col, columns, where);
	return s->rows ? 0 : -1;
}

/* Filters are views, which have no row numbers: SQLite sorts their rows, and those of tables that the timeline makes. */
static int prepare_scan(struct tl_run *r, struct tl_source *s, const char *columns,
			const char *where, bool whole, bool sorted, const char *start,
			const char *end)
{
	sqlite3_str *sql = sqlite3_str_new(r->db);
	char *text;
	int rc;

	sqlite3_str_appendall(sql, "SELECT ");
	sqlite3_str_appendall(sql, whole ? "rowid" : "NULL");
	sqlite3_str_appendall(sql, columns);
	text = select_text(s, sql, whole, sorted, where, start, end);
	rc = text ? sqlite3_prepare_v2(r->db, text, -1, &s->scan, NULL) : SQLITE_NOMEM;
	sqlite3_free(text);
	return rc == SQLITE_OK ? 0 : -1;
}

static int prepare(struct tl_run *r, struct tl_source *s, const char *columns, const char *start,
		   const char *end)
{
	const char *where = rows_meant(r, s); /* before the calls whose message is kept */
	bool is_temp = strcmp(schema_of(s->def->table), "temp") == 0;
	bool whole = !r->opt->filtered && !is_temp;
	int late, rc;

	if (whole)
		tl_bound(r, s->def->table, s->bound, sizeof(s->bound));
	late = whole ? tl_late_find(r, s, start, end) : 0;
	if (late < 0)
		return -1;
	if (late == 1 && s->arg_cnt == 0)
		rc = prepare_rows(r, s, columns, where);
	else
		rc = prepare_scan(r, s, columns, where, whole, late == 1, start, end);
	if (rc == 0 && s->late_cnt > 0) {
		char *one =
			sqlite3_mprintf("SELECT rowid%s FROM main.\"%w\" WHERE rowid = ?1 AND %s",
					columns, s->def->table, where);

		rc = one ? sqlite3_prepare_v2(r->db, one, -1, &s->fetch, NULL) : SQLITE_NOMEM;
		sqlite3_free(one);
	}
	return rc == SQLITE_OK ? 0 : -1;
}

/* Columns that only sinks with arguments look at. */
static bool is_spared(const struct tl_run *r, const char *column, int len)
{
	static const char *const spared[] = {"callchainId", "category"};

	for (size_t i = 0; r->opt->no_args && i < sizeof(spared) / sizeof(spared[0]); i++)
		if (strlen(spared[i]) == (size_t)len &&
		    strncmp(spared[i], column, (size_t)len) == 0)
			return true;
	return false;
}

/* Where an event lies. */
static void add_keys(struct tl_run *r, struct tl_source *s, struct columns *c)
{
	for (const char *p = s->def->keys; *p; p += *p == ' ') {
		int len = (int)strcspn(p, " ");

		if (is_spared(r, p, len) ||
		    (s->def->place == TL_AT_CUDA_CALL && r->opt->no_args && p[0] == 'e') ||
		    (s->def->place == TL_AT_NVTX && !r->has_gil && r->opt->no_args && p[0] == 'd'))
			add_column(c, "-", 1);
		else
			add_column(c, p, len);
		p += len;
	}
}

int tl_source_open(struct tl_run *r, const struct tl_source_def *def, struct tl_source *s)
{
	const char *table = def->table;
	int start_len = (int)strcspn(def->times, " "), rc;
	struct columns c = {
		.db = r->db, .table = table, .cnt = 1}; /* the first: the row's number */
	char start[32], end[32], *columns;

	memset(s, 0, sizeof(*s));
	s->def = def;
	snprintf(start, sizeof(start), "%.*s", start_len, def->times);
	snprintf(end, sizeof(end), "%s", def->times + start_len + (def->times[start_len] == ' '));
	s->instant = !end[0];
	if (!tl_has_column(r->db, table, start))
		return 0;
	if (end[0] && !tl_has_column(r->db, table, end))
		return 0;
	c.sql = sqlite3_str_new(r->db);
	add_column(&c, start, (int)strlen(start));
	add_column(&c, end[0] ? end : "-", end[0] ? (int)strlen(end) : 1);
	s->key_col = c.cnt;
	add_keys(r, s, &c);
	s->corr_col = c.cnt;
	if (def->correlation[0])
		add_columns(&c, def->correlation + 2, (int)strlen(def->correlation + 2));
	add_name(s, &c);
	s->col_cnt = c.cnt;
	rc = s->col_cnt <= TL_COLS ? add_args(r, s, &c) : -1;
	columns = sqlite3_str_finish(c.sql);
	if (rc == 0)
		rc = columns ? prepare(r, s, columns, start, end[0] ? end : NULL) : -1;
	s->stmt = s->scan;
	sqlite3_free(columns);
	return rc < 0 ? -1 : tl_source_step(s);
}

void tl_source_close(struct tl_source *s)
{
	tl_rows_free(s->rows);
	sqlite3_finalize(s->scan);
	sqlite3_finalize(s->fetch);
	tl_late_free(s);
	free(s->args);
	s->scan = s->fetch = s->stmt = NULL;
	s->rows = NULL;
	s->args = NULL;
}

void tl_source_decode(const struct tl_source *s, sqlite3_stmt *stmt, int64_t *row)
{
	for (int i = 0; i < s->col_cnt; i++)
		if (!tl_number(stmt, i, &row[i]))
			row[i] = TL_NONE;
}

int tl_source_ahead(struct tl_source *s)
{
	int rc;

	if (s->rows) {
		rc = tl_rows_next(s->rows, &s->ahead);
	} else {
		do
			rc = sqlite3_step(s->scan);
		while (rc == SQLITE_ROW && tl_is_late(s, sqlite3_column_int64(s->scan, 0)));
		if (rc == SQLITE_ROW)
			tl_source_decode(s, s->scan, s->scanned);
		s->ahead = s->scanned;
	}
	if (rc != SQLITE_ROW)
		s->ahead = NULL;
	return rc == SQLITE_ROW ? 1 : rc == SQLITE_DONE ? 0 : -1;
}

int tl_source_step(struct tl_source *s)
{
	int64_t end;
	int rc;

	do {
		if (s->late_cnt > 0) {
			rc = tl_late_step(s);
		} else {
			rc = tl_source_ahead(s);
			s->row = s->ahead;
		}
		if (rc != 1)
			return rc;
		s->ts = s->row[START];
	} while (s->ts == TL_NONE);
	if (s->instant) {
		s->dur = 0;
		s->end = s->ts;
	} else if ((end = s->row[END]) == TL_NONE) {
		s->dur = TL_OPEN;
		s->end = INT64_MAX;
	} else {
		/* Clocks that ran backwards, and times out of range. */
		if (__builtin_sub_overflow(end, s->ts, &s->dur) || s->dur < 0)
			s->dur = 0;
		s->end = s->ts + s->dur;
	}
	return 1;
}

/* ---- columns to names and arguments ---- */

static struct tl_text column_text(struct tl_source *s, int col)
{
	struct tl_text t = {0, NULL, 0};

	if (s->row[s->name_col] == TL_NONE && !s->stmt)
		return (struct tl_text){0, "", 0};
	if (!s->stmt)
		return tl_rows_text(s->rows, s->row);
	t.text = (const char *)sqlite3_column_blob(s->stmt, col);
	t.len = (size_t)sqlite3_column_bytes(s->stmt, col);
	if (!t.text)
		t.text = "";
	return t;
}

static int64_t made_key(struct tl_source *s)
{
	int64_t key = 0;

	for (int i = 0; i < s->name_cols; i++) {
		/* 255: unknown, as NULL is */
		int64_t part = s->row[s->name_col + i];

		key = key << 8 | (part >= 0 && part < 256 ? part : 255);
	}
	return key;
}

struct tl_text tl_source_name(struct tl_run *r, struct tl_source *s)
{
	int col = s->name_col;
	int64_t num;

	switch (s->name_kind) {
	case '=':
		return s->constant;
	case 'm':
		return tl_name_made(r->names, s->maker, s->make, made_key(s));
	case 'n':
		if (s->row[col] == TL_NONE && s->row[col + 1] != TL_NONE)
			return tl_name(r->names, s->row[col + 1], false);
		return column_text(s, col);
	case 't':
		return column_text(s, col);
	default:
		num = s->row[col];
		if (num == TL_NONE)
			return (struct tl_text){0, "", 0};
		return tl_name(r->names, num, s->name_kind == 'a');
	}
}

/* The text of a domain or category: NVTX_EVENTS alone has such arguments. */
static bool domain_text(struct tl_run *r, struct tl_source *s, char kind, struct tl_text *text)
{
	int64_t process = TL_PROCESS_OF(tl_key(s, 1));
	int64_t domain = tl_key(s, 2), category = tl_key(s, 3);
	uint64_t *at;

	if (domain == TL_NONE)
		domain = 0;
	if (kind == 'D')
		at = map_at(&r->domains, hash_u64((uint64_t)process) ^ (uint64_t)domain, false);
	else
		at = map_at(&r->categories,
			    hash_u64(hash_u64((uint64_t)process) ^ (uint64_t)domain) ^
				    (uint64_t)category,
			    false);
	if (!at)
		return false;
	text->id = 0;
	text->text = r->texts[*at - 1];
	text->len = strlen(text->text);
	return true;
}

/* Reads one argument; false when the argument is left out. */
static bool get_arg(struct tl_run *r, struct tl_source *s, const struct tl_arg_def *d,
		    struct tl_arg *a)
{
	int col = d->col;
	int64_t num;

	if (!tl_number(s->stmt, col, &num))
		return false;
	a->key = d->key;
	a->kind = TL_INT;
	a->num = num;
	switch (d->kind) {
	case 's':
		a->kind = TL_TEXT;
		a->text = tl_name(r->names, num, false);
		return true;
	case 't':
	case 'j':
		a->kind = d->kind == 't' ? TL_TEXT : TL_JSON;
		a->text = column_text(s, col);
		return true;
	case '@':
		a->kind = TL_TEXT;
		a->text =
			tl_name_enum(r->names, d->at, d->table, sqlite3_column_int64(s->stmt, col));
		return true;
	case 'w': /* nothing is moved in no time: Kineto has no number either */
		a->kind = TL_REAL;
		a->real = s->dur > 0 ? (double)num / (double)s->dur : 0;
		return s->dur > 0;
	case 'r':
		a->kind = TL_REAL;
		a->real = sqlite3_column_double(s->stmt, col);
		return true;
	case 'v':
		a->kind = TL_VECTOR;
		for (int i = 0; i < 3; i++)
			a->vector[i] = sqlite3_column_int64(s->stmt, col + i);
		return true;
	case 'D':
	case 'C':
		a->kind = TL_TEXT;
		return domain_text(r, s, d->kind, &a->text);
	}
	switch (d->kind) {
	case 'n':
		return num != 0;
	case 'x':
		a->kind = TL_HEX;
		break;
	case 'u': /* stored as if it had a sign */
		a->kind = num < 0 ? TL_HEX : TL_INT;
		break;
	case 'b':
		a->kind = TL_BOOL;
		break;
	case 'g': /* all such events have their process as the first key */
		a->num = tl_tracks_gpu(r->tracks, tl_key(s, 0), num);
		return true;
	case 'S': /* nsys: no stream in particular */
		return num != UINT32_MAX;
	case 'T':
		a->num = TL_TID(num);
		return num != tl_key(s, 1);
	}
	return true;
}

void tl_source_args(struct tl_run *r, struct tl_source *s, struct tl_event *e)
{
	uint32_t cnt = 0;

	for (int i = 0; i < s->arg_cnt && cnt < TL_ARGS_MAX; i++) {
		if (!get_arg(r, s, &s->args[i], &r->args[cnt]))
			continue;
		/* A payload may be there as several types. */
		if (!s->args[i].again || cnt == 0 ||
		    strcmp(r->args[cnt - 1].key, r->args[cnt].key) != 0)
			cnt++;
	}
	e->args = r->args;
	e->arg_cnt = cnt;
}
