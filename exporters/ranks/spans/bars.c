/* bars.c - the events of a rank that overlap a span. */
#include "exporters/ranks/spans/bars.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/saturate.h"
#include "exporters/ranks/rollup.h"
#include "exporters/read/db_read.h"

#define EACH_MOST 400 /* bars of a kind */

/* :pairs is in place; ?1, ?2: the span. Rows: start, end, name. */
static const struct {
	const char *sql;
	bool is_gpu;
	enum bar_kind kind;
} kinds[] = {
	{"SELECT start, end, coalesce(text, (SELECT value FROM StringIds WHERE id = textId)) FROM "
	 "NVTX_EVENTS WHERE eventType IN (59, 60) AND globalTid >> 24 IN (SELECT column1 FROM "
	 "(VALUES %s)) AND start < ?2 AND end > ?1 ORDER BY end - start DESC LIMIT %d",
	 false, BAR_RANGE},
	{"SELECT start, end, (SELECT value FROM StringIds WHERE id = nameId) FROM OSRT_API WHERE "
	 "globalTid >> 24 IN (SELECT column1 FROM (VALUES %s)) AND (globalTid >> 24) & 16777215 = "
	 "globalTid & 16777215 AND start < ?2 AND end > ?1 AND end - start > (?2 - ?1) / 100 ORDER "
	 "BY end - start DESC LIMIT %d",
	 false, BAR_CALL},
	{"SELECT start, end, (SELECT value FROM StringIds WHERE id = shortName) FROM "
	 "CUPTI_ACTIVITY_KIND_KERNEL WHERE globalPid >> 24 IN (SELECT column1 FROM (VALUES %s)) "
	 "AND start < ?2 AND end > ?1 ORDER BY end - start DESC LIMIT %d",
	 true, BAR_KERNEL},
};

static int add(struct bars *b, sqlite3_stmt *s, enum bar_kind kind, bool is_gpu, int64_t epoch)
{
	const char *name = (const char *)sqlite3_column_text(s, 2);
	struct bar *to;

	if (!grow(&b->list, b->cnt, &b->room, sizeof(*b->list)))
		return SQLITE_NOMEM;
	to = &b->list[b->cnt++];
	*to = (struct bar){.start = sat_add(sqlite3_column_int64(s, 0), epoch),
			   .end = sat_add(sqlite3_column_int64(s, 1), epoch),
			   .kind = is_gpu && name && strncmp(name, "nccl", 4) == 0 ? BAR_NCCL
										   : kind};
	snprintf(to->name, sizeof(to->name), "%s", name ? name : "?");
	return SQLITE_OK;
}

static int read_kind(struct bars *b, sqlite3 *db, size_t kind, const struct rollup_processes *p,
		     int64_t from, int64_t to)
{
	char *sql = sqlite3_mprintf(kinds[kind].sql, p->pairs, EACH_MOST + 1);
	sqlite3_stmt *s = NULL;
	int rc = sql ? sqlite3_prepare_v2(db, sql, -1, &s, NULL) : SQLITE_NOMEM;
	size_t cnt = 0;

	if (rc == SQLITE_OK) {
		sqlite3_bind_int64(s, 1, sat_sub(from, p->epoch));
		sqlite3_bind_int64(s, 2, sat_sub(to, p->epoch));
	}
	while (rc == SQLITE_OK && (rc = sqlite3_step(s)) == SQLITE_ROW) {
		if (cnt++ == EACH_MOST) {
			b->is_cut = true;
			rc = SQLITE_DONE;
			break;
		}
		rc = add(b, s, kinds[kind].kind, kinds[kind].is_gpu, p->epoch);
	}
	sqlite3_finalize(s);
	sqlite3_free(sql);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int bars_read(struct bars *b, const char *report, int64_t rank, int64_t from, int64_t to, char *why,
	      size_t why_len)
{
	const struct rollup_ask ask = {.rank = -1, .from = "option"};
	struct rollup_processes p;
	char text[32];
	sqlite3 *db;
	int rc = SQLITE_OK;

	memset(b, 0, sizeof(*b));
	snprintf(text, sizeof(text), "%lld", (long long)rank);
	if (rollup_processes(report, &ask, text, &p, why, why_len) < 0)
		return -1;
	if (!p.pairs) {
		rollup_processes_free(&p);
		return 1;
	}
	db = db_read_open(report, why, why_len);
	for (size_t i = 0; db && rc == SQLITE_OK && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		rc = read_kind(b, db, i, &p, from, to);
	if (db && rc != SQLITE_OK)
		snprintf(why, why_len, "%s", sqlite3_errmsg(db));
	rollup_processes_free(&p);
	sqlite3_close(db);
	return db && rc == SQLITE_OK ? 0 : -1;
}

void bars_free(struct bars *b)
{
	free(b->list);
	memset(b, 0, sizeof(*b));
}
