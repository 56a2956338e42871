/*
 * projection_rows.c - tables for FROM: sl_projection, ranges with work on the GPU, and sl_range_stacks, all push/pop ranges.
 * In the latter, n is the time of the ranges directly inside.
 */
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "exporters/sql/projection_internal.h"
#include "exporters/sql/tables/vtab.h"

/* ---- the table ---- */

#define COLUMNS                                                                              \
	"id, parent, lvl, children, kind, style, tid, domain, start, end, text, textId, n, " \
	"first, last"
#define NUMBERS COLUMNS ", number, above, path"

enum column {
	ID,
	PARENT,
	LVL,
	CHILDREN,
	KIND,
	STYLE,
	TID,
	DOMAIN,
	START,
	END,
	TEXT,
	TEXT_ID,
	N,
	FIRST,
	LAST,
	NUMBER,
	ABOVE,
	PATH
};

struct cursor {
	struct vtab_cursor base;
	struct projection p;
	const int64_t *row;
	uint32_t *stack;
	size_t stack_room;
	char *path;
	size_t path_room;
};

static void rows_end(struct vtab_cursor *base)
{
	struct cursor *c = (struct cursor *)base;

	projection_free(&c->p);
	free(c->stack);
	free(c->path);
	c->stack = NULL;
	c->path = NULL;
	c->stack_room = c->path_room = 0;
}

static int rows_next(struct vtab_cursor *base)
{
	struct cursor *c = (struct cursor *)base;

	return sorter_next(c->p.results, &c->row);
}

static int begin(struct vtab_cursor *c, sqlite3 *db, enum projection_of of)
{
	return projection_run(db, of, c->used >> NUMBER != 0, c->used >> KIND & 1,
			      &((struct cursor *)c)->p);
}

static int work_begin(struct vtab_cursor *c, sqlite3 *db, sqlite3_value *const *args)
{
	(void)args;
	return begin(c, db, WORK);
}

static int stacks_begin(struct vtab_cursor *c, sqlite3 *db, sqlite3_value *const *args)
{
	(void)args;
	return begin(c, db, STACKS);
}

/* ":1:5:7": from the outermost range on. */
static int give_path(struct cursor *c, sqlite3_context *out)
{
	size_t depth = 0, len = 0;

	for (uint32_t id = (uint32_t)c->row[R_ID]; id > 0; id = c->p.node[id].parent) {
		if (!grow(&c->stack, depth, &c->stack_room, sizeof(*c->stack)))
			return SQLITE_NOMEM;
		c->stack[depth++] = c->p.node[id].number;
	}
	if (depth * 12 > c->path_room) {
		free(c->path);
		c->path_room = depth * 24;
		c->path = malloc(c->path_room);
		if (!c->path) {
			c->path_room = 0;
			return SQLITE_NOMEM;
		}
	}
	while (depth > 0) {
		char digit[12];
		size_t n = 0;

		for (uint32_t x = c->stack[--depth]; x > 0; x /= 10)
			digit[n++] = (char)('0' + x % 10);
		c->path[len++] = ':';
		while (n > 0)
			c->path[len++] = digit[--n];
	}
	sqlite3_result_text(out, c->path, (int)len, SQLITE_TRANSIENT);
	return SQLITE_OK;
}

static int give_text(struct cursor *c, sqlite3_context *out)
{
	const char *text;
	size_t len;
	int rc;

	if (c->row[R_TEXT] == 0)
		return SQLITE_OK;
	rc = texts_get(&c->p.texts, c->row[R_TEXT], &text, &len);
	if (rc == SQLITE_OK)
		sqlite3_result_text(out, text, (int)len, SQLITE_TRANSIENT);
	return rc;
}

static int rows_column(struct vtab_cursor *base, sqlite3_context *out, int col)
{
	static const unsigned char plain[] = {
		[ID] = R_ID,           [PARENT] = R_PARENT,
		[LVL] = R_LVL,         [CHILDREN] = R_CHILDREN,
		[KIND] = R_KIND,       [STYLE] = R_STYLE,
		[TID] = R_TID,         [DOMAIN] = R_DOMAIN,
		[START] = R_START,     [END] = R_END,
		[TEXT_ID] = R_TEXT_ID, [N] = R_N,
		[FIRST] = R_FIRST,     [LAST] = R_LAST,
	};
	struct cursor *c = (struct cursor *)base;
	const int64_t *r = c->row;

	switch (col) {
	case TEXT:
		return give_text(c, out);
	case TID:
	case END:
	case TEXT_ID:
		if (r[plain[col]] != NO_ID)
			sqlite3_result_int64(out, r[plain[col]]);
		return SQLITE_OK;
	case NUMBER:
		sqlite3_result_int64(out, c->p.node[r[R_ID]].number);
		return SQLITE_OK;
	case ABOVE:
		if (r[R_PARENT] > 0)
			sqlite3_result_int64(out, c->p.node[r[R_PARENT]].number);
		return SQLITE_OK;
	case PATH:
		return give_path(c, out);
	default:
		sqlite3_result_int64(out, r[plain[col]]);
		return SQLITE_OK;
	}
}

#define TABLE(begins)                                                                      \
	{                                                                                  \
		.columns = "CREATE TABLE x(" NUMBERS ")", .order = NUMBER, .order_cnt = 1, \
		.rows = 100000, .cursor_size = sizeof(struct cursor), .begin = begins,     \
		.next = rows_next, .column = rows_column, .end = rows_end,                 \
	}

int projection_register(sqlite3 *db, struct hist_of_db *tables)
{
	static const struct vtab_table work = TABLE(work_begin), stacks = TABLE(stacks_begin);
	int rc = vtab_register(db, "sl_projection", &work);

	if (rc == SQLITE_OK)
		rc = vtab_register(db, "sl_range_stacks", &stacks);
	if (rc == SQLITE_OK)
		rc = range_kernels_register(db, tables);
	return rc == SQLITE_OK ? library_calls_register(db, tables) : rc;
}
