/*
 * projection_rows.c - tables for FROM: sl_projection, ranges with work on the GPU, and sl_range_stacks, all push/pop ranges.
 * In the latter, n is the time of the ranges directly inside.
 */
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "exporters/sql/projection_internal.h"
#include "exporters/sql/vtab.h"

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

/* from xBestIndex to xFilter, one or both */
#define NUMBERED 1
#define KINDS    2

struct cursor {
	sqlite3_vtab_cursor base;
	struct projection p;
	const int64_t *row; /* NULL: at the end */
	uint32_t *stack;
	size_t stack_room;
	char *path;
	size_t path_room;
};

static int rows_connect(sqlite3 *db, void *of, int argc, const char *const *argv,
			sqlite3_vtab **out, char **e)
{
	(void)argc, (void)argv, (void)e;
	return vtab_connect(db, of, "CREATE TABLE x(" NUMBERS ")", out);
}

static int rows_best(sqlite3_vtab *v, sqlite3_index_info *info)
{
	(void)v;
	info->estimatedCost = 1e7;
	info->estimatedRows = 100000;
	if (info->colUsed >> NUMBER != 0)
		info->idxNum = NUMBERED;
	if (info->colUsed >> KIND & 1)
		info->idxNum |= KINDS;
	if (info->nOrderBy == 1 && info->aOrderBy[0].iColumn == NUMBER && !info->aOrderBy[0].desc)
		info->orderByConsumed = 1;
	return SQLITE_OK;
}

static int rows_open(sqlite3_vtab *v, sqlite3_vtab_cursor **out)
{
	(void)v;
	return vtab_open(sizeof(struct cursor), out);
}
static int rows_close(sqlite3_vtab_cursor *base)
{
	struct cursor *c = (struct cursor *)base;

	projection_free(&c->p);
	free(c->stack);
	free(c->path);
	return vtab_close(base);
}

static int rows_next(sqlite3_vtab_cursor *base)
{
	struct cursor *c = (struct cursor *)base;
	int rc = sorter_next(c->p.results, &c->row);

	if (rc == SQLITE_DONE)
		c->row = NULL;
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}
static int rows_filter(sqlite3_vtab_cursor *base, int idx, const char *s, int argc,
		       sqlite3_value **argv)
{
	const struct vtab *v = (struct vtab *)base->pVtab;
	struct cursor *c = (struct cursor *)base;
	int rc;

	(void)s, (void)argc, (void)argv;
	projection_free(&c->p);
	rc = projection_run(v->db, v->of ? STACKS : WORK, idx & NUMBERED, idx & KINDS, &c->p);
	if (rc == SQLITE_ERROR) {
		sqlite3_free(base->pVtab->zErrMsg);
		base->pVtab->zErrMsg = sqlite3_mprintf("%s", sqlite3_errmsg(v->db));
	}
	return rc == SQLITE_OK ? rows_next(base) : rc;
}
static int rows_eof(sqlite3_vtab_cursor *base)
{
	return ((struct cursor *)base)->row == NULL;
}
static int rows_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
	*out = ((struct cursor *)base)->row[R_ID];
	return SQLITE_OK;
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

static int rows_column(sqlite3_vtab_cursor *base, sqlite3_context *out, int col)
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

static const sqlite3_module rows_module = {
	.xConnect = rows_connect,
	.xBestIndex = rows_best,
	.xDisconnect = vtab_disconnect,
	.xOpen = rows_open,
	.xClose = rows_close,
	.xFilter = rows_filter,
	.xNext = rows_next,
	.xEof = rows_eof,
	.xColumn = rows_column,
	.xRowid = rows_rowid,
};

int projection_register(sqlite3 *db, struct hist_of_db *tables)
{
	static char stacks[] = "stacks";
	int rc = sqlite3_create_module(db, "sl_projection", &rows_module, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_create_module(db, "sl_range_stacks", &rows_module, stacks);
	if (rc == SQLITE_OK)
		rc = range_kernels_register(db, tables);
	return rc == SQLITE_OK ? library_calls_register(db, tables) : rc;
}
