/* sql.c - /v1/sql and /v1/schema: any query of the report, but no change. */
#include <stdlib.h>
#include <string.h>

#include "exporters/read/db_read.h"
#include "exporters/sql/functions.h"
#include "exporters/view/answers/answer.h"
#include "collector/base/now.h"
#include "exporters/view/answers/sql.h"

#define ROWS_MAX  10000
#define SECONDS   30
#define STEPS     16 /* between two looks at the clock: one may search a whole value */
#define VALUE_MAX (512 << 10)
#define LIKE_MAX  1000
#define BYTES_MAX (64u << 20)

struct limit {
	int64_t until;
	const bool *stop;
	bool is_over;
};

static int on_steps(void *arg)
{
	struct limit *l = arg;

	l->is_over |= mono_ns() > l->until || __atomic_load_n(l->stop, __ATOMIC_RELAXED);
	return l->is_over;
}

int view_sql_authorize(void *unused, int action, const char *a, const char *b, const char *c,
		       const char *d)
{
	static const char *const barred[] = {"load_extension", "readfile", "writefile", "edit",
					     "fts3_tokenizer", "zeroblob", "randomblob"};

	(void)unused, (void)a, (void)c, (void)d;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_FUNCTION:
		for (size_t i = 0; b && i < sizeof(barred) / sizeof(barred[0]); i++)
			if (sqlite3_stricmp(b, barred[i]) == 0)
				return SQLITE_DENY;
		return SQLITE_OK;
	default:
		return SQLITE_DENY;
	}
}

static void put_columns(struct writer *b, sqlite3_stmt *stmt)
{
	json_open(b, "columns", '[');
	for (int i = 0; i < sqlite3_column_count(stmt); i++)
		js_text(b, NULL, sqlite3_column_name(stmt, i));
	json_close(b, ']');
}

static int put_rows(struct writer *b, sqlite3_stmt *stmt, bool *more)
{
	int rc = SQLITE_ROW, cnt = 0;

	json_open(b, "rows", '[');
	for (; (rc = sqlite3_step(stmt)) == SQLITE_ROW && !b->failed; cnt++) {
		if (cnt == ROWS_MAX || b->len > BYTES_MAX) {
			*more = true;
			rc = SQLITE_DONE;
			break;
		}
		json_open(b, NULL, '[');
		for (int i = 0; i < sqlite3_column_count(stmt); i++)
			view_put_value(b, sqlite3_column_value(stmt, i));
		json_close(b, ']');
	}
	json_close(b, ']');
	return rc;
}

static bool is_blank(const char *text)
{
	return text[strspn(text, " \t\r\n;")] == '\0';
}

static void answer(struct view_reply *a, sqlite3 *db, const char *sql, const struct limit *l)
{
	struct writer *b = &a->body;
	int64_t start = mono_ns();
	sqlite3_stmt *stmt = NULL;
	const char *rest = "";
	bool more = false;
	int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, &rest);

	if (rc == SQLITE_OK && (!stmt || !is_blank(rest) || !sqlite3_stmt_readonly(stmt))) {
		sqlite3_finalize(stmt);
		view_refuse(a, 400, "one SELECT statement is needed");
		return;
	}
	if (rc == SQLITE_OK) {
		json_open(b, NULL, '{');
		put_columns(b, stmt);
		rc = put_rows(b, stmt, &more);
		json_bool(b, "more", more);
		js_int(b, "ms", (mono_ns() - start) / 1000000);
		json_close(b, '}');
	}
	if (rc != SQLITE_DONE)
		view_refuse(a, 400,
			    l->is_over ? "the statement took longer than 30 s"
			    : rc == SQLITE_AUTH
				    ? "only questions are answered: SELECT, WITH, EXPLAIN"
				    : sqlite3_errmsg(db));
	sqlite3_finalize(stmt);
}

void view_answer_sql(struct view_request *q, struct view_reply *a)
{
	struct limit limit = {.until = mono_ns() + SECONDS * INT64_C(1000000000),
			      .stop = &q->server->stop};
	char why[512], *sql = NULL;
	sqlite3 *db;

	if (q->len == 0 || memchr(q->body, '\0', q->len)) {
		view_refuse(a, 400, "a statement is needed");
		return;
	}
	sql = strndup((const char *)q->body, q->len);
	/* A handle of its own, closed afterwards: no setting by the statement stays. */
	db = sql ? db_read_open(q->store->path, why, sizeof(why)) : NULL;
	if (!db) {
		free(sql);
		view_refuse(a, 503, sql ? why : "out of memory");
		return;
	}
	sql_functions(db, NULL);
	sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, VALUE_MAX);
	sqlite3_limit(db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, LIKE_MAX);
	sqlite3_limit(db, SQLITE_LIMIT_WORKER_THREADS, 0);
	sqlite3_progress_handler(db, STEPS, on_steps, &limit);
	sqlite3_set_authorizer(db, view_sql_authorize, NULL);
	answer(a, db, sql, &limit);
	sqlite3_close(db);
	free(sql);
}

void view_answer_schema(struct view_request *q, struct view_reply *a)
{
	static const char sql[] =
		"SELECT m.name, c.name FROM (SELECT name FROM main.sqlite_master WHERE type IN "
		"('table', 'view') UNION SELECT name FROM temp.sqlite_master WHERE type = 'view') "
		"AS m "
		"JOIN pragma_table_info(m.name) AS c ORDER BY m.name, c.cid";
	sqlite3 *db = view_db_take(q, a);
	struct writer *b = &a->body;
	sqlite3_stmt *stmt = NULL;
	char *table = NULL;

	if (!db)
		return;
	json_open(b, NULL, '{');
	json_open(b, "tables", '{');
	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK)
		while (sqlite3_step(stmt) == SQLITE_ROW) {
			const char *name = (const char *)sqlite3_column_text(stmt, 0);

			if (!table || strcmp(table, name) != 0) {
				if (table)
					json_close(b, ']');
				free(table);
				table = strdup(name);
				json_open(b, table ? table : "", '[');
			}
			js_text(b, NULL, (const char *)sqlite3_column_text(stmt, 1));
		}
	if (table)
		json_close(b, ']');
	free(table);
	sqlite3_finalize(stmt);
	json_close(b, '}');
	json_close(b, '}');
	view_db_put(q, db);
}
