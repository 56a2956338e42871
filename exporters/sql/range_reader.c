/* range_reader.c - ranges out of a report, and ranges in order of their stacks. */
#include <string.h>

#include "exporters/read/sql_rows.h"
#include "exporters/sql/projection_internal.h"

static const char read_ranges[] =
	"SELECT eventType, globalTid, coalesce(domainId, 0), start, end, text, textId "
	"FROM NVTX_EVENTS "
	"WHERE eventType IN (59, 60) AND end IS NOT NULL "
	"AND (eventType = 59 OR endGlobalTid IS NULL OR endGlobalTid = globalTid)";
static const char read_stacks[] =
	"SELECT eventType, globalTid, coalesce(domainId, 0), start, end, text, textId "
	"FROM NVTX_EVENTS WHERE eventType = 59";

static bool is_null(sqlite3_stmt *q, int col)
{
	return sqlite3_column_type(q, col) == SQLITE_NULL;
}

bool is_none(sqlite3_stmt *q, int col, int64_t value)
{
	return value == 0 && is_null(q, col);
}

static int range_row(void *ctx, sqlite3_stmt *q)
{
	struct range_reader *r = ctx;
	int64_t a[A_WORDS] = {0};

	if (is_null(q, 3) || (r->of != STACKS && is_null(q, 1)))
		return SQLITE_OK; /* no call lies within */
	a[A_STYLE] = sqlite3_column_int64(q, 0);
	a[A_TID] = is_null(q, 1) ? NO_ID : sqlite3_column_int64(q, 1);
	a[A_DOMAIN] = sqlite3_column_int64(q, 2);
	a[A_START] = sqlite3_column_int64(q, 3);
	a[A_END] = is_null(q, 4) ? NO_ID : sqlite3_column_int64(q, 4);
	a[A_SEQ] = r->seq++;
	a[A_TEXT_ID] = is_null(q, 6) ? NO_ID : sqlite3_column_int64(q, 6);
	if (!is_null(q, 5)) {
		const char *text = (const char *)sqlite3_column_text(q, 5);
		int rc = text ? texts_add(r->texts, text, (size_t)sqlite3_column_bytes(q, 5),
					  &a[A_TEXT])
			      : SQLITE_NOMEM;

		if (rc != SQLITE_OK)
			return rc;
	}
	return r->of == STACKS ? stacked_add(r->ranges, a, &nothing) : sorter_add(r->ranges, a);
}

int stacked_add(struct sorter *to, const int64_t *a, const struct work *w)
{
	int64_t s[S_WORDS] = {
		[S_TID] = a[A_TID],     [S_DOMAIN] = a[A_DOMAIN], [S_STYLE] = a[A_STYLE],
		[S_START] = a[A_START], [S_LONGER] = INT64_MIN,   [S_SEQ] = a[A_SEQ],
		[S_END] = a[A_END],     [S_TEXT] = a[A_TEXT],     [S_TEXT_ID] = a[A_TEXT_ID],
		[S_N] = w->n,           [S_FIRST] = w->first,     [S_LAST] = w->last,
	};

	if (a[A_END] != NO_ID)
		s[S_LONGER] = -a[A_END];
	return sorter_add(to, s);
}

int read_ranges_of(sqlite3 *db, struct range_reader *r)
{
	int rc = sql_rows(db, r->of == STACKS ? read_stacks : read_ranges, range_row, r);

	if (rc == SQLITE_OK && r->texts->file && fflush(r->texts->file) != 0)
		rc = SQLITE_FULL;
	return rc == SQLITE_OK ? sorter_rewind(r->ranges) : rc;
}
