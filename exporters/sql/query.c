/* query.c - SQL in, rows out; times scaled to the unit that was asked for. */
#include <stdlib.h>
#include <string.h>

#include "exporters/read/db_read.h"
#include "exporters/read/sql_rows.h"
#include "exporters/sql/functions.h"
#include "exporters/sql/tables/percentiles.h"
#include "exporters/sql/query.h"

const struct time_unit time_units[] = {
	{"nsec", "(ns)", 0},   {"usec", "(us)", 3}, {"msec", "(ms)", 6},
	{"seconds", "(s)", 9}, {NULL, NULL, 0},
};

bool query_has_data(sqlite3 *db, const struct report *r, char *what, size_t what_len)
{
	char needs[2048], table[128];

	for (unsigned i = 0; report_field(r->sql, "needs", i, needs, sizeof(needs)); i++) {
		char *sep = strstr(needs, " = ");
		bool has = false;

		if (sep)
			*sep = '\0';
		snprintf(what, what_len, "%s", sep ? sep + 3 : needs);
		for (const char *p = needs; *p && !has;) {
			size_t len = strcspn(p, " ");

			snprintf(table, sizeof(table), "%.*s", (int)len, p);
			has = len > 0 && strcmp(table, "or") != 0 && db_read_has(db, table);
			p += len + (p[len] == ' ');
		}
		if (!has)
			return false;
	}
	return true;
}

/* Skips blanks and comments: is there another statement? */
static bool more_sql(const char *p)
{
	for (;;) {
		p += strspn(p, " \t\r\n;");
		if (p[0] == '-' && p[1] == '-') {
			p += strcspn(p, "\n");
		} else if (p[0] == '/' && p[1] == '*') {
			p = strstr(p + 2, "*/");
			if (!p)
				return false;
			p += 2;
		} else {
			return *p != '\0';
		}
	}
}

static int bind_args(sqlite3_stmt *stmt, const char *args)
{
	char *copy = strdup(args), *rest = copy, *word;
	char name[128];

	if (!copy)
		return SQLITE_NOMEM;
	while ((word = strsep(&rest, ":")) != NULL) {
		char *value = strchr(word, '=');
		char *end;
		int at;

		if (value)
			*value++ = '\0';
		snprintf(name, sizeof(name), ":%s", word);
		for (char *p = name; *p; p++)
			if (*p == '-')
				*p = '_';
		at = sqlite3_bind_parameter_index(stmt, name);
		if (at == 0)
			continue; /* of another statement of the same report */
		long long n = value ? strtoll(value, &end, 10) : 1;

		if (!value || (*value && !*end)) {
			sqlite3_bind_int64(stmt, at, n);
			continue;
		}
		double x = strtod(value, &end);

		if (*value && !*end)
			sqlite3_bind_double(stmt, at, x);
		else
			sqlite3_bind_text(stmt, at, value, -1, SQLITE_TRANSIENT);
	}
	free(copy);
	return SQLITE_OK;
}

/* Is this a column of times? Then its heading ends in (ns). */
static bool is_time(const char *head)
{
	size_t len = strlen(head);

	return len >= 4 && strcmp(head + len - 4, "(ns)") == 0;
}

/* Megabytes have three decimals in nsys's tables, also where these are zeros. */
static bool is_megabytes(const char *head)
{
	const char *unit = strrchr(head, '(');

	return unit && (strcmp(unit, "(MB)") == 0 || strcmp(unit, "(MB/s)") == 0);
}

static void free_heads(char **heads, int cols)
{
	for (int i = 0; heads && i < cols; i++)
		free(heads[i]);
	free(heads);
}

static char **make_heads(sqlite3_stmt *stmt, int cols, const struct time_unit *unit)
{
	char **heads = calloc((size_t)cols, sizeof(*heads));

	for (int i = 0; heads && i < cols; i++) {
		const char *name = sqlite3_column_name(stmt, i);
		size_t len = name ? strlen(name) : 0;

		if (name && is_time(name) &&
		    asprintf(&heads[i], "%.*s%s", (int)(len - 4), name, unit->heading) < 0)
			heads[i] = NULL;
		else if (name && !is_time(name))
			heads[i] = strdup(name);
		if (!heads[i]) {
			free_heads(heads, cols);
			return NULL;
		}
	}
	return heads;
}

static void read_cell(sqlite3_stmt *stmt, int col, int scale, struct cell *c)
{
	memset(c, 0, sizeof(*c));
	switch (sqlite3_column_type(stmt, col)) {
	case SQLITE_INTEGER:
		c->kind = CELL_INT;
		c->num = sqlite3_column_int64(stmt, col);
		c->scale = scale;
		break;
	case SQLITE_FLOAT:
		c->kind = CELL_REAL;
		c->real = sqlite3_column_double(stmt, col);
		c->scale = scale;
		for (int i = 0; i < scale; i++)
			c->real /= 10;
		break;
	case SQLITE_NULL:
		break;
	default: /* TEXT, and BLOB as the bytes it is */
		c->kind = CELL_TEXT;
		c->text = (const char *)sqlite3_column_blob(stmt, col);
		c->len = (size_t)sqlite3_column_bytes(stmt, col);
		if (!c->text)
			c->text = "";
	}
}

enum column {
	AS_IT_IS,
	TIME,
	MEGABYTES
};

static enum column column_of(const struct report *r, const char *head)
{
	return is_time(head) ? TIME : !r->from_file && is_megabytes(head) ? MEGABYTES : AS_IT_IS;
}

/* The rows of the last statement. Returns how many, or -1 (why is set only for our own failures). */
static long long feed(sqlite3_stmt *stmt, const struct report *r, const struct time_unit *unit,
		      const struct format *format, struct sheet *s, int *rc)
{
	struct cell *cells = calloc((size_t)s->cols, sizeof(*cells));
	enum column *column = calloc((size_t)s->cols, sizeof(*column));
	long long rows = 0;

	if (!cells || !column)
		goto fail;
	for (int i = 0; i < s->cols; i++)
		column[i] = column_of(r, sqlite3_column_name(stmt, i));
	while ((*rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		if (s->most && rows >= s->most) {
			s->more = ++rows - s->most;
			continue;
		}
		for (int i = 0; i < s->cols; i++) {
			read_cell(stmt, i, column[i] == TIME ? unit->scale : 0, &cells[i]);
			if (column[i] == MEGABYTES && cells[i].kind == CELL_REAL)
				cells[i].scale = 3;
		}
		if (format->row(s, cells) < 0)
			goto fail;
		if (ferror(s->out))
			break; /* the reader is gone, or the disk is full: closing returns which */
		rows++;
	}
	free(cells);
	free(column);
	return rows;
fail:
	*rc = SQLITE_NOMEM;
	free(cells);
	free(column);
	return -1;
}

/*
 * The table begins with the first row, not before: so a report that fails at once leaves no heading.
 */
static long long run_last(sqlite3_stmt *stmt, const struct report *r, const struct time_unit *unit,
			  const struct format *format, struct sheet *s, int *rc)
{
	long long rows = -1;
	char **heads;

	s->cols = sqlite3_column_count(stmt);
	heads = make_heads(stmt, s->cols, unit);
	if (!heads) {
		*rc = SQLITE_NOMEM;
		return -1;
	}
	s->heads = (const char *const *)heads;
	if (format->begin(s) == 0)
		rows = feed(stmt, r, unit, format, s, rc);
	else
		*rc = SQLITE_NOMEM;
	if (format->end(s) < 0) {
		*rc = SQLITE_NOMEM;
		rows = -1;
	}
	free_heads(heads, s->cols);
	s->heads = NULL;
	return rows;
}

/* The text that the statement in lines with @key selects is added to the title. */
static void add_to_title(sqlite3 *db, const struct report *r, const char *key, char *buf,
			 size_t len)
{
	sqlite3_str *str = sqlite3_str_new(db);
	sqlite3_stmt *stmt = NULL;
	char line[512], *sql;
	size_t at = strlen(buf);

	for (unsigned i = 0; report_field(r->sql, key, i, line, sizeof(line)); i++)
		sqlite3_str_appendf(str, "%s ", line);
	sql = sqlite3_str_finish(str);
	if (sql && (stmt = sql_first(db, sql)) != NULL && sqlite3_column_text(stmt, 0))
		snprintf(buf + at, len - at, "; %s", (const char *)sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
	sqlite3_free(sql);
}

void query_title(sqlite3 *db, const struct report *r, char *buf, size_t len)
{
	snprintf(buf, len, "%s", r->title);
	add_to_title(db, r, "remark", buf, len);
	add_to_title(db, r, "lacks", buf, len);
}

const char *query_more(int rc)
{
	switch (rc & 0xFF) {
	case SQLITE_FULL:
		return " (no room for temporary files: point SQLITE_TMPDIR to a larger folder)";
	case SQLITE_CORRUPT:
		return " (the file is damaged)";
	default:
		return "";
	}
}

static void explain(sqlite3 *db, const struct report *r, int rc, char *why, size_t why_len)
{
	snprintf(why, why_len, "%s %s: %s%s", r->kind->noun, r->name,
		 rc == SQLITE_NOMEM ? "out of memory" : sqlite3_errmsg(db), query_more(rc));
}

/* A statement that runs and attaches a file is VACUUM INTO, which would write it: ATTACH is asked about when it is prepared. */
static int authorize(void *is_running, int action, const char *a, const char *b, const char *c,
		     const char *d)
{
	(void)a, (void)b, (void)c, (void)d;
	return action == SQLITE_ATTACH && *(const bool *)is_running ? SQLITE_DENY : SQLITE_OK;
}

static int run_step(sqlite3_stmt *stmt, const struct query_observer *observer)
{
	bool observed = observer && sqlite3_column_count(stmt) > 0 &&
			strcmp(sqlite3_column_name(stmt, 0), observer->column) == 0;
	int rc;

	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		int err = observed ? observer->row(observer->ctx, stmt) : 0;

		if (err)
			return err;
	}
	return rc;
}

long long query_observe(sqlite3 *db, const struct report *r, const struct time_unit *unit,
			const struct format *format, struct sheet *s,
			const struct query_observer *observer, char *why, size_t why_len)
{
	char *text = percentiles_expand(r->sql, r->percent);
	const char *sql = text;
	bool is_running = false;
	long long rows = -1;

	if (!text || sql_functions(db, r->percent) != SQLITE_OK) {
		snprintf(why, why_len, "out of memory");
		free(text);
		return -1;
	}
	sqlite3_set_authorizer(db, authorize, &is_running);
	while (more_sql(sql)) {
		sqlite3_stmt *stmt = NULL;
		int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, &sql);
		bool last = !more_sql(sql);

		is_running = true;
		if (rc == SQLITE_OK && stmt)
			rc = bind_args(stmt, r->args);
		if (rc == SQLITE_OK && stmt && last && !format)
			rows = 0;
		else if (rc == SQLITE_OK && stmt && last && sqlite3_column_count(stmt) > 0)
			rows = run_last(stmt, r, unit, format, s, &rc);
		else if (rc == SQLITE_OK && stmt)
			rc = run_step(stmt, observer);
		if (rc != SQLITE_OK && rc != SQLITE_DONE && rc != SQLITE_ROW) {
			explain(db, r, rc, why, why_len);
			sqlite3_finalize(stmt);
			sqlite3_set_authorizer(db, NULL, NULL);
			free(text);
			return -1;
		}
		sqlite3_finalize(stmt);
		is_running = false;
	}
	sqlite3_set_authorizer(db, NULL, NULL);
	free(text);
	if (rows < 0)
		snprintf(why, why_len, "%s %s: its last statement gives no table", r->kind->noun,
			 r->name);
	return rows;
}

long long query_run(sqlite3 *db, const struct report *r, const struct time_unit *unit,
		    const struct format *format, struct sheet *s, char *why, size_t why_len)
{
	return query_observe(db, r, unit, format, s, NULL, why, why_len);
}
